"""Policies that decide task by task: those of the VineSim papers, and related ones."""
