"""The data model: datacenter, catalog, workload, affinity, network, scenario, result."""
