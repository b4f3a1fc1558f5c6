"""A policy as a stand-alone scheduler: the same decisions as in a run, driven by calls and by any clock."""
