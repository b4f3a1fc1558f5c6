"""What stays on a GPU between the periods of a run: the servers with their loads, and room for tasks."""

from typing import Any

import numpy as np

from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placement.kernels.instance import Instance

FEW = 8  # loads are sent one by one if fewer than one in this number has changed
THREADS = 256


class Resident:
    """The servers of one datacenter, on the GPU."""

    def __init__(self, cuda: Any, tasks: BatchTasks, servers: BatchServers):
        self._cuda = cuda
        self._unit_type, self._unit_capacity = servers.unit_type, servers.capacity
        self.of = Instance.of(tasks, servers)
        self.n_asked = 0
        self._given = self.of.load.copy()
        kind = self.of.kind.astype(np.int32)
        self._kind, self._capacity, self._limit, self._load = (
            cuda.to_device(array) for array in (kind, self.of.capacity, self.of.limit, self._given)
        )
        self._powers = np.empty(0)  # as they were sent last
        self._room = 0  # for tasks
        self._work: Any = None  # room for loads

    def is_for(self, servers: BatchServers) -> bool:
        """Whether these are the servers."""
        pairs = (self._unit_type, servers.unit_type), (self._unit_capacity, servers.capacity)
        return all(kept is new or np.array_equal(kept, new) for kept, new in pairs)

    def question(self, tasks: BatchTasks, servers: BatchServers) -> Instance:
        """Return the question in the form for the kernels, without looking at the servers again."""
        load = np.array(servers.load, np.float64)
        return Instance(tasks, servers, self.of.kind, self.of.codes, self.of.capacity, load)

    def place(
        self, instance: Instance, time: np.ndarray, variant: str, penalty: float, n_blocks: int, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the server of each task [M], and the load that it reaches with the task [M].
        ``time`` [M, P] is how long each task takes on each type. Each transfer and each kernel costs as much as the
        placement itself, so that the question is one transfer, and the answer another one."""
        from vinesim.policies.placement.kernels.cuda_kernel import kernel_of, running_costs, wide_kernel_of

        n_tasks, n_types = time.shape
        n_asked, n_times = n_tasks * (n_types + 1), n_tasks * n_types
        self._set_loads(instance.load)
        self._set_powers(instance)
        self._make_room(n_tasks, n_types)
        self._host_asked[:n_times] = time.ravel()
        self._host_asked[n_times:n_asked] = instance.tasks.demand
        self._asked[:n_asked].copy_to_device(self._host_asked[:n_asked])
        times, demand = self._asked[:n_times].reshape(n_tasks, n_types), self._asked[n_times:n_asked]
        run, placed, reached = self._run[:n_tasks], self._found[:n_tasks], self._found[n_tasks : 2 * n_tasks]
        longest = instance.servers.period_us if variant == "marginal" else np.inf
        running_costs[-(-n_times // THREADS), THREADS](
            times, demand, self._capacity, self._per_demand, longest, run, placed
        )
        is_wide = -(-len(instance.load) // n_blocks) > n_threads  # its loads change on the way: a copy of them
        kernel, load = (wide_kernel_of, self._copied_load()) if is_wide else (kernel_of, self._load)
        kernel(n_threads, variant)[n_blocks, n_threads](
            *(run, times, demand, self._kind, self._capacity, self._limit, self._wake, self._wake_for_period, penalty),
            *(load, placed, reached),
        )
        found = self._host_found[: 2 * n_tasks]
        self._found[: 2 * n_tasks].copy_to_host(found)
        return found[:n_tasks].astype(np.int64), found[n_tasks:].copy()

    def _copied_load(self) -> Any:
        """Return a copy of the loads, on the GPU."""
        if self._work is None:
            self._work = self._cuda.device_array_like(self._load)
        self._work.copy_to_device(self._load)
        return self._work

    def _set_powers(self, instance: Instance) -> None:
        """Send what waking costs in W and for a period, and the power per demand, [P] each, if they have changed."""
        servers = instance.servers
        awake, per_demand, asleep = (
            power[instance.codes] for power in (servers.idle_power_w, servers.dynamic_power_w, servers.sleep_power_w)
        )
        powers = np.stack((awake - asleep, (awake - asleep) * servers.period_us, per_demand))
        if not np.array_equal(powers, self._powers):
            self._powers, there = powers, self._cuda.to_device(powers)
            self._wake, self._wake_for_period, self._per_demand = there[0], there[1], there[2]

    def _set_loads(self, load: np.ndarray) -> None:
        """Send the loads that have changed since they were sent last."""
        from vinesim.policies.placement.kernels.cuda_kernel import set_loads

        changed = np.flatnonzero(load != self._given)
        if len(changed) * FEW > len(load):
            self._load.copy_to_device(load)
        elif len(changed):
            sent = self._cuda.to_device(changed), self._cuda.to_device(load[changed])
            set_loads[-(-len(changed) // THREADS), THREADS](*sent, self._load)
        self._given[changed] = load[changed]

    def _make_room(self, n_tasks: int, n_types: int) -> None:
        """Make room for ``n_tasks`` tasks, if there is not enough."""
        if n_tasks <= self._room:
            return
        self._room = 1 << (n_tasks - 1).bit_length()
        there, here = self._cuda.device_array, self._cuda.pinned_array
        self._run = there((self._room, n_types), np.float64)
        self._asked, self._host_asked = (make(self._room * (n_types + 1), np.float64) for make in (there, here))
        self._found, self._host_found = (make(self._room * 2, np.float64) for make in (there, here))
