"""Policies that place batches of tasks on servers: those of the energy-aware scheduler thesis, and their kin."""
