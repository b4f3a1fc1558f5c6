"""A policy as a scheduler of its own: the same decisions as in a run, driven by calls and by any clock."""
