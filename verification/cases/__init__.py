"""Reported faults, each as a small input with the right answer: ``python -m verification.cases [NAME]...``.

A case runs VineSim as in the report and returns what it observes. It stays here after the fault is fixed, so that the
same question can be asked of any commit. Each module of this package holds the cases of one area.
"""
