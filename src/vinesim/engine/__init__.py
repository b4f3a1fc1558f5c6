"""ACT: the event loop, the effect of actions, and the façade."""
