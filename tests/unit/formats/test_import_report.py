"""The report of an import, in words."""

import pytest

from vinesim.formats.importers.report import MAX_LINES, MAX_VALUES, Guess, ImportReport


@pytest.mark.parametrize("n_more", [0, 1])
def test_long_lists_are_cut(n_more):
    report = ImportReport("log.csv")
    report.drop("no time", *range(1, MAX_LINES + n_more + 1))
    for i in range(MAX_VALUES + n_more):
        report.count("state", f"S{i}", is_kept=True)
    dropped, states = (next(line for line in str(report).splitlines() if word in line) for word in ("no time", "state"))
    assert dropped.endswith(f"{MAX_LINES}, ...)" if n_more else f"{MAX_LINES})")
    assert states.endswith("; ...") == bool(n_more)


def test_a_doubt_ends_its_line():
    columns = {"a": Guess("time_s", "its name"), "b": Guess("ignore", "no", is_doubtful=True)}
    lines = str(ImportReport("log.csv", columns=columns)).splitlines()
    assert lines[1:3] == ["a: time_s: its name", "b: ignore: no !"]
