"""What the tasks of a table demand of a node, as a lead and companions.

The columns ``cores``, ``memory``, ``gpus``, ``gpu_share`` and ``gpu_type`` describe a job as its user would request it.
A task with GPUs has the GPUs as its lead, and cores and memory as companions; a task without GPUs has its cores as its
lead. The general columns are ``units``, ``types`` and ``demand`` for the lead, and ``companion.TYPE``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.formats.scenario.offer import Offer
from vinesim.formats.scenario.workload_cells import first_rows
from vinesim.formats.scenario.workload_columns import COMPANION, GENERAL_LEAD, OF_REQUEST
from vinesim.formats.source.quantities import MEMORY
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.table_source import TableSource
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import ANY_LEAD, ONE_SLOT, WHOLE_UNIT


class Demands:
    """Converts the checked columns of a table to the workload's; all problems are collected."""

    def __init__(
        self,
        source: TableSource,
        table: dict[str, Any],
        match: Mapping[str, tuple[str, float]],
        sets: Mapping[str, Sequence[str]],
        offer: Offer,
    ):
        """The columns used here are removed from ``table``; ``sets`` are the texts of a column of types, by code."""
        self.source, self.match, self.offer = source, match, offer
        self.row_of, self.n = table["_row"], len(table["_row"])
        self.problems: list[Problem] = []
        self._sets = sets
        self._given = {name: table.pop(name) for name in (*OF_REQUEST, "units", "types") if name in table}
        self._companions = {name: table.pop(name) for name in match if COMPANION.fullmatch(name)}
        self.columns: dict[str, Any] = {}
        self.lead_sets: dict[tuple[str, ...], int] = {}

    def read(self) -> dict[str, Any]:
        """Return those of the columns units, demand, lead_types, lead_sets and companions that the workload has.

        Raises :class:`InputError`.
        """
        if not self._given and not self._companions:
            return {}
        self._one_way()
        if not self.offer.is_known:
            return {}
        companions = {name.removeprefix("companion."): self._amount(name) for name in self._companions}
        self._known_companions(companions)
        if "units" in self._given:
            self.columns["units"] = np.ma.filled(self._given["units"], 1)
        if "types" in self._given:
            self.columns["lead_types"] = self._leads("types", self.offer.names)
        if {"cores", "gpus"} & self._given.keys():
            self._requested(companions)
        if "memory" in self._given:
            amount = self._amount("memory")
            companions[MEMORY] = companions.get(MEMORY, 0.0) + amount
            if MEMORY not in self.offer.names:
                self._say("memory", amount > 0, "none, as no node has memory", remedy="Give the nodes memory: 512 GiB.")
        if self.problems:
            raise InputError(self.problems)
        if companions:
            self.columns["companions"] = companions
        if "lead_types" in self.columns:
            self.columns |= self._in_order(self.columns["lead_types"])
        return self.columns

    def _in_order(self, lead: np.ndarray) -> dict[str, Any]:
        """Return lead_types and lead_sets with the used sets sorted by name, independent of the order in the file."""
        used = [(names, code) for names, code in self.lead_sets.items() if (lead == code).any()]
        number = np.full(len(self.lead_sets) + 1, ANY_LEAD)  # the last entry is for ANY_LEAD
        for i, (_, code) in enumerate(sorted(used)):
            number[code] = i
        return {"lead_types": number[lead], "lead_sets": tuple(names for names, _ in sorted(used))}

    def _one_way(self) -> None:
        """Add a problem for rows that give a lead both by a request's columns and by the general ones."""
        words = [name for name in self._given if name in OF_REQUEST and name != "memory"]
        general = [name for name in GENERAL_LEAD if name in self.match]
        if words and general:
            found = f"{', '.join(words)} along with {', '.join(general)}"
            remedy = f"Keep one way; companion.TYPE and memory go with both. {words[0]} already decides the lead."
            where = f"{self.source.path}: {words[0]}"
            self.problems.append(Problem(where, "one way to say what a task runs on", found, remedy))
        for name in ("gpu_share", "gpu_type"):
            if name in self._given and "gpus" not in self._given:
                where = f"{self.source.path}: {name}"
                self.problems.append(Problem(where, "a column gpus as well", "none", "Add it."))
        if self.problems:
            raise InputError(self.problems)

    def _known_companions(self, companions: Mapping[str, np.ndarray]) -> None:
        known = [p.name for p in self.offer.types]
        for name, amount in companions.items():
            if name not in known:
                remedy = (
                    did_you_mean(f"companion.{name}", [f"companion.{k}" for k in known]) or "Define the type first."
                )
                expected = "a processor type: " + ", ".join(known)
                self.problems.append(Problem(f"{self.source.path}: companion.{name}", expected, repr(name), remedy))
            elif name not in self.offer.names:
                self._say(f"companion.{name}", amount > 0, f"none, as no node has {name}", remedy="Add it to a node.")

    def _requested(self, companions: dict[str, np.ndarray]) -> None:
        """Convert cores and GPUs to leads and companions."""
        offer = self.offer
        cores, asked = self._amount("cores"), self._amount("gpus")
        gpus, has_gpus = np.ceil(asked).astype(np.int64), asked > 0
        lead = np.full(self.n, ANY_LEAD)
        if has_gpus.any() and not offer.gpus:
            remedy = "GPUs are the types that are neither CPU nor FPGA nor a resource of the nodes."
            self._say("gpus", has_gpus, "0, as no node has a GPU", remedy=remedy)
            return
        if (~has_gpus).any():
            if not offer.cpus:
                remedy = "CPUs are the types whose name begins with CPU, or with the attribute cores."
                column = "cores" if "cores" in self._given else "gpus"
                self._say(column, ~has_gpus, "1 or more GPUs, as no node has a CPU", remedy=remedy)
                return
            lead[~has_gpus] = self._set(offer.cpus)
        if has_gpus.any():
            lead[has_gpus] = self._leads("gpu_type", offer.gpus)[has_gpus]
        demand = np.where(has_gpus, self._share(asked, lead), cores if "cores" in self._given else ONE_SLOT)
        for name in ("gpu_share", "gpu_type"):
            if name in self._given:
                is_asked = self._amount(name) > 0 if name == "gpu_share" else self._given[name] >= 0
                self._say(name, is_asked & ~has_gpus, "nothing where gpus is 0", remedy="Give gpus, or leave it empty.")
        self.columns |= {"units": np.maximum(gpus, 1), "demand": demand, "lead_types": lead}
        for names, code in self.lead_sets.items():
            mine = has_gpus & (lead == code) & (cores > 0)
            cpus = [
                cpu for cpu in offer.cpus if any(cpu in offer.at_node_of[name] for name in names if name in offer.names)
            ]
            if len(cpus) == 1:
                amount = companions.setdefault(cpus[0], np.zeros(self.n))
                companions[cpus[0]] = np.where(mine, amount + cores, amount)
            elif mine.any():
                gpu = " or ".join(names)
                there = f"cores of one type of CPU at the node of {gpu}, which has {' and '.join(cpus)}"
                expected = there if cpus else "0"
                remedy = "Say of which: companion.CPU_TYPE." if cpus else f"No node with {gpu} has a CPU."
                self._say("cores", mine, expected, remedy=remedy)

    def _share(self, gpus: np.ndarray, lead: np.ndarray) -> np.ndarray:
        """Return [N] the share that a task takes of each of its GPUs; ``gpus`` [N] below 1 are such shares."""
        share = np.where(gpus < 1, gpus, 1.0)
        if "gpu_share" in self._given:
            each = np.ma.filled(self._given["gpu_share"], 1.0)
            is_wrong = (gpus > 0) & ~((each > 0) & (each <= 1))
            remedy = "For more, give gpus."
            self._say("gpu_share", is_wrong, "a share of each GPU, above 0 and at most 1", remedy=remedy)
            is_twice = (gpus > 0) & (gpus < 1) & (each < 1)
            self._say("gpu_share", is_twice, "nothing where gpus is a share", remedy="Keep one of them.")
            share = np.minimum(share, each)
        if (share[gpus > 0] == 1).all():
            return np.full(self.n, WHOLE_UNIT)
        demand = np.where(share == 1, WHOLE_UNIT, share)
        for names, code in self.lead_sets.items():
            sizes = {size for name in names for size in self.offer.capacity.get(name, ())}
            mine = (gpus > 0) & (lead == code) & (share < 1)
            if len(sizes) == 1:
                demand = np.where(mine, share * max(sizes), demand)
            else:
                remedy = "Use the general columns: units, types, demand."
                column = "gpu_share" if "gpu_share" in self._given else "gpus"
                self._say(column, mine, f"1, as {' and '.join(names)} differ in capacity", remedy=remedy)
        return demand

    def _leads(self, column: str, default: tuple[str, ...]) -> np.ndarray:
        """Return [N] the set of types in a column of alternatives; if empty, the default, or any for ``types``."""
        lead = np.full(self.n, ANY_LEAD if column == "types" else self._set(default))
        code = self._given.get(column, np.full(self.n, -1))
        known = [p.name for p in self.offer.types]
        for number, text in enumerate(self._sets.get(column, ())):
            names = tuple(dict.fromkeys(name.strip() for name in text.split("|")))
            mine = np.equal(code, number)
            unknown = [name for name in names if name not in known]
            if unknown:
                remedy = did_you_mean(unknown[0], known) or "Define the type first, or leave the alternative out."
                self._say(column, mine, "processor types, as A|B: of " + ", ".join(known), remedy=remedy)
            elif not set(names) & set(self.offer.names):
                remedy = "Add such a unit to a node, or leave the alternative out."
                self._say(column, mine, "a type that a node has: one of " + ", ".join(default), remedy=remedy)
            elif column == "gpu_type" and (others := [n for n in names if n in self.offer.names and n not in default]):
                self._say(column, mine, f"GPUs: one of {', '.join(default)}, not {others[0]}")
            else:
                lead[mine] = self._set(names)
        return lead

    def _set(self, names: tuple[str, ...]) -> int:
        """Return the code of a set of types; new sets get the next code."""
        names = tuple(sorted(set(names)))
        return self.lead_sets.setdefault(names, len(self.lead_sets))

    def _amount(self, name: str) -> np.ndarray:
        """Return [N] a column of numbers, 0 where it is empty or absent."""
        values = self._given.get(name, self._companions.get(name))
        return np.zeros(self.n) if values is None else np.ma.filled(values.astype(np.float64), 0.0)

    def _say(self, column: str, is_wrong: np.ndarray, expected: str, remedy: str = "") -> None:
        """Add a problem for the first rows with an invalid cell."""
        rows = first_rows(self.row_of, is_wrong)
        texts = self.source.texts_of(self.match[column][0], rows)
        found = [(row, self.match[column][0], expected, texts[row]) for row in rows]
        self.problems += [replace(problem, remedy=remedy) for problem in self.source.cells(found)]
