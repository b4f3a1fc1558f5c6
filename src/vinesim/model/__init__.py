"""What exists: datacenter, catalog, workload, affinity, network, scenario, result."""
