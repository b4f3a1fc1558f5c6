"""Workload generators: one file each, registered by name in ``registry``."""
