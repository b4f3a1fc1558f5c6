"""Times are in us; conversions from other units."""

US_PER_S = 1e6
US_PER_HOUR = 3.6e9
FOREVER_US = 1e30  # expected of a task whose end is not known, as infinite is for types that cannot run it
