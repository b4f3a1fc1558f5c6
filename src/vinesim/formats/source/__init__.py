"""Reading text: files, limits, CSV rows, tables, YAML with the place of each value, quantities with units."""
