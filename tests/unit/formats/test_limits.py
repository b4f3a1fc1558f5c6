"""Whatever a text holds: every reader gives a value or an InputError, soon, and unpacks no more than its limit."""

import gzip
import json
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vinesim.formats.importers.counts import read_counts
from vinesim.formats.importers.gavel import read_gavel
from vinesim.formats.importers.machines import read_clusters
from vinesim.formats.importers.request_times import read_request_times
from vinesim.formats.importers.starpu import read_starpu
from vinesim.formats.importers.swf import read_swf
from vinesim.formats.papers.arrivals import read_arrivals
from vinesim.formats.papers.deployment import read_deployment
from vinesim.formats.papers.prices import read_prices
from vinesim.formats.papers.tables import read_affinity
from vinesim.formats.papers.trace import read_trace
from vinesim.formats.results.tables import open_result
from vinesim.formats.scenario import network
from vinesim.formats.scenario.network import read_network
from vinesim.formats.scenario.series import read_series
from vinesim.formats.scenario.servers import read_servers
from vinesim.formats.scenario.workload_table import read_workload
from vinesim.formats.source import files, limits, yaml_nodes, yaml_source
from vinesim.formats.source.csv_rows import read_csv_rows
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.formats.study.file import is_study, read_study
from vinesim.model.errors import InputError, InputWarning
from vinesim.policies.documents import read_scenario

QUICKSTART = (Path(__file__).parents[3] / "examples" / "quickstart.yaml").read_bytes()


def read_summary(path):
    (path.parent / "summary.json").write_bytes(path.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)  # there is no list of checksums
        with open_result(path.parent):
            pass


READERS = {  # name: (reader, suffix, a valid text)
    "scenario": (read_scenario, ".yaml", QUICKSTART),
    "study": (read_study, ".yaml", b"scenario: {a: 1}\naxes: {policy: [high, flat]}\n"),
    "is_study": (is_study, ".yaml", QUICKSTART),
    "network": (read_network, ".yaml", b"local: null\nhop_latency: 200 ns\n"),
    "summary": (read_summary, ".json", b'{"jobs": {"count": [1, 2]}}'),
    "trace": (lambda path: read_trace(path, arrivals=1.0), ".txt", b"2 0 0 0 9 5 0\n"),
    "deployment": (read_deployment, ".txt", b"2 0 1\n0 1 3 # last\n"),
    "arrivals": (read_arrivals, ".txt", b"0\n1.5\n"),
    "prices": (read_prices, ".txt", b"0 1500\n"),
    "affinity": (lambda path: read_affinity(path, 6, 7), ".txt", b"100 0.5 --\n"),
    "swf": (read_swf, ".swf", b"; x\n1 0 5 3600 4 -1 -1 4 7200 -1 1 1 1 -1 1 1 -1 -1\n"),
    "machines": (read_clusters, ".machines", b"0\ta\t2\t3\t1\t10\n"),
    "counts": (read_counts, ".csv", b"time_s,requests\n0,10\n10,10\n"),
    "series": (read_series, ".csv", b"hour,price\n0,10\n1,12\n"),
    "requests": (lambda path: read_request_times(path, "T"), ".csv", b"T,x\n1,a\n2,b\n"),
    "gavel": (read_gavel, ".csv", b"gpu,job_type,scale_factor,steps_per_s\na,A,1,2\n"),
    "starpu": (
        read_starpu,
        ".csv",
        b"kernel,machine,device_type,cores,size_bytes,mean_us,dev_us,n\nk,m,cpu,1,9,5,1,2\n",
    ),
    "workload": (read_workload, ".csv", b"arrival_us,operations\n0,10\n1,20\n"),
    "servers": (read_servers, ".csv", b"type,count\nGPU,2\n"),
}
TEXTS = {  # name: (a text made of the valid one)
    "CR alone": lambda text: text.replace(b"\n", b"\r"),
    "CR and LF mixed": lambda text: text.replace(b"\n", b"\r\r\n") + text,
    "a huge field": lambda text: text + b"9" * 200_000 + b"\n",
    "a huge quoted field": lambda text: text + b'"' + b"x\n" * 30_000,
    "a huge header": lambda text: b'"' + b"h" * 200_000 + b'",' + text,
    "a long line": lambda text: text + b"9 " * (limits.LINE_BYTES // 2 + 9),
    "NUL": lambda text: text[:3] + b"\0" + text[3:],
    "no UTF-8": lambda text: text + b"\xff\xfe\x80\n",
    "UTF-16": lambda text: text.decode().encode("utf-16"),
    "a bomb of zeros": lambda text: gzip.compress(b"0" * (20 << 20), 1),
    "a bomb of lines": lambda text: gzip.compress(text * 20_000, 1),
    "a cut gzip": lambda text: gzip.compress(text)[:-9],
    "a gzip in a gzip": lambda text: gzip.compress(gzip.compress(text)),
    "many unknown keys": lambda text: text + b"".join(b"k%d: 1\n" % i for i in range(20_000)),
    "many unknown columns": lambda text: b",".join(b"k%d" % i for i in range(20_000)) + b"\n" + text,
    "deep nesting": lambda text: text + b"z: " + b"[" * 100_000,
    "deep mappings": lambda text: b"{a: " * 500 + b"1" + b"}" * 500,
    "deep JSON": lambda text: b'{"a":' * 100_000,
    "many aliases": lambda text: (
        b"a: &a [1,1,1,1,1,1,1,1,1]\n"
        + b"".join(b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 9)) for i in range(9))
    ),
    "an alias in itself": lambda text: b"a: &a [*a]\n" + text,
    "one line of many values": lambda text: b"a: [" + b"1," * (yaml_source.VALUES + 1) + b"1]",
    "nothing": lambda text: b"",
}


