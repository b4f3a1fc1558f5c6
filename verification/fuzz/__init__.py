"""Damaged files for every command that reads files: ``python -m verification.fuzz [--seconds S] [--seed N] [AREA]...``.

The files are those that the documentation and the examples show: scenarios, studies, plans, workload tables, the text
files of the papers, logs for each importer; and the folders of a run, a sweep and a plan. Each input is one of them
with one to three changes. Most change its structure (``trees``, ``tables``): a part is missing or there twice, a type
or unit is wrong, a number extreme, a count huge, a text has control characters, values are nested deeply. The others
change its bytes (``texts``). The commands that the documentation shows then read it, in a worker process with limits of
time and memory.

Whatever is in a file, a command accepts it, or refuses it with a message and exit code 2. Anything else is a failure:
see :class:`~verification.fuzz.outcomes.Outcome`. Inputs that fail are kept, with the command that repeats them.
"""
