"""Draw the pictures of the documentation from real runs: ``python docs/draw_images.py``."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

import vinesim as vs

HERE = Path(__file__).parent
QUICKSTART = HERE.parent / "examples" / "quickstart.yaml"
COLORS = {"GPU": "#3f7f5f", "CPU_INTEL": "#c8743c"}
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


if __name__ == "__main__":
    (HERE / "images").mkdir(exist_ok=True)
    draw_utilization(HERE / "images" / "utilization.png")
