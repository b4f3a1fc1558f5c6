"""Logs and measurements of real machines; one file a format."""
