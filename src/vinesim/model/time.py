"""Times are in us; conversions from other units."""

US_PER_S = 1e6
US_PER_HOUR = 3.6e9
