"""Cluster files: what a live cluster consists of."""
