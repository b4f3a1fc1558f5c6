"""Fragmentation gradient descent, the paper: Weng et al., USENIX ATC 2023. Its trace is not part of the package."""
