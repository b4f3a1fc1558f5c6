"""``python -m vinesim``: the command line."""

from vinesim.cli.main import main

main()
