"""The page as a file: complete in itself, escaped, small, written whole."""

import base64
import hashlib
import html
import json
import re

import numpy as np
import pytest

from tests.cli.conftest import vinesim  # noqa: F401
from tests.report.conftest import EVIL, EXAMPLES
from tests.unit.engine.test_early_ends import case
from tests.unit.metrics.test_waiting import recorded
from vinesim.formats.results.parquet import read_table
from vinesim.formats.source.quantities import format_time_us
from vinesim.model.errors import InputError
from vinesim.pages.write import write_report


@pytest.fixture
def page_of(tmp_path):
    def make(folder):
        write_report(folder, tmp_path / "page.html")
        return (tmp_path / "page.html").read_text()

    return make


@pytest.mark.parametrize("name", ["example", "two_racks", "shared", "sweep"])
def test_nothing_is_loaded_and_only_our_scripts_run(request, page_of, name):
    page = page_of(request.getfixturevalue(name))
    for kind in ("script", "style"):
        inline = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.S)
        allowed = re.search(rf"{kind}-src ([^;]*);", page)[1]
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inline]
        assert allowed == " ".join(f"'sha256-{digest}'" for digest in digests)
        assert len(inline) == {"script": 2, "style": 1}[kind]
    assert "default-src 'none'" in page
    text = re.sub(r"<(script|style)>.*?</\1>", "", page, flags=re.S)
    assert re.findall(r'(?:src|href)="(?:#|data:)', text)
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    assert len(page) < 400_000


def test_the_example_is_small(example, page_of):
    assert len(page_of(example).encode()) < 200_000


def test_names_of_users_stay_text(shared, page_of):
    page = page_of(shared)
    assert "<script>window.evil" not in page
    assert "<img src=x" not in page
    assert html.escape(EVIL) in page
    assert "{{data}} &amp; &lt;b&gt;" in page
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
    assert EVIL in data["types"]


def test_the_numbers_are_those_of_the_terminal(example, page_of):
    page = page_of(example)
    summary = json.loads((example / "summary.json").read_text())
    for quantile in summary["jobs"]["latency_us"].values():
        assert f"<td>{format_time_us(quantile)}</td>" in page
    for share in summary["utilization"]["by_type"].values():
        assert f"<td>{share:.1%}</td>" in page
    for value in (summary["provenance"]["content_id"], f"{summary['energy_j']:,.3f} J"):
        assert value in page


def test_waits_are_in_the_summary_and_the_table(example, page_of):
    waits = json.loads((example / "summary.json").read_text())["jobs"]["wait_us"]
    text = " ".join(re.sub(r"<[^>]*>", " ", page_of(example)).split())
    assert f"Mean wait of jobs {format_time_us(waits['mean'])} p90 {format_time_us(waits['p90'])}" in text
    assert f"waiting, jobs 500 {format_time_us(waits['mean'])} {format_time_us(waits['p50'])}" in text


