"""``vinesim import kubectl``: nodes, pods, and jobs of Kueue and Volcano."""

import json

import pytest

import vinesim as vs
from vinesim.formats.importers.kube_objects import quantity, requested

GIB = 2**30


def node(name, gpus=0, product="", cpu="7910m"):
    allocatable = {"cpu": cpu, "memory": "32Gi", "pods": "110"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    labels = {"kubernetes.io/hostname": name} | ({"nvidia.com/gpu.product": product} if product else {})
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}


def spec(cpu="1", memory="1Gi", gpus=0, **more):
    asks = {"cpu": cpu, "memory": memory} | ({"nvidia.com/gpu": gpus} if gpus else {})
    return {"containers": [{"name": "main", "resources": {"requests": asks}}], **more}


def pod(name, start, end, of=None, labels=None, owner=None, minute=0, **more):
    at = f"2024-05-01T08:{minute:02}:00Z"
    conditions = [{"type": "PodScheduled", "status": "True" if start else "False", "lastTransitionTime": start or at}]
    status = {"phase": "Succeeded" if end else "Running" if start else "Pending", "conditions": conditions}
    if end:
        status["containerStatuses"] = [{"state": {"terminated": {"finishedAt": end, "exitCode": 0}}}]
    owners = [owner] if owner else []
    found = {
        "name": name,
        "namespace": "team-a",
        "creationTimestamp": at,
        "labels": labels or {},
        "ownerReferences": owners,
    }
    return {
        "kind": "Pod",
        "metadata": found | {"ownerReferences": owners} | more,
        "spec": of or spec(),
        "status": status,
    }


@pytest.fixture
def imported(vinesim, tmp_path):
    def take(*items, words=(), code=0):
        (tmp_path / "list.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        done = vinesim("import", "kubectl", tmp_path / "list.json", "-o", tmp_path / "jobs.csv", "--json", *words)
        assert done.code == code, done.err
        return (json.loads(done.out), vs.read_scenario(tmp_path / "jobs.yaml")) if code == 0 else done.err

    return take


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("500m", 0.5),
        ("1.5", 1.5),
        ("64Gi", 64 * GIB),
        ("1e3", 1000),
        ("2k", 2000),
        ("12E", 12e18),
        ("1E3", 1000),
        ("x", 0),
    ],
)
def test_quantities(text, value):
    assert quantity(text) == pytest.approx(value)


def test_a_pod_asks_for_its_containers_or_the_largest_that_runs_before_them():
    def container(cpu, **more):
        return {"resources": {"limits": {"cpu": cpu, "memory": "1Gi"}}, **more}

    one = {
        "containers": [container("1"), container("2")],
        "initContainers": [container("4")],
        "overhead": {"cpu": "250m"},
    }
    assert requested(one) == (4.25, 2 * GIB, 0)
    one["initContainers"].append(container("3", restartPolicy="Always"))
    assert requested(one) == (6.25, 3 * GIB, 0)


def test_nodes_and_pods(imported, tmp_path):
    daemon = {"kind": "DaemonSet", "name": "logs"}
    report, scenario = imported(
        node("n1", 8, "NVIDIA-A100"),
        node("n2"),
        pod("a", "2024-05-01T08:00:05Z", "2024-05-01T08:10:05+00:00", spec("500m", gpus=2)),
        pod(
            "b",
            "2024-05-01T10:02:00+02:00",
            None,
            spec("2", nodeSelector={"nvidia.com/gpu.product": "NVIDIA-A100"}),
            minute=1,
        ),
        pod("c", None, None, minute=2),
        pod("d", "2024-05-01T08:00:00Z", None, spec("910m", "2Gi", nodeName="n1"), owner=daemon),
        {"kind": "Service", "metadata": {"name": "s"}},
    )
    assert (report["jobs"], report["nodes"], report["gpus"]) == (2, 2, 8)
    assert report["dropped"]["it had not started"]["lines"] == [5]
    assert report["dropped"]["a pod of a DaemonSet, or of a node: it is taken off its node"]["lines"] == [6]
    assert next(found["cut_off"] for found in report["findings"] if found["what"] == "cut off") == 1
    work = scenario.workload
    assert work.arrival_us.tolist() == [0.0, 60e6]
    assert work.words_of("start_s") == ["5", "120"]
    assert str(scenario.start_date) == "2024-05-01 08:00:00+00:00"
    assert work.times_us[:, 0].max() == 600e6
    assert work.times_us[1].max() == 485e6  # until the last time in the list, 08:10:05
    assert work.companions["CPU"].tolist() == [0.5, 0]
    assert scenario.datacenter.node_names[0] == "n1"
    assert scenario.datacenter.capacity.tolist()[0] == pytest.approx(7.0)
    assert "a,team-a" in (tmp_path / "jobs.csv").read_text()


def test_a_group_of_which_a_node_takes_one_is_a_resource_of_the_nodes(imported):
    rule = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}}
    times = ("2024-05-01T08:00:05Z", "2024-05-01T09:00:05Z")
    pods = [pod(f"w{i}", *times, spec(**apart), {"app": "web"}) for i in range(3)]
    report, scenario = imported(node("n1"), node("n2"), *pods)
    assert scenario.workload.companions["one_of_app_web"].tolist() == [1, 1, 1]
    assert vs.simulate(scenario, engine="reference").summary["makespan_us"] == 2 * 3600e6
    report, scenario = imported(*pods)
    assert next(found["is_odd"] for found in report["findings"] if found["what"] == "anti-affinity")


