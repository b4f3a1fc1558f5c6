"""RBSS, the resource-based scheduling system: five orders of the queues, one scheduler for nodes with several
devices."""
