"""Backfilling: jobs start in the order of a queue, later ones in the gaps before the reservations of earlier ones.

``easy.py`` and ``conservative.py`` are the two policies, and ``base.py`` is what all forms share: the queue with its
order, what has happened, and the chains of expected changes. Where every task holds one unit, the policies plan on
``profile.py``: what is expected of each unit, with an index of all.

Where tasks hold several units, or are gangs, ``suited_to`` returns other forms, which share ``ahead.py``: what runs,
until when, and what tasks find while the policy supposes other capacities.

- ``easy_of_nodes.py`` reserves slots for the first task (``slots.py``).
- ``conservative_by_count.py`` reserves numbers of slots, where any slot will do for any task.
- ``conservative_of_nodes.py`` reserves particular units, at the time that ``earliest.py`` finds.

The last two share ``plan.py``: when reservations are made, moved and given up.

docs/explanation/semantics/backfilling.md defines what is reserved, docs/explanation/design/core.md says what each form
buys.
"""
