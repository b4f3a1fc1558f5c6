"""Cluster files, which describe a live cluster."""
