"""The scenario file and the tables that it refers to."""
