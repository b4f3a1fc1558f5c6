"""Symphony, the scheduler of client-server applications: its parts in separate modules, and the policy that uses them.

``history``: how long requests took. ``urgency``: eq. 1 to 4. ``consolidation``: how many requests start as one.
``policy``: Algorithm 1. What an application registered, and gangs, are in ``policies.requests``, because EDF and FCFS
need them too.
The parts are plain functions of numbers and arrays, without clock, input or output.
"""
