"""Benchmarks: how fast VineSim is, what it costs to start, and what one would use instead. See __main__.py."""
