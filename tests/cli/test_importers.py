"""A file in the importers' room is all that an importer is."""

import importlib
import json
import sys
from pathlib import Path

import pytest

from vinesim.formats import importers as room
from vinesim.formats.importers.registry import importers

LINES = '''"""Times of jobs, one a line."""

from pathlib import Path
from typing import Annotated

import numpy as np

from vinesim.formats.importers.declaration import Argument, Imported, Importer, Option, check_workload
from vinesim.formats.importers.report import ImportReport
from vinesim.formats.importers.swf import PROCESSOR_TYPE
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.model.workload import Workload


def import_lines(
    log: Annotated[Path, Argument("A time a line.")],
    output: Annotated[Path, Option("The workload.", short="-o")],
    speed_up: Annotated[float, Option("Times are divided by it.")] = 1.0,
    skip: Annotated[tuple[int, ...], Option("A line to leave out.", metavar="LINE")] = (),
    backwards: Annotated[bool, Option("The last line first.")] = False,
) -> Imported:
    """Import lines."""
    check_workload(output)
    texts = log.read_text().split()
    report = ImportReport(str(log), len(texts))
    report.drop("asked for", *skip)
    us = np.array([float(text) for i, text in enumerate(texts, 1) if i not in skip])[:: -1 if backwards else 1]
    n = len(us)
    zeros = np.zeros(n)
    write_workload(output, Workload(zeros, np.arange(n + 1), zeros, us / speed_up, zeros, zeros, zeros, zeros - 1),
                   (PROCESSOR_TYPE,))
    return Imported(report, output, f"{n} jobs")


IMPORTER = Importer("lines", import_lines)
'''


@pytest.fixture
def with_lines(tmp_path, monkeypatch):
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "lines_of_times.py").write_text(LINES)
    monkeypatch.setattr(room, "__path__", [*room.__path__, str(folder)])
    yield
    sys.modules.pop("vinesim.formats.importers.lines_of_times", None)


def operations(path):
    from vinesim.formats.scenario.workload_table import read_workload

    return read_workload(path).operations.tolist()


def test_all_importers_are_found():
    assert set(importers()) == {"csv", "swf", "gavel", "starpu", "requests", "openb", "slurm", "pbs", "kubectl", "lsf"}


def test_a_new_file_is_a_command_with_its_options_and_help(vinesim, tmp_path, with_lines):
    (tmp_path / "log").write_text("100\n200\n300\n400\n")
    shown = vinesim("import", "lines", "--help")
    assert shown.code == 0
    for word in ("Import lines.", "A time a line.", "--speed-up", "default: 1.0", "LINE", "--backwards", "--json"):
        assert word in shown.out, shown.out
    assert "lines" in vinesim("import", "--help").out
    out = tmp_path / "jobs.parquet"
    done = vinesim("import", "lines", tmp_path / "log", "--skip", 1, "--skip", 3, "--speed-up", 2, "-o", out)
    assert done.code == 0, done.err
    assert f"wrote {out}: 2 jobs" in done.out
    assert "dropped 2: asked for (lines 1, 3)" in done.out
    assert operations(out) == [100.0, 200.0]
    found = json.loads(vinesim("import", "lines", tmp_path / "log", "--backwards", "--json", "--output", out).out)
    assert found["wrote"] == [str(out), str(tmp_path / "jobs.import.json")]
    assert operations(out) == [400.0, 300.0, 200.0, 100.0]


def test_what_is_not_declared_is_refused(vinesim, tmp_path, with_lines):
    (tmp_path / "log").write_text("100\n")
    assert vinesim("import", "lines", tmp_path / "log").code == 2
    assert vinesim("import", "lines", tmp_path / "log", "-o", tmp_path / "a.csv").code == 2
    assert vinesim("import", "lines", tmp_path / "log", "-o", tmp_path / "a.parquet", "--machine", "m").code == 2
    refused = vinesim("import", "linse", tmp_path / "log", "-o", tmp_path / "a.parquet")
    assert refused.code == 2
    assert "linse" in refused.err


def test_the_reference_has_their_commands(monkeypatch, with_lines):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "docs"))
    text = importlib.import_module("generate").commands()
    assert "## vinesim import swf\n\n`vinesim import swf LOG [OPTIONS]`" in text
    assert "| `--machines FILE` | The log's clusters (.machines)" in text
    assert "| `--speed-up X` | Times are divided by it. Default: `1.0`. |" in text


BASE = """extends: none
processor_types: [{name: CPU}]
task_types: [JOB]
affinity: {absolute: {CPU: {JOB: 3}}}
network: none
datacenter: {racks: [{nodes: [{units: {CPU: COUNT}}]}]}
workload: {generator: jobs, options: {n_jobs: 1, sizes: 1}}
arrivals: {iat: 1 s}
"""


