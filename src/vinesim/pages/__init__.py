"""Pages about sweeps, plans, back-tests, and two runs or sweeps."""
