"""Compiled arrays, event queue, indexes, and the queries of policies."""
