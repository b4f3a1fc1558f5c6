"""The page of a plan: its question, its answer, a picture of its points, the course of the search, and tables."""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from vinesim.formats.plan.numbers import is_own
from vinesim.formats.source.units import axis_label
from vinesim.metrics.numbers import shown_limit, shown_number
from vinesim.model.titles import number_title
from vinesim.pages.plan_question import question
from vinesim.plans.record import PLAN_JSON, POINTS, point_file
from vinesim.plans.stored import read_answer
from vinesim.report.markup import Content, Section, facts, figures, note, notice, table
from vinesim.report.page import write_page

PLAN_PAGE = "plan.html"
Row = Mapping[str, Any]


def write_plan_page(folder: Path) -> Path:
    """Write the page of a plan into its folder; return the file. Raises :class:`InputError` if it has no answer."""
    page = folder / PLAN_PAGE
    write_page(plan_page(folder), page)
    return page


def plan_page(folder: Path) -> Content:
    """Build the page from the answer in a plan's folder. Raises :class:`InputError`."""
    answer = read_answer(folder)
    sections = [
        Section("question", "Question", question(answer)),
        Section("answer", "Answer", _answer(answer)),
    ]
    if any(row["objectives"] for row in answer["evaluated"]):
        sections.append(Section("points", "Points", ""))
    if answer["course"]:
        sections.append(Section("course", "Course of the search", ""))
    sections.append(Section("tables", "Tables", _tables(answer)))
    sections.append(Section("counts", "What was done", _counts(answer)))
    return Content(
        title=answer["plan"]["description"] or f"Plan {folder.resolve().name}",
        lead=answer["status"][0].upper() + answer["status"][1:],
        sections=sections,
        data={"plan": _data(answer, folder)},
        scripts=("numbers.js", "plan.js"),
    )


def _data(answer: Row, folder: Path) -> dict[str, Any]:
    """Return the data of the pictures: each simulated point with its choice, numbers and intervals."""
    goals, limits = answer["plan"]["objectives"], answer["plan"]["limits"]
    recommended, titles = answer["recommended"], _titles(answer)
    front = {row["point"] for row in answer["front"]}
    points = []
    for row in answer["evaluated"]:
        if not row["objectives"]:
            continue
        name = point_file(row["point"])
        is_best = recommended is not None and row["point"] == recommended["point"]
        link = "recommendation.yaml" if is_best else f"{POINTS}/{name}" if (folder / POINTS / name).exists() else None
        numbers = [_interval(value) for value in [*row["objectives"], *row["judgements"]]]
        points.append(
            {
                "choice": {titles[key]: axis_label(key, value) for key, value in row["choice"].items()},
                "numbers": numbers,
                "verdict": row["verdict"],
                "verdicts": [judgement["verdict"] for judgement in row["judgements"]],
                "n": row["n"],
                "why": row["why"],
                "isBest": is_best,
                "isFront": row["point"] in front,
                "link": link,
            }
        )
    sign = -1 if goals[0]["is_maximized"] else 1
    return {
        "names": [
            *({**_name(goal["of"], goal["number"]), "limit": None, "isOfRun": True} for goal in goals),
            *map(_name_of_limit, limits),
        ],
        "nGoals": len(goals),
        "points": points,
        "course": [[step["n_runs"], sign * step["value"], step["stage"]] for step in answer["course"]],
        "runs": answer["counts"]["runs"],
    }


def _name(of: str, number: str) -> dict[str, Any]:
    """Return the title of an objective in pictures, and, if it is a number, its unit."""
    title = number_title(number)
    return {"name": of, "title": title.words if of == number else of, "unit": title.unit}


def _name_of_limit(limit: Row) -> dict[str, Any]:
    """Return the title and unit of a limit in pictures: of a number, or of the share of runs that keep a value."""
    number, is_of_run = limit["number"], not is_own(limit["number"])
    if limit["share"] is None:
        return {**_name(number, number), "limit": limit["value"], "side": limit["side"], "isOfRun": is_of_run}
    words = f"runs with {shown_limit(number, limit['side'], limit['value'])}"
    of = {"name": words, "title": words, "unit": "share"}
    return {**of, "limit": limit["share"], "side": "above", "isOfRun": is_of_run}


def _interval(value: Row) -> list[float | None]:
    low, estimate, high = value["low"], value["estimate"], value["high"]
    return [estimate if low is None else low, estimate, estimate if high is None else high]


def _answer(answer: Row) -> str:
    row, titles = answer["recommended"], _titles(answer)
    if row is None:
        nearest = note("Tables lists the candidates nearest to the limits.")
        return notice(answer["why_none"]) + nearest + "".join(map(note, answer["notes"]))
    text = notice(f"Status: {answer['status']}.") if answer["status"] != "recommended" else ""
    goals = zip(answer["plan"]["objectives"], row["objectives"], strict=True)
    text += figures(
        [
            (goal["of"], _number(goal["number"], value["estimate"]), _range(goal["number"], value))
            for goal, value in goals
        ]
    )
    text += facts([(titles[name], axis_label(name, value)) for name, value in row["choice"].items()])
    fresh = (answer["confirmation"] or {}).get("fresh")
    longer = (answer["confirmation"] or {}).get("longer")
    rows = []
    for i, judgement in enumerate(row["judgements"]):
        limit = judgement["limit"]
        wanted = shown_limit(limit["number"], limit["side"], limit["value"])
        again = "-" if fresh is None or not judgement["is_random"] else _judged(fresh["judgements"][i])
        of_longer = [] if longer is None else [j for j in longer["judgements"] if j["limit"] == limit]
        rows.append([wanted, _judged(judgement), again, _judged(of_longer[0]) if of_longer else "-"])
    if rows:
        text += table("Limits", ["limit", "in the search", "on fresh seeds", "longer"], rows, has_texts=True)
    return text + facts([("Binding", answer["binding"])]) + "".join(map(note, answer["notes"]))


