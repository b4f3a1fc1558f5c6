"""The core: how a run changes its state, as plain functions that are compiled for what each scenario needs."""
