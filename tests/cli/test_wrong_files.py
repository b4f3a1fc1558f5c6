"""Each command refuses what is not its input in one clear message, with exit code 2, and writes nothing."""

import json
import os

import pytest

SCENARIO = {
    "datacenter": {"racks": [{"units": {"CPU_INTEL": 2}}]},
    "workload": {"generator": "identical", "options": {"n_jobs": 3}},
    "arrivals": {"iat": 7},
    "policy": "high",
}
FILES = {
    "empty.yaml": b"",
    "picture.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "table.parquet": b"PAR1\x15\x04\x15\0\xff\xfe",
    "list.yaml": b"- a\n- b\n",
    "text.yaml": b"hello: world\n",
    "kinds.yaml": json.dumps(dict.fromkeys((*SCENARIO, "options", "processor_types"), 3)).encode(),
    "scenario.yaml": json.dumps(SCENARIO).encode(),
    "study.yaml": json.dumps({"scenario": SCENARIO, "axes": {"arrivals.iat": [7, 8]}}).encode(),
    "plan.yaml": json.dumps({"scenario": SCENARIO, "choose": {"arrivals.iat": [7]}, "minimize": "energy_j"}).encode(),
    "cluster.yaml": json.dumps({"nodes": [], "processor_types": [], "affinity": {}}).encode(),
}
OF_YAML = {  # command -> the files that it takes
    "run FILE --out out": {"scenario.yaml"},
    "sweep FILE --out out": {"study.yaml"},
    "plan FILE --out out": {"plan.yaml"},
    "validate FILE": {"scenario.yaml", "study.yaml", "plan.yaml"},
    "explore FILE --no-browser": {"scenario.yaml"},
    "backtest FILE": set(),
    "priorities FILE --at 5": set(),
    "start-times FILE": set(),
    "live start FILE --folder out": set(),
}
OF_FOLDERS = [
    "verify FILE",
    "show FILE",
    "timeline FILE",
    "gantt FILE",
    "report FILE",
    "plot FILE",
    "explain FILE --job 0",
    "compare FILE --by policy --of jobs.latency_us.mean",
]
OF_LOGS = [
    *(f"import {kind} FILE -o out.csv" for kind in ("csv", "pbs", "lsf", "kubectl")),
    *(f"import {kind} FILE -o out.parquet" for kind in ("swf", "slurm", "gavel", "starpu")),
    "import openb FILE FILE -o out.parquet",
    "import requests FILE -o out.csv --time arrival",
    "fit log FILE -o out.yaml",
    "fit serving FILE -o out.yaml",
]
KIND = {"study": "a study", "plan": "a plan", "cluster": "a cluster", "scenario": "a scenario"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    (tmp_path / "of_pictures").mkdir()
    (tmp_path / "of_pictures" / "picture.png").write_bytes(FILES["picture.png"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def refused(vinesim, command, file):
    """What a command says on a file that it does not take."""
    before = sorted(os.listdir())
    done = vinesim(*command.replace("FILE", file).split())
    assert done.code == 2, (command, file, done)
    assert done.out == "", (command, file)
    assert "Traceback" not in done.err
    assert sorted(os.listdir()) == before, (command, file)
    return done.err


@pytest.mark.parametrize("command", [*OF_YAML, *OF_FOLDERS, *OF_LOGS])
def test_what_is_no_input_is_refused(vinesim, folder, command):
    for file in ("nothing", "folder", "of_pictures", *FILES):
        if file in OF_YAML.get(command, ()):
            continue
        text = refused(vinesim, command, file)
        assert file in text or "  workload: " in text or "  policy: " in text
        if file == "nothing" and "fit log" not in command:  # which knows what a log is by the end of its name
            assert "no such f" in text


@pytest.mark.parametrize("command", list(OF_YAML)[:5])
def test_files_of_another_kind_are_called_by_their_kind(vinesim, folder, command):
    for name, words in KIND.items():
        if f"{name}.yaml" not in OF_YAML[command]:
            text = refused(vinesim, command, f"{name}.yaml")
            assert f", found {words}. Run it with `vinesim" in text
            assert text.startswith("vinesim: 1 problem in the input")


@pytest.mark.parametrize("command", OF_FOLDERS)
def test_a_file_in_place_of_a_folder_is_called_a_file(vinesim, folder, command):
    assert "found a file" in refused(vinesim, command, "scenario.yaml")
    assert "no such folder" in refused(vinesim, command, "nothing")
