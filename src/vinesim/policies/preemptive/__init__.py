"""Policies that take running tasks from their units for others of lower rank."""
