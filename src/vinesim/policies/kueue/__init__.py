"""Queues whose quotas are in cohorts, as in Kueue."""
