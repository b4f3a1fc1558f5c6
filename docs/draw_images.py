"""Draw the pictures of the documentation from real runs: ``python docs/draw_images.py``."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

import vinesim as vs
from vinesim.formats.results.folder import write_result
from vinesim.plots.gantt import draw_gantt
from vinesim.plots.lines import Axis, Line, Panel, line_figure
from vinesim.plots.style import DPI
from vinesim.reproduction.data import Data
from vinesim.reproduction.registry import items
from vinesim.reproduction.reproduce import gather

HERE = Path(__file__).parent
QUICKSTART = HERE.parent / "examples" / "quickstart.yaml"
COLORS = {"GPU": "#3f7f5f", "CPU_INTEL": "#c8743c"}
_BLOCKS = re.compile(
    r"^```(?:\{code-block\} \w+\n:caption: (?P<name>\S+)\n\n|console\n)(?P<body>.*?)^```$", re.M | re.S
)
NAMES = {"GPU": "GPUs", "CPU_INTEL": "CPUs"}


def draw_utilization(path: Path) -> None:
    """Utilisation over time of CPUs and GPUs, for three inter-arrival times."""
    mpl.use("agg")
    figure, panels = plt.subplots(1, 3, figsize=(9, 2.7), sharey=True, layout="constrained")
    for panel, iat_us in zip(panels, (7, 6, 0), strict=True):
        result = vs.simulate(vs.read_scenario(QUICKSTART, [f"arrivals.iat={iat_us}"]))
        series = result.utilization
        assert series is not None
        for group, color in COLORS.items():
            rows = series["group"] == group
            edges = [*series["t_start_us"][rows], series["t_end_us"][rows][-1]]
            share = 100 * series["utilization"][rows]
            panel.stairs(share, [edge / 1000 for edge in edges], color=color, linewidth=2, label=NAMES[group])
        mean_us = result.summary["jobs"]["latency_us"]["mean"]
        when = "all jobs at once" if iat_us == 0 else f"one job every {iat_us} us"
        panel.set_title(f"{when}\nmean job latency {mean_us:,.0f} us", fontsize=9)
        panel.set_xlabel("time, ms", fontsize=9)
        panel.set_xlim(0, 3.6)
        panel.set_ylim(-3, 106)
        panel.set_yticks([0, 50, 100])
        panel.grid(axis="y", color="#dddddd", linewidth=0.8)
        panel.set_axisbelow(True)
        panel.tick_params(labelsize=8, length=0)
        for side in ("top", "right", "left"):
            panel.spines[side].set_visible(False)
    panels[0].set_ylabel("utilisation, %", fontsize=9)
    panels[0].legend(frameon=False, fontsize=9, loc="center", bbox_to_anchor=(0.5, 0.45))
    figure.savefig(path, dpi=160, metadata={"Software": None})
    plt.close(figure)


def draw_data_placement(folder: Path) -> None:
    """The figures of the page on data placement, as `vinesim reproduce fig18-why` draws them."""
    item = items()["fig18-why"]
    assert item.draw is not None
    for name, figure in item.draw(gather(item)).items():
        path = folder / f"{name.replace('fig18_why', 'data_placement')}.png"
        figure.savefig(path, dpi=DPI, metadata={"Software": None})


def draw_energy_latency(path: Path) -> None:
    """Energy against latency, as the page of that name draws it."""
    data = Data({"main": vs.sweep(HERE.parent / "examples" / "energy_latency.yaml", workers=1).table})
    lines = []
    for scheduler in data.labels("main", "scheduler"):
        of = {"along": "arrivals.poisson.mean", "scheduler": scheduler}
        latency, energy = (data.curve("main", name, **of) for name in ("jobs.latency_us.mean", "energy_j"))
        lines.append(Line(scheduler, latency.mean / 1000, energy.mean, energy.low, energy.high))
    axes = Axis("mean job latency, ms", limits=(0, None)), Axis("energy, J", limits=(0, None))
    figure = line_figure([Panel("500 jobs, each 0.4, 0.6 and 1 ms", lines)], *axes)
    figure.savefig(path, dpi=DPI, metadata={"Software": None})


def draw_gantt_chart(path: Path) -> None:
    """The run that the page on Gantt charts draws."""
    with tempfile.TemporaryDirectory() as folder:
        write_result(Path(folder) / "run", vs.simulate(vs.read_scenario(HERE.parent / "examples" / "rbss.yaml")))
        draw_gantt(Path(folder) / "run", path)


def draw_figures(folder: Path) -> None:
    """The figures of the page on figures, as `vinesim plot` draws them."""
    swept = vs.sweep(HERE.parent / "examples" / "study.yaml", workers=1)
    vs.plot(swept, folder / "figure_lines.png", x_label="mean time between jobs, us")
    runs = [
        vs.simulate(vs.read_scenario(QUICKSTART, ["arrivals.iat=6", f"policy={name}"])) for name in ("high", "flat")
    ]
    vs.plot(runs, folder / "figure_tail.png")


def draw_gallery(folder: Path) -> None:
    """The pictures of the gallery: its files are written and its commands run, in order, as the page shows them."""
    page = (HERE / "gallery.md").read_text()
    with tempfile.TemporaryDirectory() as work:
        for found in _BLOCKS.finditer(page):
            if found["name"]:
                (Path(work) / found["name"]).write_text(found["body"])
            for command in re.findall(r"^\$ vinesim ((?:.*\\\n)*.*)", found["body"] if not found["name"] else "", re.M):
                words = shlex.split(command.replace("\\\n", " "))
                subprocess.run([sys.executable, "-m", "vinesim", *words], cwd=work, check=True, capture_output=True)
        for picture in sorted(Path(work).glob("*.png")):
            shutil.copy(picture, folder / f"gallery_{picture.name}")


def draw_explore(path: Path) -> None:
    """The page of `vinesim explore`, with fewer GPUs than a pinned variant."""
    from playwright.sync_api import sync_playwright

    words = [sys.executable, "-m", "vinesim", "explore", str(QUICKSTART), "--no-browser", "--engine", "reference"]
    words += ["--set", "arrivals={poisson: {mean: 6 us}}"]
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as running:
        assert server.stdout is not None
        address = server.stdout.readline().rpartition(" ")[2].strip()
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1180}, color_scheme="light")
        page.goto(address)
        page.locator("html[data-settled]").wait_for()
        page.locator("body").press("p")
        exact = page.get_by_label("GPU units of rack 0, exact value")
        exact.fill("16")
        exact.press("Enter")
        page.locator("#status", has_text="on 36 units").wait_for()
        page.locator("html[data-settled]").wait_for()
        page.screenshot(path=path)
        browser.close()
        server.send_signal(signal.SIGINT)


if __name__ == "__main__":
    (HERE / "images").mkdir(exist_ok=True)
    draw_utilization(HERE / "images" / "utilization.png")
    draw_data_placement(HERE / "images")
    draw_energy_latency(HERE / "images" / "energy_latency.png")
    draw_figures(HERE / "images")
    draw_gantt_chart(HERE / "images" / "gantt.png")
    draw_gallery(HERE / "images")
    draw_explore(HERE / "images" / "explore.png")
