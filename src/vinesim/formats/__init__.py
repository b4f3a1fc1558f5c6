"""Reading and writing files: the papers' text files, Parquet, logs of real machines; one file per format."""
