"""What names the machine code of a policy: a hash of the policy and what it calls, of the package's kernels, and of the
versions of Numba and NumPy. It is found without importing the compiler."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vinesim.engine.fingerprint import fingerprint
from vinesim.policies.declarations import may_preempt
from vinesim.state.machine_code import is_kept

LOOP, BLOCK = "run_events", "run_block"  # one run; many runs in one call
LOOP_OF_SEVERAL = "run_events_of_several"  # one run of tasks that hold several units
FOR_ALL = {LOOP: "run_events_of_all", LOOP_OF_SEVERAL: "run_events_of_several_of_all"}  # any policy, through a slot
IN_SLOT = {LOOP: "run_in_slot", LOOP_OF_SEVERAL: "run_in_slot_of_several"}  # a policy's own code for that loop
TURN = "run_turn"  # one turn of a live scheduler
PACKAGE = Path(__file__).parent.parent
KERNELS = (  # the files whose functions are compiled into every loop; they import no other one of the two packages
    *(f"engine/{name}.py" for name in ("actions", "block", "contract", "guards", "loop", "preemption")),
    *(f"engine/{name}.py" for name in ("progress", "sharing", "slot", "steps", "turn", "wrong_line")),
    *(f"state/{name}.py" for name in ("ahead", "bits", "by_reference", "changed_nodes", "compiled_form", "demand")),
    *(f"state/{name}.py" for name in ("disk_cache", "event_queue", "gang_members", "gangs", "highest_of_blocks")),
    *(f"state/{name}.py" for name in ("holding", "joining", "kernel", "layout", "least_busy", "machine_code")),
    *(f"state/{name}.py" for name in ("node_index", "node_offers", "node_tree", "part", "passes")),
    *(f"state/indexed{of}.py" for of in ("", "_closest", "_least_busy", "_nodes", "_random", "_room", "_tasks")),
    *(f"state/{name}.py" for name in ("places", "queries", "quotas", "request_gangs")),
    *(f"state/{name}.py" for name in ("skew_heap", "trial", "window", "without_blas")),
)


def loop_for(has_vectors: bool) -> str:
    """Which of the two loops is for a workload."""
    return LOOP_OF_SEVERAL if has_vectors else LOOP


@cache
def kernels() -> bytes:
    """Hash of everything that the package itself compiles into a loop, and of the compiler's version."""
    digest = hashlib.sha256(f"{version('numba')} {version('numpy')}".encode())
    for name in KERNELS:
        digest.update((PACKAGE / name).read_bytes())
    return digest.digest()


def digest_of(*functions: Any) -> str:
    """What names the code of one policy's ``decide``, or of several functions, as it is loaded now."""
    return hashlib.sha256(kernels() + b"".join(map(fingerprint, functions))).hexdigest()


def is_on_disk(decide: Any, kernel: str) -> bool:
    """Whether a policy's kernel of that name was compiled before, or what does the same, of the policy as it is now."""
    digest = digest_of(decide)
    return is_kept(kernel, digest) or (kernel in IN_SLOT and is_kept(IN_SLOT[kernel], digest))


def loop_for_all(kernel: str, preempts: bool) -> tuple[str, str]:
    """What names the loop for all policies that does what a policy's own kernel does, or for all that preempt."""
    return f"{FOR_ALL[kernel]}_preempting" if preempts else FOR_ALL[kernel], kernels().hex()


def is_loop_on_disk(decide: Any, kernel: str) -> bool:
    """Whether the loop for all policies was compiled before, so that only the policy's own code is missing."""
    return is_kept(*loop_for_all(kernel, may_preempt(decide)))
