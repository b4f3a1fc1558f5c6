"""ACT: the event loop, what actions do, and the façade."""
