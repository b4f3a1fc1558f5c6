"""The same model in what a user would write instead, and in the fastest form by hand.

Each module has ``prepare(case)``, which returns the run to be timed; that returns the finish time of each task. All
record unit, start and finish of each task, and start the oldest task on the fastest idle unit (HIGH).
"""
