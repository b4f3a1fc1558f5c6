"""The agent of a node, and its device processes: they run what the manager says, while their lease lasts."""
