"""What stays on a GPU between the periods of a run: the servers with their loads, and room for tasks."""

from typing import Any

import numpy as np

from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placement.kernels.instance import Instance
from vinesim.policies.placement.kernels.passes import renew_loads

FEW = 8  # all loads are sent unless fewer than one in this number has changed
THREADS = 256


class Resident:
    """The servers of one datacenter, on the GPU."""

    def __init__(self, cuda: Any, tasks: BatchTasks, servers: BatchServers):
        self._cuda = cuda
        self._unit_type, self._unit_capacity = servers.unit_type, servers.capacity
        self.of = Instance.of(tasks, servers)
        self.n_asked = 0
        self.sent = cuda.pinned_array(len(self.of.load), np.float64)  # the loads, as they are there
        self.sent[:] = self.of.load
        self._kind, self._load = (cuda.to_device(array) for array in (self.of.kind.astype(np.int32), self.sent))
        self._types_sent, self._types = np.empty(0), None
        self._room = 0  # for tasks
        self._work: Any = None  # room for loads

    def is_for(self, servers: BatchServers) -> bool:
        """Whether these are the servers."""
        pairs = (self._unit_type, servers.unit_type), (self._unit_capacity, servers.capacity)
        return all(kept is new or np.array_equal(kept, new) for kept, new in pairs)

    def question(self, tasks: BatchTasks, servers: BatchServers) -> Instance:
        """Return the question in the form for the kernels, without looking at the servers again. Its loads are the
        question's own: do not write to them."""
        load = np.ascontiguousarray(servers.load, np.float64)
        return Instance(tasks, servers, self.of.kind, self.of.codes, self.of.capacity, load)

    def place(
        self, instance: Instance, time: np.ndarray, variant: str, penalty: float, n_blocks: int, n_threads: int
    ) -> np.ndarray:
        """Return the server of each task, and the load that it reaches with the task [2, M], until the next call.
        ``time`` [M, P] is how long each task takes on each type. Each transfer, each kernel, and each part of an array
        there costs as much as the placement itself, so that the question is one transfer, and the answer another one.
        """
        from vinesim.policies.placement.kernels.cuda_kernel import kernel_of, prepare, wide_kernel_of

        n_tasks, n_types = time.shape
        n_times = n_tasks * n_types
        self._make_room(n_tasks, n_types)
        self._set_types(instance)
        here, n_asked = self._host_asked, n_times + n_tasks
        here[:n_times].reshape(n_types, n_tasks)[:] = time.T
        here[n_times:n_asked] = instance.tasks.demand
        n_changed = renew_loads(instance.load, self.sent, self._most, here[n_asked:])
        if n_changed > self._most:
            self._load.copy_to_device(self.sent)
            n_changed = 0
        n_asked += 2 * n_changed
        self._asked[:n_asked].copy_to_device(here[:n_asked])
        longest = instance.servers.period_us if variant == "marginal" else np.inf
        prepare[-(-max(n_times, n_changed) // THREADS), THREADS](
            self._asked, n_tasks, n_changed, self._types, longest, self._run, self._found, self._load
        )
        is_wide = -(-len(instance.load) // n_blocks) > n_threads  # its loads change on the way: a copy of them
        kernel, load = (wide_kernel_of, self._copied_load()) if is_wide else (kernel_of, self._load)
        kernel(n_threads, variant)[n_blocks, n_threads](
            self._run, self._asked, n_tasks, self._kind, self._types, penalty, load, self._found
        )
        found = self._host_found[: 2 * n_tasks]
        self._found[: 2 * n_tasks].copy_to_host(found)
        return found.reshape(2, n_tasks)

    def _copied_load(self) -> Any:
        """Return a copy of the loads, on the GPU."""
        if self._work is None:
            self._work = self._cuda.device_array_like(self._load)
        self._work.copy_to_device(self._load)
        return self._work

    def _set_types(self, instance: Instance) -> None:
        """Send, for each type [5, P], its capacity, the highest load allowed, what waking costs in W and for a period,
        and the power per demand, if they have changed."""
        servers = instance.servers
        awake, per_demand, asleep = (
            power[instance.codes] for power in (servers.idle_power_w, servers.dynamic_power_w, servers.sleep_power_w)
        )
        wake_w = awake - asleep
        types = np.stack((instance.capacity, instance.limit, wake_w, wake_w * servers.period_us, per_demand))
        if not np.array_equal(types, self._types_sent):
            self._types_sent, self._types = types, self._cuda.to_device(types)

    def _make_room(self, n_tasks: int, n_types: int) -> None:
        """Make room for ``n_tasks`` tasks, if there is not enough."""
        if n_tasks <= self._room:
            return
        self._room = 1 << (n_tasks - 1).bit_length()
        self._most = len(self.sent) // FEW
        there, here = self._cuda.device_array, self._cuda.pinned_array
        self._run = there((self._room, n_types), np.float64)
        n_asked = self._room * (n_types + 1) + 2 * self._most
        self._asked, self._host_asked = (make(n_asked, np.float64) for make in (there, here))
        self._found, self._host_found = (make(self._room * 2, np.float64) for make in (there, here))
