"""The study file."""
