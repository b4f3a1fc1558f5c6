"""What the files of a Slurm site say: configuration, tables and job records, as Slurm writes and prints them."""
