"""How the programs of a cluster collect garbage."""

import gc

YOUNG = 10_000  # objects that are made before the garbage collector looks at them: most are gone by then


def collect_less() -> None:
    """Let the garbage collector ignore the objects that exist now, such as all modules: to look at them would stop the
    program for tens of milliseconds."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)
