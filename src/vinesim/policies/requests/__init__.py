"""Policies for requests of applications with deadlines, and their common parts."""
