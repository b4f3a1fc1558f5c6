"""``python -m vinesim``: the command line."""

from vinesim.cli.start import main

main()