def test_pods_of_a_group_start_together(imported):
    group = {"annotations": {"scheduling.k8s.io/group-name": "g"}}
    _, scenario = imported(
        node("n1"),
        pod("a", "2024-05-01T08:00:05Z", "2024-05-01T08:10:05Z", **group),
        pod("b", "2024-05-01T08:00:05Z", "2024-05-01T08:20:05Z", spec("2"), **group),
    )
    work = scenario.workload
    assert work.job_first.tolist() == [0, 2]
    assert work.times_us.max(axis=1).tolist() == [1200e6, 1200e6]


def condition(kind, at):
    return {"type": kind, "status": "True", "lastTransitionTime": f"2024-05-01T{at}Z"}


@pytest.mark.filterwarnings("ignore:the policy .* does not look at")
def test_jobs_of_kueue_and_volcano(imported):
    made = "2024-05-01T08:00:00Z"
    owner = {"kind": "Job", "name": "train"}
    kueue = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {
            "name": "job-train-1",
            "namespace": "team-a",
            "creationTimestamp": made,
            "ownerReferences": [owner],
        },
        "spec": {
            "queueName": "gpu",
            "priority": 100,
            "maximumExecutionTimeSeconds": 7200,
            "podSets": [
                {"count": 1, "template": {"spec": spec("1")}},
                {"count": 2, "template": {"spec": spec("4", gpus=4)}},
            ],
        },
        "status": {"conditions": [condition("Admitted", "08:05:00"), condition("Finished", "09:05:00")]},
    }
    volcano = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "mpi", "namespace": "team-b", "creationTimestamp": "2024-05-01T08:01:00Z"},
        "spec": {"queue": "default", "minAvailable": 2, "tasks": [{"replicas": 2, "template": {"spec": spec("2")}}]},
        "status": {
            "state": {"phase": "Completed", "lastTransitionTime": "2024-05-01T08:31:00Z"},
            "conditions": [{"status": "Pending", "lastTransitionTime": "2024-05-01T08:01:00Z"}],
            "runningDuration": "10m30.5s",
        },
    }
    waiting = kueue | {"status": {"conditions": []}}
    report, scenario = imported(
        node("n1", 8, "A100", cpu="16"),
        kueue,
        volcano,
        waiting,
        pod("train-x", "2024-05-01T08:05:00Z", "2024-05-01T08:10:00Z", owner=owner),
    )
    work = scenario.workload
    assert report["dropped"] == {
        "it had not started": {"count": 1, "lines": [4]},
        "a pod of a job in the list": {"count": 1, "lines": [5]},
    }
    assert work.job_first.tolist() == [0, 3, 5]
    assert work.units[:3].tolist() == [1, 4, 4]
    assert work.limit_us.tolist() == [7200e6, float("inf")]
    assert work.priority.tolist() == [100, 0]
    assert work.times_us.max(axis=1).tolist() == [3600e6] * 3 + [630.5e6] * 2
    assert vs.simulate(scenario, engine="reference").summary["jobs"]["finished"] == 2


def test_a_finished_workload_whose_admission_was_taken_back_began_when_its_pods_were_ready(imported):
    made = "2024-05-01T08:00:00Z"
    kueue = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "a", "creationTimestamp": made},
        "spec": {"podSets": [{"count": 1, "template": {"spec": spec("1")}}]},
    }
    gone = condition("Admitted", "09:05:00") | {"status": "False"}
    ready, finished = condition("PodsReady", "08:05:00"), condition("Finished", "09:05:00")
    report, scenario = imported(
        node("n1"),
        kueue | {"status": {"conditions": [ready, gone, finished]}},
        kueue | {"status": {"conditions": [gone, finished]}},
        kueue | {"status": {"conditions": [ready, gone]}},
    )
    assert scenario.workload.times_us.max(axis=1).tolist() == [3600e6]
    assert report["dropped"] == {
        "it ended, but does not say when it began": {"count": 1, "lines": [3]},
        "it had not started": {"count": 1, "lines": [4]},
    }


def test_the_begin_of_a_container_counts_among_the_times_of_the_list(imported):
    one = pod("a", "2024-05-01T08:00:00Z", None)
    one["status"]["containerStatuses"] = [{"state": {"running": {"startedAt": "2024-05-01T08:00:02Z"}}}]
    _, scenario = imported(node("n1"), one)
    assert scenario.workload.times_us.max() == 2e6


@pytest.mark.parametrize("text", ["submit,duration\n0,1\n", '{"items": []}', "[]", "", "[[1]]", "{"])
def test_another_format_is_refused(vinesim, tmp_path, text):
    (tmp_path / "list.json").write_text(text)
    done = vinesim("import", "kubectl", tmp_path / "list.json", "-o", tmp_path / "jobs.csv")
    assert done.code == 2
    assert "kubectl get nodes,pods" in done.err
    assert not (tmp_path / "jobs.csv").exists()


def test_a_node_without_room_is_named(imported):
    times = ("2024-05-01T08:00:05Z", "2024-05-01T09:00:05Z")
    err = imported(node("n1", cpu="0"), pod("a", *times), code=2)
    assert "items[0], node n1: expected cores and memory for pods" in err


@pytest.mark.parametrize(("taken", "found"), [(("7910m", "1Gi"), "0 cores"), (("1", "32Gi"), "6.91 cores, 0 bytes")])
def test_a_node_that_has_nothing_left_for_pods_is_refused(imported, taken, found):
    daemon = pod("d", "2024-05-01T08:00:00Z", None, spec(*taken, nodeName="n1"), owner={"kind": "DaemonSet"})
    error = imported(node("n1"), daemon, code=2)
    assert f"node n1: expected cores and memory for pods, found {found}" in error
