"""Policies for requests of applications with deadlines, and what they share."""
