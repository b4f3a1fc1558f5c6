"""The page in a real browser: charts follow the controls, by pointer and by keyboard; links, pins, curves, saving."""

import re
import signal
import subprocess
import sys

import pytest

from tests.explore.conftest import EXAMPLES, GPUS
from tests.pages import FAINT, UNNAMED, unfold_all
from vinesim.formats.plan.file import read_plan
from vinesim.policies.documents import read_scenario
from vinesim.policies.identity import content_id

JOBS = "workload.options.n_jobs=60"
POISSON = "arrivals={poisson: {mean: 6 us}}"
GPU_KNOB = "GPU units of rack 0"


@pytest.fixture(scope="module")
def address():
    """The address of a server in its own process, which ends without a word on Ctrl-C."""
    words = [sys.executable, "-m", "vinesim", "explore", str(EXAMPLES / "quickstart.yaml"), "--no-browser"]
    words += ["--engine", "reference", "--set", JOBS, "--set", POISSON]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        yield re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", running.stdout.readline())[0]
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 0
        assert running.stderr.read() == ""


@pytest.fixture
def opened(browser, address):
    """Open the page; afterwards it must have said nothing on the console, and asked only its own server."""
    said, asked, contexts = [], [], []

    def open_page(link="", theme="light", width=1400):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address + link)
        page.locator("html[data-settled]").wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()
    origin = address.partition("?")[0]
    assert said == []
    assert [url for url in asked if not url.startswith((origin, "blob:", "data:"))] == []


def drawn(page):
    return int(page.evaluate("document.documentElement.dataset.drawn"))


def after(page, act):
    """Do something, and wait until its charts are drawn, those out of sight too."""
    before = drawn(page)
    act()
    page.wait_for_selector(f'html[data-drawn]:not([data-drawn="{before}"])')
    page.wait_for_selector("html[data-settled]")


def units(page):
    return re.search(r"on ([\d,]+) units", page.locator("#status").text_content())[1]


@pytest.mark.parametrize(("theme", "width"), [("light", 1400), ("dark", 700)])
def test_everything_has_a_name_and_is_seen(opened, theme, width, tmp_path):
    page = opened(theme=theme, width=width)
    unfold_all(page, "details.values")
    assert page.evaluate(UNNAMED) == []
    seen, faint = page.evaluate(FAINT)
    assert seen > 100
    assert faint == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("h1").count() == 1
    page.screenshot(path=tmp_path / "page.png", full_page=True)
    assert (tmp_path / "page.png").stat().st_size > 50_000


def test_charts_follow_a_slider_by_keyboard_and_undo_takes_it_back(opened):
    page = opened()
    canvases = ("#latency canvas", "#usage canvas", "#queue canvas", "#cost canvas", "#racks canvas")
    pictures = {name: page.locator(name).first.evaluate("(canvas) => canvas.toDataURL()") for name in canvases}
    energy = page.locator("#energy").text_content()
    slider = page.get_by_role("slider", name=GPU_KNOB, exact=True)
    slider.focus()
    page.evaluate("performance.now = () => 0")  # changes that follow each other soon are one step to undo
    for _ in range(8):
        after(page, lambda: page.keyboard.press("ArrowLeft"))
    page.locator("#status", has_text="on 32 units").wait_for()
    assert slider.get_attribute("aria-valuetext") == "12"
    for name in canvases:
        assert page.locator(name).first.evaluate("(canvas) => canvas.toDataURL()") != pictures[name], name
    assert page.locator("#energy").text_content() != energy
    assert page.evaluate("document.activeElement.id") == f"knob-{GPUS}"
    after(page, lambda: page.keyboard.press("Control+z"))
    page.locator("#status", has_text="on 40 units").wait_for()
    after(page, lambda: page.keyboard.press("Control+Shift+z"))
    page.locator("#status", has_text="on 32 units").wait_for()
    after(page, lambda: page.get_by_role("button", name=f"{GPU_KNOB}: as in the file").click())
    page.locator("#status", has_text="on 40 units").wait_for()


def test_a_link_restores_what_is_shown_and_what_is_pinned(opened, browser):
    page = opened()
    page.locator("body").press("p")
    page.get_by_label("Policy", exact=True).select_option("flat")
    after(page, lambda: page.get_by_label(f"{GPU_KNOB}, exact value").fill("9") or page.keyboard.press("Enter"))
    page.locator("#status", has_text="on 29 units").wait_for()
    link = page.evaluate("location.hash")
    other = opened(link)
    other.locator("#status", has_text="on 29 units").wait_for()
    assert other.get_by_label("Policy", exact=True).input_value() == "flat"
    assert other.locator(".pins li").count() == 1
    assert (
        "against pinned A" in other.locator("#results").text_content()
        or "against A" in other.locator("#results").text_content()
    )


