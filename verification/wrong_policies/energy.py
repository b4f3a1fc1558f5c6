"""The energy thesis: each of its policies doing the opposite of what its name says, or not doing it at all."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from verification.wrong_policies.wrong import Wrong
from vinesim.policies.placement.best_fit import BestFit
from vinesim.policies.placement.blocked_best_fit import AcceleratedBestFit, DivideAndConquerBestFit
from vinesim.policies.placement.first_fit import FirstFit
from vinesim.policies.placement.kernels.best_fit import Cost, best_fit, best_fit_in_blocks
from vinesim.policies.placement.kernels.instance import Instance
from vinesim.policies.placement.least_loaded import LeastLoadedFirst
from vinesim.policies.placement.round_robin import RoundRobin
from vinesim_papers.energy import speed

REPLICATIONS = 2  # of each point: two to tell how much they differ

N_TYPES = 4  # of servers, in turn
FIRST_FIT = FirstFit.place


class Dearest(Cost):
    """Costs whose least is the greatest."""

    def of(self, instance: Instance, rows: slice = slice(None)) -> np.ndarray:
        """The cost table, negative."""
        return -super().of(instance, rows)


def one_type_in_turn(_policy: Any, tasks: Any, servers: Any) -> np.ndarray:
    """Round robin among the servers of the one type that the first task's demand happens to name."""
    kind = int(tasks.demand[0]) % N_TYPES
    return np.arange(kind, len(servers.load), N_TYPES)[np.arange(len(tasks.task)) % (len(servers.load) // N_TYPES)]


def most_loaded(_policy: Any, tasks: Any, _servers: Any) -> np.ndarray:
    """Every task to the server that has the tasks before it."""
    return np.zeros(len(tasks.task), np.int64)


def small_servers_first(policy: Any, tasks: Any, servers: Any) -> np.ndarray:
    """First fit along the servers by rising capacity."""
    rising = np.argsort(servers.capacity, kind="stable")
    units = {name: getattr(servers, name)[rising] for name in ("unit_type", "capacity", "load")}
    return rising[FIRST_FIT(replace(policy, servers="in_order"), tasks, servers._replace(**units))]


def dearest(policy: Any, servers: Any) -> Cost:
    """The cost function of the policy, turned round."""
    return Dearest(policy.cost, policy.penalty, servers.period_us)


def by_index(policy: Any, tasks: Any, servers: Any) -> np.ndarray:
    """Best fit over all servers with the index, also where it should look at each of them."""
    return best_fit(Instance.of(tasks, servers), policy._cost(servers), "indexed")


def all_in_the_first_block(policy: Any, tasks: Any, servers: Any) -> np.ndarray:
    """The first block's servers for all tasks; the other blocks get none."""
    n_mine = len(servers.load) // policy.blocks
    instance = Instance.of(tasks, servers).part(slice(None), slice(n_mine))
    return best_fit(instance, policy._cost(servers), policy.method)


def one_block(policy: Any, tasks: Any, servers: Any) -> np.ndarray:
    """Best fit over all servers, not divided."""
    return best_fit(Instance.of(tasks, servers), policy._cost(servers), policy.method)


def eight_blocks(policy: Any, tasks: Any, servers: Any) -> np.ndarray:
    """Best fit in eight blocks whatever their size should be."""
    return best_fit_in_blocks(Instance.of(tasks, servers), policy._cost(servers), 8, "indexed")


def eight_blocks_by_brute_force(policy: Any, tasks: Any, servers: Any) -> np.ndarray:
    """The same without the index, as long as that takes."""
    return best_fit_in_blocks(Instance.of(tasks, servers), policy._cost(servers), 8, "scan")


def timed_again() -> tuple[Any, str, Any]:
    """The patch by which placements are timed with what is wrong, not taken from before."""
    return speed, "_measured", cache(speed._measured.__wrapped__)


TEXT = ("energy-text",)
SMALLER = ("energy-fig9", "energy-table2", "energy-table5", "energy-table6", "energy-table8", "energy-table9")
WRONG = (
    Wrong(
        of="rr",
        version="in turn among the servers of one type",
        patches=((RoundRobin, "place", one_type_in_turn),),
        about="EF9.1 EF9.3 EF9.4 EF11.1 ET4.1 ET6.1 ET8.1 ET9.1 ET10.1 ET11.1 ETX.11 ETX.12",
    ),
    Wrong(
        of="llf",
        version="the most loaded server",
        patches=((LeastLoadedFirst, "place", most_loaded),),
        items=TEXT,
        about="ETX.13",
    ),
    Wrong(
        of="ff",
        version="small servers first",
        patches=((FirstFit, "place", small_servers_first),),
        items=TEXT,
        about="ETX.10",
    ),
    Wrong(
        of="bf",
        version="the dearest server for the cheapest",
        patches=((BestFit, "_cost", dearest),),
        about="EF9.1 EF11.2 ET2.1 ET2.2 ET2.3 ET2.4 ET2.6 ET4.2 ET5.3 ET8.2 ET8.4 ET9.2 ET9.4 ET10.2 "
        "ET10.4 ET11.2 ET11.4 ETX.7 ETX.8 ETX.9 ETX.14",
    ),
    Wrong(
        of="bf",
        version="with the index where it should look at all servers",
        patches=((BestFit, "place", by_index), timed_again()),
        items=("energy-fig10", "energy-fig12", "energy-table3", "energy-table7"),
        about="EF10.1 EF12.1 ET3.3 ET3.4 ET3.5",
    ),
    Wrong(
        of="dcbf",
        version="all tasks to the first block",
        patches=((DivideAndConquerBestFit, "place", all_in_the_first_block),),
        items=(*SMALLER, "energy-table4", "energy-table7", "energy-text"),
        about="EF9.1 EF9.2 ET2.1 ET2.2 ET2.3 ET2.4 ET4.2 ET5.3 ET5.6 ET7.3 ET8.2 ET8.4 ET9.4 ETX.14",
    ),
    Wrong(
        of="dcbf",
        version="not divided",
        patches=((DivideAndConquerBestFit, "place", one_block), timed_again()),
        items=("energy-fig10", "energy-table3", "energy-table7"),
        about="EF10.1 ET3.4 ET7.1",
    ),
    Wrong(
        of="abf",
        version="eight blocks whatever their size",
        patches=((AcceleratedBestFit, "place", eight_blocks),),
        items=SMALLER,
        about="EF9.1 ET2.1 ET2.2 ET2.3 ET5.3 ET6.3 ET8.2 ET8.6 ET9.2",
    ),
    Wrong(
        of="abf",
        version="eight blocks, by brute force",
        patches=((AcceleratedBestFit, "place", eight_blocks_by_brute_force), timed_again()),
        items=("energy-fig10", "energy-table3"),
        about="EF10.1 ET3.5",
    ),
)
