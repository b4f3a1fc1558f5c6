"""Symphony, the scheduler of client-server applications: its parts, each on its own, and the policy of them all.

``history``: how long requests took. ``urgency``: eq. 1 to 4. ``consolidation``: how many requests start as one.
``policy``: Algorithm 1. What an application registered, and gangs, are in ``policies.requests``: EDF and FCFS need them
too.
The parts are plain functions of numbers and arrays, without clock, input or output.
"""
