"""From a run's columns to tables and numbers."""
