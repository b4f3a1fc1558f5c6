"""Series of request counts, which a scenario names by application, are files like others: they move with it."""

import shutil

import vinesim as vs

SERIES = """\
extends: none
processor_types: [{name: GPU}]
task_types: [CHAT]
affinity: {absolute: {GPU: 1}}
datacenter: {racks: [{units: {GPU: 1}}]}
network: none
workload:
  generator: requests
  options: {task_type: {chat: CHAT}, rates: {chat: 0}, series: {chat: counts.csv}, process: poisson}
policy: fcfs
"""


def test_series_of_requests_are_found_from_another_folder_and_in_that_of_a_run(tmp_path, vinesim):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "counts.csv").write_text("time_s,requests\n0,40\n60,40\n")
    (tmp_path / "base" / "base.yaml").write_text(SERIES)
    file = tmp_path / "mine.yaml"
    file.write_text("extends: base/base.yaml\nseed: 3\n")
    scenario = vs.read_scenario(file)
    assert scenario.workload.n_jobs > 40
    done = vinesim("run", file, "--engine", "reference", "--out", tmp_path / "run")
    assert done.code == 0, done.err
    shutil.rmtree(tmp_path / "base")
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    again = vs.read_scenario(tmp_path / "elsewhere" / "scenario.yaml")
    assert again.workload.arrival_us.tolist() == scenario.workload.arrival_us.tolist()
