"""Symphony, the scheduler of client-server applications: its parts, each on its own, and the policy of them all.

``registered``: what an application registered. ``history``: how long its requests took. ``urgency``: eq. 1 to 4.
``batching``: how many requests go together. ``parts``: requests on several nodes. ``policy``: Algorithm 1.
The parts are plain functions of numbers and arrays, without clock, input or output.
"""
