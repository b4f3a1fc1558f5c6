"""Kernels that place many tasks at once, for the batch policies."""
