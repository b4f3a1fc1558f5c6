"""An independent implementation of the RBSS heuristics from the paper's text: lists and one loop, no engine."""

from dataclasses import dataclass, field

import numpy as np

from vinesim.model.scenario import Scenario


@dataclass(eq=False)
class Device:
    type: int
    is_cpu: bool
    size: float  # cores or SMs
    job: "Job | None" = None
    until: float = np.inf


@dataclass(eq=False)
class Node:
    cpu: Device
    accelerators: list[Device]  # more SMs first
    passes: int = 0

    def free(self) -> list[Device]:
        return [device for device in (self.cpu, *self.accelerators) if device.job is None]


@dataclass(eq=False)
class Job:
    number: int
    submit: float
    times: np.ndarray  # [P]
    cores: float
    sms: float
    estimate: float
    is_for_cpu: bool
    withdraw: float = np.inf
    finish: float = np.nan  # unknown, or it was withdrawn

    def fits(self, device: Device, share: float = 1.0) -> bool:
        return (self.cores if device.is_cpu else self.sms) * share <= device.size


@dataclass
class Cluster:
    heuristic: str
    nodes: list[Node]
    waiting: list[Job] = field(default_factory=list)
    now: float = 0.0

    def queue(self, for_cpu: bool) -> list[Job]:
        order = {
            "rb_fifo": lambda job: job.submit,
            "rb_sjf": lambda job: job.estimate,
            "rb_ljf": lambda job: -job.estimate,
        }.get(self.heuristic, lambda job: -(self.now - job.submit + job.estimate))
        found = [job for job in self.waiting if job.is_for_cpu == for_cpu]
        return sorted(found, key=lambda job: (round(order(job), 3), job.number))

    def start(self, node: Node, device: Device, job: Job) -> None:
        self.waiting.remove(job)
        device.job, device.until = job, self.now + float(job.times[device.type])
        job.finish = device.until
        node.passes = 0

    def visit(self, node: Node) -> None:
        """Do at a node what one call of SCHEDULE does."""
        started = False
        for device in node.free():  # Algorithms 1 and 2
            job = next((job for job in self.queue(device.is_cpu) if job.fits(device)), None)
            if job is not None:
                self.start(node, device, job)
                started = True
        if self.heuristic == "rb_ljf_ocl" and node.cpu.job is None:  # Figure 5
            job = self.moving(node)
            if job is not None:
                self.start(node, node.cpu, job)
                started = True
        if self.heuristic in ("rb_ljf_ba", "rb_ljf_ocl") and not started and node.free():
            self.relax(node)

    def moving(self, node: Node) -> Job | None:
        """Return the accelerator job, from the end of the queue, that is fast enough on the node's CPU."""
        for first in self.queue(False):
            limits = [first.times[device.type] for device in node.accelerators if first.fits(device)]
            if limits:
                quick = (job for job in reversed(self.queue(False)) if job.times[node.cpu.type] <= min(limits))
                return next((job for job in quick if job.fits(node.cpu)), None)
        return None

    def relax(self, node: Node) -> None:
        """The shortest job of which 0.5^passes of the request fits a free device."""
        node.passes += 1
        able = [
            (job.estimate, job.number, place)
            for place, device in enumerate(node.free())
            for job in self.queue(device.is_cpu)
            if job.fits(device, 0.5**node.passes)
        ]
        if able:
            _, number, place = min(able)
            self.start(node, node.free()[place], next(job for job in self.waiting if job.number == number))


def total_us(given: Scenario, heuristic: str) -> float:
    """Return when the last job of the scenario ends."""
    return max(finishes_us(given, heuristic))


def finishes_us(given: Scenario, heuristic: str) -> list[float]:
    """Return when each job ends; NaN if it is withdrawn before. Withdrawals come last at an instant."""
    cluster, coming = _cluster(given, heuristic), _jobs(given)
    jobs = list(coming)
    devices = [device for node in cluster.nodes for device in (node.cpu, *node.accelerators)]
    while True:
        busy = [device for device in devices if device.job is not None]
        events = [device.until for device in busy] + [job.submit for job in coming[:1]]
        present = [*cluster.waiting, *(device.job for device in busy)]
        instants = [*events, *(job.withdraw for job in present if job.withdraw < np.inf)]
        if not instants:
            assert not cluster.waiting
            return [job.finish for job in jobs]
        cluster.now = min(instants)
        for device in busy:
            if device.until == cluster.now:
                device.job, device.until = None, np.inf
        while coming and coming[0].submit <= cluster.now:
            cluster.waiting.append(coming.pop(0))
        if cluster.now in events:
            _schedule(cluster)
        if _withdraw(cluster, devices):
            _schedule(cluster)


def _schedule(cluster: Cluster) -> None:
    for node in cluster.nodes:
        cluster.visit(node)


def _withdraw(cluster: Cluster, devices: list[Device]) -> bool:
    """Withdraw the jobs that are due now; return whether there were any."""
    n = len(cluster.waiting)
    cluster.waiting = [job for job in cluster.waiting if job.withdraw != cluster.now]
    ended = [device for device in devices if device.job is not None and device.job.withdraw == cluster.now]
    for device in ended:
        device.job.finish, device.job, device.until = np.nan, None, np.inf
    return len(cluster.waiting) < n or bool(ended)


def _cluster(given: Scenario, heuristic: str) -> Cluster:
    centre, nodes = given.datacenter, []
    for shelf in np.unique(centre.shelf):
        types = [
            (int(code), centre.processor_types[code].attributes) for code in centre.unit_type[centre.shelf == shelf]
        ]
        made = [Device(code, "cores" in has, has.get("cores", has.get("sms"))) for code, has in types]
        accelerators = sorted((device for device in made if not device.is_cpu), key=lambda device: -device.size)
        nodes.append(Node(next(device for device in made if device.is_cpu), accelerators))
    return Cluster(heuristic, nodes)


def _jobs(given: Scenario) -> list[Job]:
    work, centre = given.workload, given.datacenter
    used = np.unique(centre.unit_type)
    is_cpu = np.array(["cores" in p.attributes for p in centre.processor_types])
    withdraw = np.full(len(work.times_us), np.inf) if work.withdraw_us is None else work.withdraw_us
    found = []
    for number, times in enumerate(work.times_us):
        on_cpus, others = times[used[is_cpu[used]]].min(), times[used[~is_cpu[used]]].min()
        cores, sms = (float(work.requests[name][number]) for name in ("cores", "sms"))
        estimate = float(times[used].mean())
        submit, is_for_cpu = float(work.arrival_us[number]), bool(on_cpus <= others)
        found.append(Job(number, submit, times, cores, sms, estimate, is_for_cpu, float(withdraw[number])))
    return found
