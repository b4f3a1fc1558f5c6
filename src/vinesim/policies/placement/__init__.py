"""Policies that place batches of tasks on servers: those of the energy-aware scheduler thesis, and related ones."""
