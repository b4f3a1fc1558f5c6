"""Importers: one file per format of logs and measurements of real machines."""
