"""Policies that score nodes: each task goes to the node with the highest score, to a unit that the policy chooses."""