def test_jobs_are_broken_down_by_what_the_workload_says_of_them(dated, page_of):
    found = re.search(r'id="breakdown".*?</section>', page_of(dated), re.S)[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", found)]
    of = {row[0]: row[1:] for row in rows}
    assert [row[0] for row in rows if row[1] == "jobs"][:2] == ["partition", "user"]
    labels, jobs, tasks = (read_table(dated / f"{name}.parquet") for name in ("labels", "jobs", "tasks"))
    for kind in ("partition", "user"):
        for label in set(labels[kind]):
            mine = labels[kind] == label
            waits = np.sort((jobs["start_us"] - jobs["arrival_us"])[mine])
            work = (tasks["finish_us"] - tasks["init_us"]) * tasks["amount"]
            p90 = np.quantile(waits, 0.9, method="inverted_cdf")
            expected = [f"{mine.sum()}", f"{mine.sum()}", f"{work[mine].sum() / work.sum():.1%}"]
            p50 = waits[(len(waits) - 1) // 2]
            expected += [format_time_us(waits.mean()), format_time_us(p50), format_time_us(p90)]
            assert of[label][:6] == expected


def test_a_run_without_labels_has_no_breakdown(example, page_of):
    assert 'id="breakdown"' not in page_of(example)


def test_a_run_that_began_at_a_date_shows_dates_and_names(dated, page_of):
    text = " ".join(re.sub(r"<[^>]*>", " ", page_of(dated)).split())
    assert "from 2024-05-06 23:30:00 to 2024-05-07" in text
    assert re.search(r"Job 70\d\d \(--job \d+\) waited .*? started at 2024-05-07 \d\d:\d\d:\d\d on c0[12] \(unit", text)


def test_a_run_that_was_cut_off_says_so(shared, page_of):
    page = page_of(shared)
    assert "The run reached the horizon of the scenario before the last task was done" in page
    assert re.search(r"[\d,]+ of 300 tasks are done", page)


def test_jobs_that_were_killed_or_withdrawn_did_not_finish(tmp_path, page_of):
    """The first job is killed, the second finishes, and the third is withdrawn before it starts."""
    limits = {"limit_us": [50.0, 90.0, 90.0], "withdraw_us": [np.inf, np.inf, 30.0]}
    recorded(tmp_path / "run", case([0.0, 10.0, 20.0], [100.0, 20.0, 20.0], "fcfs", **limits))
    text = re.sub(r"<[^>]*>", " ", page_of(tmp_path / "run"))
    assert re.search(r"Jobs not finished\s+2\s+1 killed by their limit, 1 withdrawn", text)
    assert "Complete: 1 tasks finished, the other 2 were killed by their limit, withdrawn or dropped." in text
    assert "Every task has finished" not in text


def test_the_same_folder_gives_the_same_page(two_racks, tmp_path):
    for name in ("a.html", "b.html"):
        write_report(two_racks, tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_the_command_writes_into_the_folder_and_a_new_run_replaces_it(vinesim, example, copied):  # noqa: F811
    folder = copied(example)
    done = vinesim("report", folder)
    assert done.code == 0
    assert "report.html" in done.out
    assert (folder / "report.html").exists()
    scenario = folder.parent / "small.yaml"
    scenario.write_text(
        "datacenter: {racks: [{units: {GPU: 20}}]}\nworkload: {generator: 500jobs}\narrivals: {iat: 7 us}\n"
    )
    assert vinesim("run", scenario, "--out", folder, "--engine", "reference").code == 0
    assert not (folder / "report.html").exists()


def test_a_damaged_folder_leaves_the_old_page(vinesim, example, copied):  # noqa: F811
    folder = copied(example)
    (folder / "report.html").write_text("old")
    (folder / "tasks.parquet").write_bytes(b"torn")
    done = vinesim("report", folder)
    assert done.code == 2
    assert "tasks.parquet" in done.err
    assert "Traceback" not in done.err
    assert (folder / "report.html").read_text() == "old"
    assert not [file for file in folder.iterdir() if file.name.endswith(".tmp")]


def test_what_is_no_result_is_refused(vinesim, tmp_path):  # noqa: F811
    for folder in (tmp_path, tmp_path / "nowhere"):
        done = vinesim("report", folder)
        assert done.code == 2
        assert "summary.json" in done.err
    assert not list(tmp_path.iterdir())


def test_a_folder_with_a_study_that_was_not_run_is_refused_and_left_as_it_is(vinesim, tmp_path):  # noqa: F811
    (tmp_path / "study.yaml").write_text((EXAMPLES / "study.yaml").read_text())
    done = vinesim("report", tmp_path)
    assert done.code == 2
    assert "expected the folder of a run or of a sweep, found a study.yaml without runs/ next to it" in done.err
    assert [file.name for file in tmp_path.iterdir()] == ["study.yaml"]


def test_a_page_that_cannot_be_written(example, tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        write_report(example, tmp_path / "nowhere" / "page.html")
