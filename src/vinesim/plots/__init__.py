"""From tables to figures."""
