"""Bytes to model and back: the papers' text files, Parquet, logs of real machines; one file a format."""
