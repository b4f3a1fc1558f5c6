"""Wrong versions of the papers' policies and scenarios, and which claims they turn: a mutation test of the claims.

``python -m verification.wrong_policies [PAPER]...`` makes the experiments with each and compares what turns with
docs/wrong_policies.json; ``--write`` renews that file.
"""