def _tables(answer: Row) -> str:
    goals, titles = answer["plan"]["objectives"], _titles(answer)
    first = goals[0]["of"], goals[0]["number"]
    text = ""
    for title, key in (("Pareto front", "front"), ("Next", "runners"), ("Nearest to the limits", "nearest")):
        if answer[key] and (key != "nearest" or answer["recommended"] is None):
            text += _rows(title, answer[key], goals, titles)
    if answer["recommended"] is None and answer["undecided"]:
        text += _rows("Undecided", answer["undecided"], goals, titles)
    if answer["relaxed"]:
        rows = [
            [shown_limit(each["limit"]["number"], each["limit"]["side"], each["value"]), each["text"]]
            for each in answer["relaxed"]
        ]
        text += table("What relaxing a limit by 10 % would save", ["limit", first[0]], rows, has_texts=True)
    if answer["neighbors"]:
        rows = []
        for each in answer["neighbors"]:
            change = each["change"]["estimate"]
            words = ("+" if change is not None and change > 0 else "") + _number(first[1], change)
            rows.append(
                [
                    f"{titles[each['choice']]}: {axis_label(each['choice'], each['label'])}",
                    words,
                    each["row"]["why"] or "holds",
                ]
            )
        text += table("One step more or less of each choice", ["choice", first[0], "limits"], rows, has_texts=True)
    for key, title in (("nearly", "Cheapest within 5 % of the best"), ("knee", "Knee of the front")):
        if answer.get(key):
            text += _rows(title, [answer[key]], goals, titles)
    if ranges := answer.get("price_ranges"):
        rows = [
            [each["kind"], *(_price(each[name]) for name in ("price", "low", "high"))]
            + [_rival(each[side], titles) for side in ("below", "above")]
            for each in ranges
        ]
        head = ["type", "price", "stays the best from", "to", "below", "above"]
        text += table("Prices at which this stays the best, one at a time", head, rows, has_texts=True)
    if loads := answer.get("at_loads"):
        rows = [[f"{each['load']:g}", *_at_load(each, titles)] for each in loads]
        text += table("Under other loads, by new runs", ["times the load", "limits", "instead"], rows, has_texts=True)
    return text


def _at_load(each: Row, titles: dict[str, str]) -> list[str]:
    """Describe whether the limits hold under a load, and which point keeps them if the recommendation does not."""
    if each["why_not"]:
        return [f"not known: {each['why_not']}", "-"]
    judged = [(judgement["limit"]["number"], judgement) for judgement in each["judgements"]]
    words = "; ".join(f"{name} {one['verdict']}: {_number(name, one['estimate'])}" for name, one in judged)
    return [words or "none depends on the runs", _rival(each["instead"] and {**each["instead"], "known": ""}, titles)]


def _price(price: float | None) -> str:
    return "any" if price is None else f"{price:,.6g}"


def _rival(rival: Row | None, titles: dict[str, str]) -> str:
    if rival is None:
        return "-"
    words = ", ".join(f"{titles[name]} {axis_label(name, label)}" for name, label in rival["choice"].items())
    return f"{words} ({rival['known']})" if rival["known"] else words


def _titles(answer: Row) -> dict[str, str]:
    """Return the title of each choice."""
    return {choice["name"]: choice["title"] for choice in answer["plan"]["choices"]}


def _rows(title: str, rows: list[Row], goals: list[Row], titles: Mapping[str, str]) -> str:
    lines = []
    for row in rows:
        found = zip(goals, row["objectives"], strict=False)
        values = [_number(goal["number"], value["estimate"]) for goal, value in found] or ["-"] * len(goals)
        choice = ", ".join(f"{titles[name]}: {axis_label(name, label)}" for name, label in row["choice"].items())
        lines.append([choice, *values, row["why"] or row["verdict"]])
    return table(title, ["choice", *(goal["of"] for goal in goals), "limits"], lines, has_texts=True)


def _counts(answer: Row) -> str:
    done = [
        ("Candidates", answer["accounted"]),
        *((f"{n:,} without a run", why) for why, n in answer["screened_why"].items()),
        ("Proof", answer["closed"] or "none"),
    ]
    link = f'<p class="note"><a href="{PLAN_JSON}">{escape(PLAN_JSON)}</a> holds all of this for programs.</p>'
    return facts(done) + link


def _judged(judgement: Row) -> str:
    runs = f", {judgement['n']} runs" if judgement["is_random"] else ""
    if judgement["limit"]["share"] is not None:
        low, high = judgement["low"], judgement["high"]
        bounds = "" if low is None else f" [{low:.1%}, {high:.1%}]"
        return f"{judgement['verdict']}: {judgement['estimate']:.1%} of runs{bounds}{runs}"
    name = judgement["limit"]["number"]
    text = _number(name, judgement["estimate"]) + _range(name, judgement)
    return f"{judgement['verdict']}: {text}{runs}"


def _range(name: str, value: Row) -> str:
    low, high = value["low"], value["high"]
    return "" if low is None or low == high else f" [{_number(name, low)}, {_number(name, high)}]"


def _number(name: str, value: float | None) -> str:
    return "-" if value is None else shown_number(name, value)
