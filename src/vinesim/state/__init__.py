"""Compiled arrays, the event queue, indexes, and the queries of policies."""
