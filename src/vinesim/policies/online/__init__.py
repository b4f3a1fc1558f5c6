"""Policies that decide task by task: the VineSim papers', and their kin."""
