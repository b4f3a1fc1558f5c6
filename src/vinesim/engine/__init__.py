"""The engines: the event loop, the effect of actions, and the function that runs a scenario."""
