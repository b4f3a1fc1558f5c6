"""Which tests are slow: they compile a policy of many kernels, or run an experiment of a paper in its size.

``make test`` passes them over, so that a change is judged in minutes; ``make verify`` runs them.
"""

import pytest

MODULES = (
    "papers/test_energy",
    "papers/test_rbss",
    "papers/test_vinesim_b",
    "policies/test_requests",
    "properties/test_outages",
    "properties/test_resource_based",
)
PAGES = (
    "data_placement",
    "energy_latency",
    "energy_placement",
    "explanation/rbss",
    "howto/optimal",
    "howto/rbss",
    "howto/reproduce",
    "howto/symphony",
    "explanation/symphony",
)
OF_EVERY_POLICY = ("test_battery", "test_conservation", "test_engines_agree")
LONG_TO_COMPILE = (
    "[symphony",
    "[edf",
    "[fcfs",
    "[least_laxity",
    "[deadline_batch",
    "[rb_",
    "[easy_backfill",
    "[conservative_backfill",
    "[earliest_completion",
    "test_drawn_scenarios_give_the_same_tables",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them, before those with a mark are left out."""
    for item in items:
        name = item.nodeid
        is_page = "test_examples_run" in name and any(page in name for page in PAGES)
        compiles = any(f"{module}.py" in name for module in OF_EVERY_POLICY) and any(w in name for w in LONG_TO_COMPILE)
        if is_page or compiles or any(f"{module}.py" in name for module in MODULES):
            item.add_marker(pytest.mark.slow)
