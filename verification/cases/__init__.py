"""Reported faults, each as a small input with the right answer: ``python -m verification.cases [NAME]...``.

A case runs VineSim as the person who reported it did and says what was seen. It stays here after the fault is mended,
so that the same question can be asked again of any commit. A module of this package holds the cases of one area.
"""
