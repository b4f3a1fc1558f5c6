"""Find what requests share in a log that names the blocks of their prompts: ``hash_ids``, as in Mooncake's traces.

An id stands for a block of tokens together with all blocks before it, so prompts with the same beginning have the same
first ids, and the prompts are paths in a tree. Each request gets one prefix: the longest path that it shares with
another request, extended along the branch that most requests take. The turns of a conversation therefore share one
prefix; what several conversations have in common, such as a system prompt, is found once per conversation.

Source: Qin et al., Mooncake, FAST 2025 (the traces).
"""

# ruff: noqa: S608 - DuckDB takes no parameters for file names; all text goes through text_of
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from vinesim.formats.importers.csv_names import named
from vinesim.formats.importers.report import Finding, Guess
from vinesim.formats.scenario.workload_columns import IGNORE
from vinesim.formats.source.database import text_of
from vinesim.formats.source.table_source import TableSource
from vinesim.model.errors import InputError, Problem
from vinesim.model.tokens import COUNTS

IDS = "hash_ids"
MADE = {name: Guess(name, f"from {IDS}") for name in ("prefix", "prefix_tokens")}
ROOT = -1
TIMES = "ms"  # units of times in such logs, if the names of columns do not give them


class Shared(NamedTuple):
    """What N requests share: the number of each request's prefix, None without one, and the prefix's blocks."""

    prefix: list[int | None]
    blocks: list[int]


def with_prefixes(
    log: Path, source: TableSource, given: Mapping[str, str], folder: Path
) -> tuple[TableSource, list[Finding]]:
    """Return a log with the columns prefix and prefix_tokens instead of blocks, if it has these, and a note on what
    that loses. Raises :class:`InputError` if the blocks differ in size."""
    of = next((name for name in source.columns if named(name).stem == COUNTS[0] and given.get(name) != IGNORE), None)
    of = next((name for name, meaning in given.items() if meaning == COUNTS[0]), of)
    if IDS not in source.columns or of is None or given.get(IDS) == IGNORE or set(MADE) & set(source.columns):
        return source, []
    found = source.query(
        f"SELECT {source.columns[IDS]}::VARCHAR AS ids, TRY_CAST({source.columns[of]} AS DOUBLE) AS n FROM {source.sql}"
    )
    prompts = [re.findall(r"[\w-]+", text or "") for text in found["ids"].tolist()]
    tokens = [n if n is not None and 1 <= n <= 2**53 else 0.0 for n in found["n"].tolist()]  # NaN stands for none, too
    size = _size(log, prompts, tokens)
    paths = _paths(prompts)
    shared = _shared(paths)
    made = folder / "prefixes.csv"
    with open(made, "w", encoding="utf-8") as stream:
        stream.write(",".join(MADE) + "\n")
        for prefix, n, most in zip(*shared, tokens, strict=True):
            stream.write("," + "\n" if prefix is None else f"{prefix},{min(n * size, int(most))}\n")
    kind = "VARCHAR" if source.is_csv else "BIGINT"
    kinds = ", ".join(f"'{name}': '{kind}'" for name in MADE)
    table = f"read_csv({text_of(str(made))}, auto_detect = false, header = true, delim = ',', columns = {{{kinds}}})"
    columns = {name: cell for name, cell in source.columns.items() if name != IDS} | {name: name for name in MADE}
    joined = replace(source, sql=f"(SELECT * FROM {source.sql} POSITIONAL JOIN {table})", columns=columns)
    return joined, [_finding(paths, shared, tokens, size)]


def _size(log: Path, prompts: Sequence[Sequence[str]], tokens: Sequence[float]) -> int:
    """Return the tokens of a block: the power of two that agrees with every prompt's number of blocks.

    The last block of a prompt may be shorter, or missing. Raises :class:`InputError`.
    """
    pairs = [(len(ids), int(n)) for ids, n in zip(prompts, tokens, strict=True) if n >= 1 and ids]
    for size in (2**power for power in range(20, -1, -1)):
        if all(n == -(-most // size) for n, most in pairs) or all(n == most // size for n, most in pairs):
            return size
    remedy = f"Or leave it out: --column {IDS}={IGNORE}."
    expected = "an id for each block of a prompt, and blocks of one size, a power of two"
    raise InputError([Problem(f"{log}: {IDS}", expected, "numbers of ids that fit no such size", remedy)])


def _paths(prompts: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return each prompt as a path of nodes in a tree, numbered in the order of their first appearance."""
    numbers: dict[tuple[int, str], int] = {}
    paths = []
    for ids in prompts:
        path, at = [], ROOT
        for one in ids:
            at = numbers.setdefault((at, one), len(numbers))
            path.append(at)
        paths.append(path)
    return paths


def _shared(paths: Sequence[Sequence[int]]) -> Shared:
    """Return the prefix of each request: the longest shared path, extended along the branch that most requests take."""
    count = Counter(node for path in paths for node in path)
    next_of: dict[int, int] = {}  # the shared child of each node that most requests have; the first among equals
    for path in paths:
        for before, node in pairwise(path):
            if count[node] > max(1, count[next_of[before]] if before in next_of else 1):
                next_of[before] = node
    ends: dict[int, int] = {}
    for node in reversed(range(len(count))):  # children have higher numbers than their parents
        after = next_of.get(node)
        ends[node] = node if after is None else ends[after]
    numbers: dict[int, int] = {}
    found = Shared([], [])
    for path in paths:
        n = next((i for i, node in enumerate(path) if count[node] == 1), len(path))
        found.prefix.append(numbers.setdefault(ends[path[n - 1]], len(numbers)) if n else None)
        found.blocks.append(n)
    return found


def _finding(paths: Sequence[Sequence[int]], shared: Shared, tokens: Sequence[float], size: int) -> Finding:
    """Describe how many tokens repeat earlier ones in the log, and how many of these the prefixes find."""
    total = sum(tokens)
    before, found = (
        sum(min(n * size, most) for n, most in zip(each, tokens, strict=True))
        for each in (_before(paths), _of_prefix(shared))
    )
    shares = [100 * n / total if total else 0.0 for n in (before, found)]
    n_with = sum(prefix is not None for prefix in shared.prefix)
    words = (
        f"{n_with:,} requests share blocks of {size} tokens; {shares[0]:.1f} % of the tokens of prompts came before,"
    )
    words += f" and with one prefix for each request {shares[1]:.1f} % can be found"
    return Finding(
        "prefixes", words, False, {"block_tokens": size, "came_before_pct": shares[0], "can_be_found_pct": shares[1]}
    )


def _before(paths: Sequence[Sequence[int]]) -> Iterator[int]:
    """Yield how many blocks of each request occurred in an earlier one."""
    seen: set[int] = set()
    for path in paths:
        yield next((i for i, node in enumerate(path) if node not in seen), len(path))
        seen.update(path)


def _of_prefix(shared: Shared) -> Iterator[int]:
    """Yield how many blocks of each request occurred in an earlier one with the same prefix."""
    most: dict[int | None, int] = {}
    for prefix, n in zip(*shared, strict=True):
        yield min(n, most.get(prefix, 0))
        most[prefix] = max(n, most.get(prefix, 0))
