import numpy as np
import pytest

from tests.policies.slurm.association_tree import tree_of
from vinesim.policies.slurm import fair_share
from vinesim.policies.slurm.fair_share import PARENT, classic, fair_tree

ROWS = [
    ("root", "", "", 1.0),
    ("sci", "", "root", 60.0),
    ("eng", "", "root", 30.0),
    ("sci", "ann", "sci", 2.0),
    ("sci", "bob", "sci", 1.0),
    ("eng", "cat", "eng", 1.0),
    ("eng", "dan", "eng", PARENT),
    ("eng", "eva", "eng", 0.0),
]


def factors(used, rows=ROWS):
    tree = tree_of(rows)
    held = np.array([used.get(user, 0.0) for _, user in tree.keys])
    fair_share.add_up(tree.parent, tree.is_user, held)
    found, levels, order = np.zeros(len(held)), np.zeros(len(held)), tree.users
    fair_tree(tree.parent, tree.depth, tree.above.reshape(-1), tree.shares, tree.siblings, held, levels, order, found)
    return {user: round(found[i] * len(order)) for i, (_, user) in enumerate(tree.keys) if user}


def test_the_users_of_the_account_that_is_owed_most_come_first():
    # sci: 2/3 of the shares, 0.9 of the usage; eng: 1/3 and 0.1. In sci, ann has 2/3 and 0.5, bob 1/3 and 0.5.
    assert factors({"ann": 45, "bob": 45, "cat": 10}) == {"dan": 5, "cat": 4, "eva": 3, "ann": 2, "bob": 1}


def test_equal_users_share_the_better_rank_and_the_next_one_skips():
    found = factors({"ann": 20, "bob": 10, "cat": 70})
    assert found == {"ann": 5, "bob": 5, "dan": 3, "cat": 2, "eva": 1}


def test_children_of_equal_accounts_are_ranked_together():
    rows = [(a, u, p, 30.0 if a == "sci" and not u else s) for a, u, p, s in ROWS[:6]]
    # both accounts have half of the shares and of the usage
    assert factors({"ann": 10, "bob": 40, "cat": 50}, rows) == {"ann": 3, "cat": 2, "bob": 1}


def test_without_usage_those_with_shares_are_equal():
    assert factors({}) == {"ann": 5, "bob": 5, "cat": 5, "dan": 5, "eva": 1}


def test_usage_is_halved_after_each_half_life():
    assert fair_share.decayed(80.0, 1200.0, 600.0) == 20.0
    assert fair_share.decayed(80.0, 1200.0, 0.0) == 80.0
    # a job of 16 CPUs from 50 s before a calculation; then a minute later; then it ends after 11 s more
    first = fair_share.of_job(50.0, 16.0, 1200.0)
    second = fair_share.decayed(first, 60.0, 1200.0) + fair_share.of_job(60.0, 16.0, 1200.0)
    last = second + fair_share.of_job(11.0, 16.0, 1200.0)
    assert [int(first), int(second), int(last)] == [777, 1678, 1852]


def test_classic_fair_share():
    tree = tree_of(ROWS)
    held = np.array([{"ann": 40.0, "bob": 20.0, "cat": 40.0}.get(user, 0.0) for _, user in tree.keys])
    fair_share.add_up(tree.parent, tree.is_user, held)
    normalized, effective, factor = np.zeros((3, len(held)))
    classic(tree.parent, tree.shares, tree.siblings, held, normalized, effective, factor)
    of = {key: (normalized[i], effective[i], factor[i]) for i, key in enumerate(tree.keys)}
    assert of["sci", ""][:2] == pytest.approx((2 / 3, 0.6))
    assert of["sci", "ann"][:2] == pytest.approx((4 / 9, 0.4 + (0.6 - 0.4) * 2 / 3))
    assert of["sci", "ann"][2] == pytest.approx(2.0 ** (-of["sci", "ann"][1] / of["sci", "ann"][0]))
    assert of["eng", "dan"] == of["eng", ""]
    assert of["eng", "eva"][2] == 0.0
