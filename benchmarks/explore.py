"""The page of ``vinesim explore`` in a browser: from a slider's move to its charts, and memory after many moves."""

import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.report import Report, Table, Target

QUICKSTART = Path(__file__).parents[1] / "examples" / "quickstart.yaml"
SIZES = {2_500: 150.0, 100_000: None, 1_000_000: 1000.0}  # tasks: the most that the p95 may be, ms
MOVES, MANY_MOVES = 30, 300
KNOB = "knob-arrivals.iat"

# Move the slider, wait until its charts are drawn and the browser has painted them; ms.
MOVE = """([id, position]) => new Promise((done) => {
  const slider = document.getElementById(id), root = document.documentElement, begun = performance.now();
  const painted = () => requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
  const seen = new MutationObserver(() => { seen.disconnect(); painted(); });
  seen.observe(root, { attributeFilter: ["data-drawn"] });
  slider.value = position;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
})"""


def run(quick: bool) -> Report:
    """Measure."""
    rows, targets = [], []
    for tasks, most in SIZES.items():
        if quick and tasks > 100_000:
            continue
        with opened(tasks) as (page, server):
            for i in range(3):
                move(page, i)
            before = cpu_ms(server)
            times = sorted(move(page, 3 + i) for i in range(MOVES))
            spent = {name: (after - before[name]) / MOVES for name, after in cpu_ms(server).items()}
            memory = memory_mib(server)
        p50, p95, cpu = statistics.median(times), times[int(0.95 * MOVES)], sum(spent.values())
        rows.append([f"{tasks:,}", *(f"{value:.0f}" for value in (*spent.values(), cpu, p50, p95, memory))])
        if most is not None:
            what = f"slider to painted charts, {tasks:,} tasks, CPU time"
            targets.append(Target(what, cpu, most, None, " ms", less_is_better=True))
    note = (
        f"Headless Chromium; means of {MOVES} moves of the slider of the time between jobs. The first four columns are "
        "CPU time, with the charts that are out of sight and are drawn afterwards. p50 and p95 are wall time from the "
        "event to the painted charts, and what else the machine did. Memory is that of the server's processes."
    )
    columns = ["tasks", "simulating", "serving", "browser", "sum", "p50, wall", "p95, wall", "memory, MiB"]
    found = [Table("From a slider to painted charts, ms", columns, rows, note)]
    if not quick:
        found.append(many_moves())
    return Report(found, targets)


def many_moves() -> Table:
    """Memory of the page and of the server after many moves."""
    rows = []
    with opened(2_500) as (page, server):
        client = page.context.new_cdp_session(page)
        for n in (MOVES, MANY_MOVES):
            for i in range(n - (MOVES if rows else 0)):
                move(page, i)
            client.send("HeapProfiler.collectGarbage")
            heap = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
            rows.append([f"{n}", f"{heap:.1f}", f"{memory_mib(server):.0f}"])
    return Table("Memory after many moves, MiB", ["moves", "page", "server"], rows)


def move(page: Any, i: int) -> float:
    """Move the slider to the next of some positions."""
    return page.evaluate(MOVE, [KNOB, 150 + (37 * i) % 100])


def cpu_ms(server: Any) -> dict[str, float]:
    """Return the CPU time so far of the workers, of the server itself and of the browser, ms."""
    import psutil

    def spent(processes: list[Any]) -> float:
        return 1000 * sum(sum(each.cpu_times()[:2]) for each in processes)

    own = psutil.Process(server.pid)
    browser = [each for each in psutil.Process().children(recursive=True) if "chrom" in each.name()]
    return {"simulating": spent(own.children(recursive=True)), "serving": spent([own]), "browser": spent(browser)}


def memory_mib(server: Any) -> float:
    """Return the memory of a process and its children, MiB, what they share counted once."""
    import psutil

    process = psutil.Process(server.pid)
    return sum(each.memory_full_info().pss for each in [process, *process.children(recursive=True)]) / 2**20


@contextmanager
def opened(tasks: int) -> Iterator[tuple[Any, Any]]:
    """Serve the quickstart with ``tasks`` tasks, and open its page once the policy is compiled."""
    from playwright.sync_api import sync_playwright

    words = [sys.executable, "-m", "vinesim", "explore", str(QUICKSTART), "--no-browser"]
    words += ["--set", f"workload.options.n_jobs={tasks // 5}"]
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as running:
        try:
            assert server.stdout is not None
            address = re.search(r"http\S+", server.stdout.readline())
            assert address is not None
            browser = running.chromium.launch(
                executable_path=chromium, args=["--no-sandbox", "--enable-precise-memory-info"]
            )
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.goto(address[0])
            page.locator("html[data-drawn]").wait_for(timeout=120_000)
            ready = page.locator("#engine", has_text=re.compile("^$|is compiled"))
            ready.wait_for(state="attached", timeout=120_000)
            yield page, server
            browser.close()
        finally:
            server.send_signal(signal.SIGINT)