def test_every_import_keeps_its_checks_next_to_what_it_wrote(vinesim, tmp_path):
    files = {
        "swf": ("".join(f"{i} {600 * i} 0 300 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n" for i in range(11)), "w.parquet"),
        "csv": ("submit,duration\n" + "".join(f"{600 * i},300\n" for i in range(11)), "w.csv"),
        "requests": ("when\n" + "".join(f"2024-05-01T0{i}:00:00\n" for i in range(9)), "w.csv"),
    }
    (tmp_path / "base.yaml").write_text(BASE.replace("COUNT", "2"))
    for kind, (text, output) in files.items():
        (tmp_path / f"{kind}.csv").write_text(text)
        more = ("--time", "when", "--interval", "1 h") if kind == "requests" else ()
        words = ("import", kind, tmp_path / f"{kind}.csv", *more, "-o", tmp_path / output)
        done = vinesim(*words)
        assert (done.code, done.err) == (0, "")
        table = done.out[done.out.index("Checks") : done.out.index("wrote ")]
        assert max(map(len, table.splitlines())) <= 80
        assert "longest gaps" in table
        as_json = vinesim(*words, "--on", tmp_path / "base.yaml", "--json").out
        assert json.loads(as_json) == json.loads((tmp_path / "w.import.json").read_text())
        found = {one["what"]: one for one in json.loads(as_json)["findings"]}
        if kind == "requests":
            assert found["time zone"]["finding"] == "UTC is assumed for 9 dates without one"
        else:  # 11 jobs of 300 s on two CPUs in 6000 s
            assert found["load, CPU"]["load"] == pytest.approx(11 * 300 / (2 * 6000))


def test_the_checks_say_where_the_jobs_cannot_run(vinesim, tmp_path):
    (tmp_path / "log.csv").write_text("submit,duration,gpus\n0,1,1\n5,1,1\n")
    (tmp_path / "base.yaml").write_text(BASE.replace("COUNT", "2"))
    done = vinesim(
        "import", "csv", tmp_path / "log.csv", "-o", tmp_path / "w.csv", "--on", tmp_path / "base.yaml", "--json"
    )
    assert done.code == 0
    found = {one["what"]: one for one in json.loads(done.out)["findings"]}
    assert "no node has a GPU" in found["cannot run"]["finding"]
    assert found["cannot run"]["is_odd"]
    (tmp_path / "base.yaml").write_text("extends: none\n")
    refused = vinesim("import", "csv", tmp_path / "log.csv", "-o", tmp_path / "x.csv", "--on", tmp_path / "base.yaml")
    assert refused.code == 2
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    ("cores", "memory", "finding"), [(4, "4 GiB", ""), (4, "9 GiB", "never run"), (9, "4 GiB", "cannot run")]
)
def test_an_import_names_what_a_run_would_refuse_and_does_not_say_to_run_it(vinesim, tmp_path, cores, memory, finding):
    """One node has 2 cores and 64 GiB, the other 8 cores and 8 GiB."""
    (tmp_path / "nodes.csv").write_text("name,cores,memory\na,2,64 GiB\nb,8,8 GiB\n")
    (tmp_path / "log.csv").write_text(f"submit,duration,cores,memory\n0,10,{cores},{memory}\n5,20,{cores},{memory}\n")
    scenario = tmp_path / "w.yaml"
    done = vinesim("import", "csv", tmp_path / "log.csv", "--nodes", tmp_path / "nodes.csv", "-o", tmp_path / "w.csv")
    assert done.code == 0
    last = done.out.splitlines()[-1]
    expected = f"it does not run yet, see {finding!r} above" if finding else f"run it: vinesim run {scenario}"
    assert last == f"wrote {scenario}; {expected}"
    assert vinesim("run", scenario, "--out", tmp_path / "out").code == (2 if finding else 0)


NUMBERED = {  # names that YAML 1.2 takes for numbers, and 1.1 does not
    "slurm": {
        "jobs": "JobIDRaw|User|Partition|Submit|End|ElapsedRaw|State|ReqTRES\n"
        "1|ann|1e3|0|3600|3600|COMPLETED|cpu=4,mem=4G,node=1,gres/gpu:1e5=1\n",
        "--nodes": "NodeName=c01 CPUTot=96 Gres=gpu:1e5:4 RealMemory=256000 Partitions=1e3\n",
    },
    "openb": {
        "nodes": "cpu_milli,memory_mib,gpu,model\n8000,2000,2,1e5\n",
        "pods": "cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n4000,500,1,460,,0,100\n",
    },
    "gavel": {"table": "gpu,job_type,scale_factor,steps_per_s\n4090,1e2,1,3\n1e5,a,1,4\n"},
    "starpu": {
        "kernels": "kernel,machine,device_type,cores,size_bytes,mean_us,dev_us,n\n"
        "x,box,cpu,1,1000,500,50,30\nx,box,1e6,1,1000,900,30,10\n"
    },
    "csv": {"log.csv": "arrival_s,time_s,cores,gpus,gpu_type\n0,300,4,1,1e5\n5,100,2,1,4090\n"},
}


@pytest.mark.parametrize("name", NUMBERED)
def test_names_that_look_like_numbers_are_names_in_the_scenario(vinesim, tmp_path, name):
    words = []
    for file, text in NUMBERED[name].items():
        path = tmp_path / file.lstrip("-")
        path.write_text(text)
        words += [file, path] if file.startswith("--") else [path]
    output = tmp_path / f"out.{'csv' if name == 'csv' else 'parquet'}"
    done = vinesim("import", name, *words, "-o", output)
    assert done.code == 0, done.err
    assert vinesim("validate", tmp_path / "out.yaml").code == 0
