"""Data structures in a policy's scratch."""