def written(folder, name, data):
    path = folder / f"text{READERS[name][1]}"
    path.write_bytes(data)
    return path


OF_YAML = {"deep nesting", "deep mappings", "many aliases", "an alias in itself", "one line of many values"}


@pytest.mark.parametrize(
    ("name", "text"),
    [(name, text) for name in READERS for text in TEXTS if text not in OF_YAML or READERS[name][1] == ".yaml"],
)
@pytest.mark.timeout(120)
def test_every_text_is_read_or_refused(tmp_path, monkeypatch, name, text):
    if name != "scenario":  # one reader is enough to see that the limit itself is reached soon
        monkeypatch.setattr(yaml_source, "VALUES", 5_000)
        for module in (yaml_source, network):
            monkeypatch.setattr(module, "DOCUMENT_BYTES", 256 << 10)
    read, _, valid = READERS[name]
    with suppress(InputError):
        read(written(tmp_path, name, TEXTS[text](valid)))


@pytest.mark.parametrize("name", READERS)
def test_the_valid_texts_are_valid(tmp_path, name):
    read, _, valid = READERS[name]
    if name in ("study", "summary"):
        with suppress(InputError):  # a scenario of one key is none
            read(written(tmp_path, name, valid))
    else:
        read(written(tmp_path, name, valid))


PIECES = st.sampled_from(
    [b"\r", b"\n", b'"', b"\0", b"\xff", b",", b"\t", b": ", b"- ", b"&a ", b"*a", b"[", b"{", b"#", b"9" * 30, b"nan"]
)


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 80), st.integers(0, 6), PIECES), max_size=5), packed=st.booleans())
def test_mutated_texts(tmp_path_factory, name, changes, packed):
    read, _, data = READERS[name]
    for at, cut, put in changes:
        data = data[:at] + put + data[at + cut :]
    with suppress(InputError):
        read(written(tmp_path_factory.mktemp("mutated"), name, gzip.compress(data) if packed else data))


# --- the limits themselves ---


def test_a_gzip_file_is_unpacked_up_to_the_limit_and_no_further(tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 3_000_000))
    asked = []

    class Watched(gzip.GzipFile):
        def read(self, size=-1):
            asked.append(size)
            return super().read(size)

    monkeypatch.setattr(files.gzip, "GzipFile", Watched)
    with pytest.raises(InputError, match="expected at most 1 MiB of text, found more"):
        files.read_text(path, 1 << 20)
    assert asked == [(1 << 20) + 1]
    assert len(files.read_text(path, 12_000_000)) == 12_000_000


def test_a_plain_file_over_the_limit_is_not_read_whole(tmp_path):
    path = tmp_path / "large.yaml"
    with open(path, "wb") as stream:
        stream.seek(1 << 40)  # a file with a hole of 1 TiB
        stream.write(b"x")
    with pytest.raises(InputError, match="expected at most 8 MiB of text, found more"):
        YamlSource(path)


def test_a_line_of_a_log_has_a_limit_plain_and_packed(tmp_path):
    long = b"; one\n" + b"1 " * limits.LINE_BYTES
    for path, data in ((tmp_path / "a.swf", long), (tmp_path / "a.swf.gz", gzip.compress(long))):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r":2: expected at most 1 MiB in a line, found more"):
            read_swf(path)


