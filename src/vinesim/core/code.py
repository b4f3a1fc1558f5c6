"""The machine code for a kind of run: what names it, and whether it is there. No compiler is imported here."""

import sys
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from vinesim.core.features import Features, rounded
from vinesim.core.fingerprint import fingerprint
from vinesim.core.names import digest_of
from vinesim.jit.machine_code import is_kept

LOOP = "run_events"  # with a policy inlined
SHARED_LOOP = "run_events_of_all"  # for any policy, through a slot
ANSWER = "answer"  # a policy's own code for that loop
BLOCK = "run_block"  # what does many runs with a loop that it is given
INLINED_FROM = 400_000  # tasks of a run for which a policy is inlined: it takes seconds, and saves up to 7 ns each


class Own(NamedTuple):
    """What is a policy's own in a run."""

    options: np.ndarray  # [1], a record: the options as fields
    scratch: Any  # its arrays, by name

    def types(self) -> str:
        """The types of both, in words."""
        return _words(self.options.dtype, self.scratch._fields, tuple(array.dtype.str for array in self.scratch))


@lru_cache(1000)  # NumPy takes long for the description of a record
def _words(options: np.dtype, names: tuple[str, ...], dtypes: tuple[str, ...]) -> str:
    return f"{options.descr} {list(zip(names, dtypes, strict=True))}"


class Code:
    """The code for runs of a policy's function with some features."""

    def __init__(self, decide: Any, own: Own, features: Callable[[], Features]):
        """``features`` is called once, if the code is looked for."""
        self.decide, self.own, self._find = decide, own, features
        self._names: dict[str, str] = {}

    @cached_property
    def features(self) -> Features:
        return self._find()

    @cached_property
    def rounded(self) -> Features:
        """The features of the loop that it shares with others."""
        return rounded(self.features)

    @cached_property
    def _of_policy(self) -> tuple[bytes, str]:
        """The policy's part of a name."""
        return fingerprint(self.decide), self.own.types()

    def name(self, what: str) -> str:
        """What names the code: LOOP, SHARED_LOOP or ANSWER."""
        if what not in self._names:
            features = self.features if what == LOOP else self.rounded
            self._names[what] = digest_of(features) if what == SHARED_LOOP else digest_of(features, *self._of_policy)
        return self._names[what]

    def is_inlined(self, n_tasks: int) -> bool:
        """Whether runs of ``n_tasks`` tasks are done with the policy inlined: if that is worth it, or there."""
        if n_tasks >= INLINED_FROM or self._is_loaded(LOOP):
            return True
        return not self._is_loaded(ANSWER) and self._is_kept(
            LOOP
        )  # the disk is looked at last: it takes as long as a run

    @property
    def is_loaded(self) -> bool:
        """Whether this process has it."""
        return self._is_loaded(LOOP) or self._is_loaded(ANSWER)

    @property
    def is_on_disk(self) -> bool:
        """Whether it was compiled before."""
        return self._is_kept(LOOP) or (self._is_kept(ANSWER) and self._is_kept(SHARED_LOOP))

    @property
    def is_loop_on_disk(self) -> bool:
        """Whether the loop was compiled before, so that only the policy's own code is missing."""
        return self._is_kept(SHARED_LOOP)

    def _is_loaded(self, what: str) -> bool:
        loops = sys.modules.get("vinesim.core.loops")
        return loops is not None and loops.is_loaded(self.name(what))

    def _is_kept(self, what: str) -> bool:
        return is_kept(what, self.name(what))
