"""Deployment, prices, arrivals, affinity, power and network files."""

import numpy as np
import pytest

from vinesim.formats.papers.arrivals import read_arrivals
from vinesim.formats.papers.deployment import read_deployment, write_deployment
from vinesim.formats.papers.prices import read_prices
from vinesim.formats.papers.tables import read_affinity, read_power
from vinesim.formats.scenario.network import read_network
from vinesim.model.affinity import table_1
from vinesim.model.errors import InputError
from vinesim.model.network import NONE, PAPER, TABLE_4, Network

TABLE_1 = """# INT FP_BAD FP_GOOD MEM IO ARB
100000 0.6 0.6 0.1 0.01 1
500 0.1 0.1 0.01 -- 1
1200000 0.01 1 0.001 0.001 0.3
1000 -- -- 0.001 1e-10 1000
"""


def refusal(read, tmp_path, text):
    path = tmp_path / "f.txt"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read(path)
    return [p.where.removeprefix(f"{path}:").split(": ")[0] for p in caught.value.problems]


def test_deployment_round_trip(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("2 0 1\n0\t1  3 # last\r\n")
    center = read_deployment(path)
    assert (center.unit_type.tolist(), center.rack.tolist(), center.shelf.tolist()) == ([2, 0], [0, 1], [1, 3])
    write_deployment(path, center)
    assert read_deployment(path).shelf.tolist() == [1, 3]


def test_deployment_refusals(tmp_path):
    assert refusal(read_deployment, tmp_path, "0 0 0\n9 0 0\n0 4000000000 0\n") == ["2:1", "3:3"]
    assert refusal(read_deployment, tmp_path, "0 0\n-1 0 0\nGPU 0 0\n") == ["1:3", "2:1", "3:1"]


def test_prices(tmp_path):
    path = tmp_path / "p.txt"
    path.write_text("0 1500\n2 2999.90\n")
    assert read_prices(path) == {0: 1500.0, 2: 2999.9}
    assert refusal(read_prices, tmp_path, "0 1\n0 2\n7 1\n1 -3\n") == ["4:3"]
    assert refusal(read_prices, tmp_path, "0 1\n0 2\n7 1\n") == ["2:1", "3:1"]


def test_arrivals_are_read_to_the_last_bit_and_in_order(tmp_path):
    path = tmp_path / "a.txt"
    times = np.cumsum(np.random.default_rng(1).exponential(7, 1000))
    path.write_text("# arrival_us\n" + "".join(f"{time!r}\n" for time in times.tolist()))
    assert np.array_equal(read_arrivals(path), times)
    assert refusal(read_arrivals, tmp_path, "1\n3\n2\n0.5\n") == ["3:1", "4:1"]


def test_the_papers_table_1(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(TABLE_1)
    assert np.array_equal(read_affinity(path, 6, 7), table_1())
    assert read_power(path, 6, 7)[0, 1] == 0.6


def test_affinity_refusals(tmp_path):
    def read(path):
        return read_affinity(path, 3, 3)

    assert refusal(read, tmp_path, "1 2 3 4\n1 x 3 4\n") == ["1:7", "2:7", "2:3"]
    assert refusal(read, tmp_path, "1 2\n1\n1 2\n1 2\n") == ["2:1", "4:1"]
    assert refusal(read, tmp_path, "1 -2\n") == ["1:3"]
    assert refusal(read, tmp_path, "1 1e19\n# no number is above 2^63 - 1\n") == ["1:3"]


def test_network_presets_and_file(tmp_path):
    assert [read_network(name) for name in ("paper", "table4", "none")] == [PAPER, TABLE_4, NONE]
    path = tmp_path / "n.yaml"
    path.write_text("local: null\nintra_rack: 10 Gb/s\ninter_rack: 125\nhop_latency: 200 ns\nhops_intra: 2\n")
    assert read_network(path) == PAPER
    path.write_text("inter_rack: null\nhops_inter: 3\n")
    assert read_network(path) == Network(inter_rack=None, hops_inter=3)


def test_network_refusals(tmp_path):
    text = "local: 0\nintra: 5\nhop_latency: null\nhops_intra: 1.5\ninter_rack: [1]\ninter_rack: -3\n"
    found = refusal(read_network, tmp_path, text)
    assert found == ["1:8", "2:1", "3:14", "4:13", "5:13", "6:13"]
    assert refusal(read_network, tmp_path, "a: [1\nb: }") == ["2:2"]
    assert refusal(read_network, tmp_path, "- 1\n") == ["1:1"]
    assert refusal(read_network, tmp_path, "? {a: 1}\n: 2\n") == ["1:3"]
    assert len(refusal(read_network, tmp_path, "[" * 5000)) == 1
    with pytest.raises(InputError, match="paper, table4, none"):
        read_network("papre")
