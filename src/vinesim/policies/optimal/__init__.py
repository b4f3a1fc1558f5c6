"""Optimal schedules: the exact model, its solver, and the policy that follows the schedule found."""
