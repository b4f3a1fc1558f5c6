"""Valid files, mutated: every parser gives a value or an InputError, nothing else."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vinesim.formats.papers.arrivals import read_arrivals
from vinesim.formats.papers.deployment import read_deployment
from vinesim.formats.papers.prices import read_prices
from vinesim.formats.papers.tables import read_affinity, read_power
from vinesim.formats.papers.trace import read_trace
from vinesim.formats.scenario.network import read_network
from vinesim.model.affinity import table_1
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError

CENTER = Datacenter.of([("GPU", 0, 0), ("CPU_INTEL", 1, 1)])
PARSERS = {
    "arrivals": (read_arrivals, b"0\n1.5\n7\n1e3\n"),
    "deployment": (read_deployment, b"2 0 1\n0 1 3 # last\n"),
    "prices": (read_prices, b"0 1500\n2 2999.90\n"),
    "affinity": (lambda path: read_affinity(path, 3, 3), b"100 0.5 --\n10 1e-10 1\n"),
    "power": (lambda path: read_power(path, 3, 3), b"100 50 --\n10 20 1\n"),
    "network": (read_network, b"local: null\nintra_rack: 10 Gb/s\nhop_latency: 200 ns\nhops_inter: 4\n"),
    "trace": (
        lambda path: read_trace(path, arrivals=1.0, datacenter=CENTER, affinity=table_1()),
        b"2 8192 0 1 30000000 2 0\n2 0 1 0 1 5 0\n0 0 0 0 5 0 1\n",
    ),
}
junk = st.binary(max_size=4) | st.sampled_from(
    [b"\n", b" ", b"#", b"-", b"1e999", b"9" * 25, b"\0", b"nan", b"\xff", b"&a *a"]
)


@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 80), st.integers(0, 5), junk), max_size=4), st.booleans())
def test_mutated_files(tmp_path_factory, name, changes, doubled):
    read, data = PARSERS[name]
    data *= 1 + doubled
    for at, cut, put in changes:
        data = data[:at] + put + data[at + cut :]
    path = tmp_path_factory.getbasetemp() / "mutated.yaml"
    path.write_bytes(data)
    with suppress(InputError):
        read(path)
