"""RBSS, the resource-based scheduling system: five orders of the queues, one schedule of nodes with several devices."""
