"""Policies that route each request to one of several serving engines."""
