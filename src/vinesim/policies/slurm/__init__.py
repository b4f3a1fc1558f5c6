"""The policy ``slurm``: the rules by which Slurm orders and places jobs, one rule per file.

README.md gives the order in which to read them. Sources are Slurm's manual pages and measurements.
"""
