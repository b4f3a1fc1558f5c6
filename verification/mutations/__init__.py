"""Small changes of meaning in the package, each of which the tests must notice: ``python -m verification.mutations``.

A mutation is a text of the package and what takes its place: ``<`` for ``<=``, a wrong unit, a forgotten case. They are
declared in the modules here, an area of the package each, with the tests that should catch them. All work is done in a
copy. A mutation that its own tests miss meets the whole default suite; one that survives that too is a gap in the
tests, unless it changes nothing that anyone can see, and is declared so with the reason.

Options: numbers of mutations, to try only those; ``--nearest``, to leave the whole suite out; ``--write``, to renew
``docs/mutations.json``; ``--scores``, to print the score of each area in that table and run nothing. The score is the
share of the mutations that are caught, of those that are not equivalent.
"""
