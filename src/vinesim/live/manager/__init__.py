"""The manager: queues, decisions, leases of nodes, and the journal. One thread; it does no work of its own."""
