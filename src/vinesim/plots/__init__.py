"""Figures from tables."""
