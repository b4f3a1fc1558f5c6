"""Names of others reach the terminal as text: they cannot move it, colour it, or forge a line."""

import json

import pytest

from vinesim.cli.terminal import say, visible

NAMES = ("CPU\x1b[31m", "GPU\x1b]0;owned\a", "\u202eabc\rx [bold]y[/bold] :smile:")
CPU, GPU, TASK = map(json.dumps, NAMES)
SCENARIO = f"""
extends: none
processor_types: [{{name: {CPU}}}, {{name: {GPU}}}]
task_types: [{TASK}]
affinity: {{absolute: {{{CPU}: {{{TASK}: 1}}, {GPU}: {{{TASK}: 1}}}}}}
datacenter: {{racks: [{{units: {{{CPU}: 1, {GPU}: 1}}}}]}}
network: none
workload: {{generator: identical, options: {{n_jobs: 5, task_type: {TASK}}}}}
arrivals: {{iat: 1}}
"""
STUDY = 'scenario: s.yaml\ndescription: "a\\e[2Jb"\naxes: {policy: [flat, high]}\nreplications: 2\n'
BEFORE = {
    "explain": ("run", "s.yaml", "--out", "out", "--explain"),
    "compare": ("sweep", "study.yaml", "--out", "swept", "--workers", "1"),
}


def is_obeyed(character):
    """Whether a terminal does more than show the character."""
    return (ord(character) < 32 and character != "\n") or 127 <= ord(character) < 160 or character in "\u202e\u2066"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "s.yaml").write_text(SCENARIO)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("validate", "s.yaml"),
        ("run", "s.yaml", "--out", "out", "--explain"),
        ("explain", "out", "--slowest", "2"),
        ("run", "s.yaml", "--set", "policy=\x1b[2J"),
        ("run", "s.yaml", "--set", "datacenter.racks[0].units.\x1b=3"),
        ("sweep", "study.yaml", "--out", "swept", "--workers", "1"),
        ("compare", "swept", "--by", "policy", "--of", "utilization.by_type.CPU\x1b[31m"),
    ],
)
def test_a_terminal_obeys_no_name(vinesim, folder, monkeypatch, words):
    monkeypatch.chdir(folder)
    if words[0] in BEFORE:
        vinesim(*BEFORE[words[0]])
    done = vinesim(*words)
    text = done.out + done.err
    assert not [character for character in text if is_obeyed(character)]
    assert "\\x1b" in text or "\\u202e" in text


def test_a_name_with_markup_is_shown_as_it_is(vinesim, folder, monkeypatch):
    monkeypatch.chdir(folder)
    vinesim("run", "s.yaml", "--out", "out", "--explain")
    reported = " ".join(vinesim("explain", "out", "--job", "4").out.split())
    assert "(\\u202eabc\\rx [bold]y[/bold] :smile:)" in reported


def test_a_line_is_one_line(capsys):
    say("a\nvinesim: all is well\u2028\x85 end\ttab")
    assert capsys.readouterr().out == "a\\nvinesim: all is well\\u2028\\x85 end\ttab\n"
    assert visible(visible("\x1b")) == "\\x1b"


def test_each_problem_is_one_line(vinesim, tmp_path):
    (tmp_path / "s.yaml").write_text('policy: "x\\n  forged: all is well\\x0c"\ndatacenter: {}\nworkload: {}\n')
    lines = vinesim("run", tmp_path / "s.yaml").err.splitlines()
    assert lines[0] == f"vinesim: {len(lines) - 1} problems in the input"
    assert not any(line.strip().startswith("forged") for line in lines)
