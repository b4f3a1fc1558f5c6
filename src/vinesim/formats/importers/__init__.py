"""Logs and measurements of real machines; one file per format."""
