"""The results of attempts, and of the requests that they ran."""

from typing import Any

from vinesim.live.manager.work import Item, Run

Result = dict[str, Any]  # result (bytes, or their place at the client), error, or is_sent; of a job's kernel json


def results_of(run: Run) -> list[Result]:
    """Return the result of each item; of a gang, the list of its members' results, or the first error."""
    by_member = [attempt.results for attempt in sorted(run.attempts, key=lambda attempt: attempt.member)]
    if len(by_member) == 1:
        return by_member[0]
    by_item = zip(*by_member, strict=True)
    return [next((one for one in of if "error" in one), {"results": [one["result"] for one in of]}) for of in by_item]


def wrong_results(results: list[Result], items: list[Item]) -> str:
    """Say what is wrong with the results of an attempt: of a job it is JSON, if there is one; of requests one each."""
    is_job = bool(items) and bool(items[0].job)
    if items and not is_job and len(results) != len(items):
        return f"{len(results)} results for {len(items)} requests"
    kinds = {"json"} if is_job else {"result", "error", "is_sent"}
    return "" if all(kinds & set(one) for one in results) else f"expected results as {' or '.join(sorted(kinds))}"
