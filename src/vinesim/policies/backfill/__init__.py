"""Backfilling: jobs start in order of arrival, later ones in the gaps before the reservations of earlier ones."""
