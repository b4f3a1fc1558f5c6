"""The files of a Slurm site: configuration, tables and job records, as Slurm writes and prints them."""
