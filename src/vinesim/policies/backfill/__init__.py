"""Backfilling: jobs in order of arrival, and later ones in the gaps before the reservations of earlier ones."""