def test_a_line_of_just_the_limit_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LINE_BYTES", 10)
    path = tmp_path / "a.swf"
    path.write_bytes(b"123456789\n1\n")
    assert list(files.lines_of(path)) == [b"123456789\n", b"1\n"]
    path.write_bytes(b"1\n1234567890\n")
    with pytest.raises(InputError, match=r":2: expected at most 10 bytes in a line"):
        list(files.lines_of(path))


def test_a_log_has_a_limit_in_all(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LOG_BYTES", 1000)
    (tmp_path / "a.swf").write_bytes(READERS["swf"][2] * 30)
    with pytest.raises(InputError, match="of text, found more"):
        read_swf(tmp_path / "a.swf")


@pytest.mark.parametrize("name", ["counts", "series", "requests", "gavel", "starpu"])
def test_a_field_of_a_csv_file_has_a_limit(tmp_path, name):
    read, _, valid = READERS[name]
    with pytest.raises(InputError, match=r"text.csv:\d+: expected at most 131,072 characters in a field, found more"):
        read(written(tmp_path, name, valid + b'"' + b"9" * 200_000))


@pytest.mark.parametrize("name", ["counts", "series", "requests", "gavel", "starpu"])
@pytest.mark.parametrize("end", [b"\r", b"\r\n"])
def test_lines_of_csv_files_may_end_as_on_other_systems(tmp_path, name, end):
    read, _, valid = READERS[name]
    found = [read(written(tmp_path, name, text)) for text in (valid, valid.replace(b"\n", end))]
    assert repr(found[0]) == repr(found[1])


def test_the_line_of_a_wrong_cell_is_right_with_any_line_ends(tmp_path):
    for end in (b"\n", b"\r", b"\r\n"):
        path = written(tmp_path, "series", end.join([b"hour,price", b"0,1", b"", b"1,x", b""]))
        with pytest.raises(InputError, match=r"text.csv:4: expected a finite number"):
            read_series(path)
        assert read_csv_rows(path, ("hour",)).rows[-1] == (4, {"hour": "1"})


def test_many_wrong_keys_are_counted_and_a_few_looked_into(tmp_path, monkeypatch):
    looked = []
    monkeypatch.setattr(yaml_source, "did_you_mean", lambda *a: looked.append(a) or "")
    path = written(tmp_path, "scenario", QUICKSTART + b"".join(b"k%d: 1\n" % i for i in range(5000)))
    with pytest.raises(InputError) as caught:
        read_scenario(path)
    assert caught.value.n_problems == 5000
    assert len(looked) <= limits.FINDINGS
    assert str(caught.value).endswith("... and 4980 more")


def test_values_are_counted_before_they_are_built(tmp_path, monkeypatch):
    for module in (yaml_source, yaml_nodes):
        monkeypatch.setattr(module, "VALUES", 100)
    path = tmp_path / "a.yaml"
    path.write_text("a: [" + "1, " * 90 + "1]")
    assert len(YamlSource(path).data["a"]) == 91
    for text in ("a: [" + "1, " * 500 + "1]", "a: &a [" + "1, " * 30 + "1]\nb: [*a, *a, *a, *a]"):
        path.write_text(text)
        with pytest.raises(InputError, match="expected at most 100 values in 60 levels, found more"):
            YamlSource(path)


@pytest.mark.filterwarnings("ignore:.*no SHA256SUMS:vinesim.InputWarning")
def test_deep_json_is_a_problem_with_its_file(tmp_path):
    (tmp_path / "summary.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"summary\.json"), open_result(tmp_path):
        pass
    (tmp_path / "summary.json").write_text(json.dumps({}))


# --- columns of servers ---


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (
            "type,cuont",
            r"servers.csv: cuont: expected one of type, .*, memory, .*, units.TYPE, found 'cuont'. Did you mean count",
        ),
        ("type,colour", r"servers.csv: colour: .* Remove the column"),
        ("type,type", "expected one of type, name, count, rack, shelf"),
    ],
)
def test_unknown_columns_of_servers_are_refused(tmp_path, header, words):
    path = tmp_path / "servers.csv"
    path.write_text(f"{header}\nGPU,4\n")
    with pytest.raises(InputError, match=words):
        read_servers(path)
    path.write_text("type,count\nGPU,4\n")
    assert read_servers(path).n_units == 4