def test_a_result_that_arrives_does_not_overwrite_what_is_being_typed(opened):
    page, held = opened(), []
    page.route("**/show*", lambda route: held.append(route))
    page.get_by_label("Policy", exact=True).select_option("delay")
    exact = page.get_by_label(f"{GPU_KNOB}, exact value")
    exact.fill("9")
    while not held:
        page.wait_for_timeout(10)
    after(page, lambda: held[0].continue_())
    assert exact.input_value() == "9"
    page.unroute("**/show*")
    exact.press("Enter")
    page.locator("#status", has_text="on 29 units").wait_for()
    assert page.get_by_label("Policy", exact=True).input_value() == "delay"
    page.locator('[data-key="options.in_order"]').wait_for(state="detached")


def test_a_combination_that_cannot_be_is_reported_in_place(opened):
    page = opened()
    exact = page.get_by_label("Mean time between jobs, exact value")
    exact.fill("fast")
    exact.press("Enter")
    problem = page.locator("#problem")
    problem.wait_for()
    assert "a time, 0 or more" in problem.text_content()
    assert "Traceback" not in problem.text_content()
    assert page.locator("main.stale").count() == 1
    after(page, lambda: page.get_by_role("button", name="Undo").click())
    assert problem.is_hidden()


def test_options_follow_the_policy(opened):
    page = opened()
    assert page.get_by_label("In order", exact=True).count() == 1
    after(page, lambda: page.get_by_label("Policy", exact=True).select_option("delay"))
    page.locator('[data-key="options.in_order"]').wait_for(state="detached")


def test_pinned_variants_differ_with_intervals_and_a_curve_is_drawn(opened):
    page = opened()
    after(page, lambda: page.locator("body").press("p"))
    after(page, lambda: page.get_by_label(f"{GPU_KNOB}, exact value").fill("10") or page.keyboard.press("Enter"))
    assert page.locator("#latency .legend").text_content().count("pinned A") == 1
    page.get_by_label("Runs of each variant").fill("4")
    page.get_by_role("button", name="Compare with intervals").click()
    page.locator("#differences [role=status]", has_text="over 4 runs").wait_for()
    row = page.locator("#differences tr", has_text="mean latency of jobs").text_content()
    assert re.search(r"\+[\d.]+ us \[\+[\d.]+ us, \+[\d.]+ us\]", row)  # fewer GPUs: slower
    curve = page.locator("#curve")
    curve.get_by_label("Control", exact=True).select_option(GPUS)
    for label, value in (("From", "5"), ("To", "20"), ("Values", "4"), ("Runs of each", "2")):
        curve.get_by_label(label, exact=True).fill(value)
    curve.get_by_role("button", name="Draw the curve").click()
    curve.locator("[role=status]", has_text="4 points, 2 runs of each").wait_for()
    curve.locator("details summary").click()
    curve.locator("tbody th").last.wait_for()
    assert curve.locator("tbody th").all_text_contents() == ["5", "10", "15", "20"]


def test_what_is_saved_is_what_is_shown(opened, tmp_path):
    page = opened()
    after(page, lambda: page.get_by_label(f"{GPU_KNOB}, exact value").fill("11") or page.keyboard.press("Enter"))
    page.locator("#status", has_text="on 31 units").wait_for()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as YAML").click()
    saved.value.save_as(tmp_path / "variant.yaml")
    expected = read_scenario(EXAMPLES / "quickstart.yaml", [JOBS, POISSON, f"{GPUS}=11"])
    assert content_id(read_scenario(tmp_path / "variant.yaml")) == content_id(expected)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Make it a plan").click()
    saved.value.save_as(tmp_path / "plan.yaml")
    assert [choice.name for choice in read_plan(tmp_path / "plan.yaml").choices] == [GPUS]
    page.get_by_role("button", name="Copy the command").click()
    page.locator("#save pre", has_text=f"--set '{GPUS}=11'").wait_for()


def test_two_browsers_do_not_disturb_each_other(opened):
    first, second = opened(), opened()
    for page, gpus in ((first, "4"), (second, "6")):
        after(
            page,
            lambda page=page, gpus=gpus: (
                page.get_by_label(f"{GPU_KNOB}, exact value").fill(gpus) or page.keyboard.press("Enter")
            ),
        )
    assert (units(first), units(second)) == ("24", "26")


def test_a_long_run_shows_how_far_it_is_and_can_be_stopped(opened):
    page = opened()
    page.get_by_label("Jobs, exact value", exact=True).fill("25000")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Stop", exact=True).first.wait_for()
    page.locator('#controls progress[value]:not([value="0"])').wait_for()
    page.keyboard.press("Escape")
    page.locator("#results .notice", has_text="INTERRUPTED").wait_for()
    assert "125,000 tasks are done" in page.locator("#results .notice").text_content()
