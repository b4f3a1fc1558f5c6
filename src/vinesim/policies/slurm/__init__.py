"""The rules by which Slurm orders and places jobs. Each file is one rule; sources are Slurm's manual pages and
measurements."""
