"""Generated requests with tokens: from distributions, and drawn from a log."""

import numpy as np
import pytest

import vinesim as vs
from vinesim.model.errors import InputError
from vinesim.workloads.distributions import Constant, Lognormal
from vinesim.workloads.resample import repeated
from vinesim.workloads.token_limits import with_token_limit

LOG = (np.array([10, 2000, 300]), np.array([500, 7, 60]))


def made(seed=0, **options):
    given = {"duration_us": 6e8, "spikes": 0, "rates": {"SQL": 2.0, "OPTION": 1.0}, **options}
    return vs.generator("requests").generate(given, seed=seed)


def of_both(**more):
    tokens = {"SQL": Lognormal(800.0, 2.0)}
    return made(input_tokens=tokens, output_tokens={"SQL": Constant(0.2)}, tokens={"OPTION": LOG}, **more)


def test_counts_are_whole_and_at_least_1():
    work = of_both()
    mine = work.application == work.application_names.index("SQL")
    assert work.input_tokens.dtype == work.output_tokens.dtype == np.int64
    assert work.input_tokens.min() >= 1
    assert set(work.output_tokens[mine]) == {1}
    assert work.input_tokens[mine].mean() == pytest.approx(800, rel=0.2)


def test_the_counts_of_a_log_stay_in_pairs():
    work = of_both()
    mine = work.application == work.application_names.index("OPTION")
    pairs = set(zip(work.input_tokens[mine].tolist(), work.output_tokens[mine].tolist(), strict=True))
    assert pairs == {(10, 500), (2000, 7), (300, 60)}


def test_tokens_replace_sizes_and_noise_and_leave_arrivals_alone():
    work, plain = of_both(), made()
    assert work.arrival_us.tobytes() == plain.arrival_us.tobytes()
    assert plain.time_factor is not None
    assert work.time_factor is None
    assert (work.operations == 1).all()


def test_a_seed_gives_one_workload():
    assert of_both(seed=3).input_tokens.tobytes() == of_both(seed=3).input_tokens.tobytes()
    assert of_both(seed=3).input_tokens.tobytes() != of_both(seed=4).input_tokens.tobytes()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"input_tokens": {"SQL": Constant(1.0)}, "tokens": {"OPTION": LOG}}, "tokens of SQL: a log, or input_tokens"),
        ({"tokens": {"SQL": LOG}}, "tokens of OPTION"),
        ({"tokens": {"SQL": LOG, "OPTION": LOG}, "output_tokens": {"SQL": Constant(1.0)}}, "one source for SQL"),
        ({"tokens": {"SQL": LOG, "OPTION": LOG, "VIDEO": LOG}}, "tokens: expected applications with requests: SQL, OP"),
        ({"tokens": {"SQL": LOG, "OPTION": LOG}, "gang_size": {"SQL": 2}}, "gang_size: expected 1 for requests"),
    ],
)
def test_wrong_tokens(options, expected):
    with pytest.raises(InputError) as error:
        made(**options)
    assert expected in str(error.value)


def test_a_repeated_log_keeps_its_tokens():
    work = of_both()
    again = repeated(work, 2.0, 6e7, 0.0, np.random.default_rng(0))
    known = set(zip(work.input_tokens.tolist(), work.output_tokens.tolist(), strict=True))
    found = zip(again.input_tokens.tolist(), again.output_tokens.tolist(), strict=True)
    assert again.n_jobs > 1.5 * work.n_jobs
    assert set(found) <= known


def test_limits_by_application():
    work = with_token_limit(of_both(), "first_token_within_us", {"SQL": 5.0, "*": 7.0})
    mine = work.application == work.application_names.index("SQL")
    assert set(work.first_token_within_us[mine]) == {5.0}
    assert set(work.first_token_within_us[~mine]) == {7.0}
    rest = with_token_limit(work, "first_token_within_us", {"SQL": 3.0}).first_token_within_us
    assert set(rest[~mine]) == {np.inf}
    with pytest.raises(InputError, match=r"applications of the workload: SQL, OPTION, or . for all others, found 'X'"):
        with_token_limit(work, "token_within_us", {"X": 1.0})
    with pytest.raises(InputError, match="only for requests with tokens"):
        with_token_limit(made(), "token_within_us", {"*": 1.0})


def with_prefixes(**more):
    given = {"prefixes": {"SQL": 3}, "prefix_tokens": {"SQL": Lognormal(500.0, 1.0)}, "prefix_zipf": 1.0}
    return of_both(copies=2, **(given | more))


def test_prefixes_make_prompts_longer_and_are_shared():
    work, plain = with_prefixes(), of_both(copies=2)
    assert (work.input_tokens - work.prefix_tokens == plain.input_tokens).all()
    has_one = np.char.startswith(np.array(work.application_names)[work.application], "SQL")
    assert ((work.prefix >= 0) == has_one).all()
    assert ((work.prefix_tokens > 0) == has_one).all()
    lengths = set(zip(work.prefix[has_one].tolist(), work.prefix_tokens[has_one].tolist(), strict=True))
    _, counts = np.unique(work.prefix[has_one], return_counts=True)
    assert len(lengths) == len(counts) == 6  # three of each copy, each of one length
    assert counts[:3] / counts[:3].sum() == pytest.approx(np.array([6, 3, 2]) / 11, abs=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefixes": {"SQL": 1.5}}, "prefixes: expected a whole number"),
        ({"prefixes": {"OTHER": 1}}, "applications whose requests have tokens: SQL, OPTION"),
        ({"prefix_tokens": {}}, "tokens of the prefixes of SQL"),
        ({"prefix_zipf": -1.0}, "prefix_zipf: expected a number, 0 or more"),
    ],
)
def test_wrong_prefixes(options, message):
    with pytest.raises(InputError, match=message):
        with_prefixes(**options)
