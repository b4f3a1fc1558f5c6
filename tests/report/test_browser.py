"""The page in a real browser: complete, quiet, usable by pointer, keyboard and screen reader, in both themes."""

import re

import pytest

from tests.pages import FAINT, UNNAMED, unfold, unfold_all
from vinesim.pages.write import write_report


@pytest.fixture(scope="module")
def written():
    """The pages that have been written, by the name of what they are about."""
    return {}


@pytest.fixture
def opened(browser, request, written, tmp_path_factory):
    """Open the page of a folder; afterwards it must have asked for nothing and said nothing on the console."""
    said, asked, contexts = [], [], []

    def open_page(name, theme="light", width=1200, **more):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, **more)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.route("**/*", lambda route: (asked.append(route.request.url), route.continue_()))
        if name not in written:
            written[name] = tmp_path_factory.mktemp("pages") / "page.html"
            write_report(request.getfixturevalue(name), written[name])
        page.goto(written[name].as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.endswith("/page.html")] == []


def choose(radio):
    """By keyboard: a page that is still being drawn may move under a click."""
    radio.press("Space")
    assert radio.is_checked()


def picture(page, selector="#racks canvas"):
    """What is drawn on a canvas."""
    return page.locator(selector).first.evaluate("(canvas) => canvas.toDataURL()")


@pytest.mark.parametrize("name", ["example", "two_racks", "shared", "sweep", "wide", "dated"])
def test_it_opens_without_a_word_and_everything_has_a_name(opened, name, tmp_path):
    page = opened(name)
    page.emulate_media(color_scheme="dark")
    page.screenshot(path=tmp_path / "page.png", full_page=True)
    assert (tmp_path / "page.png").stat().st_size > 20_000
    unfold_all(page)
    assert page.evaluate(UNNAMED) == []
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)
        seen, faint = page.evaluate(FAINT)
        assert seen > 40
        assert faint == []
    assert page.evaluate("window.evil") is None
    assert page.locator("h1").count() == 1
    assert page.locator(".u-wrap").count() >= 1


@pytest.mark.parametrize("name", ["example", "two_racks", "sweep", "wide", "dated"])
def test_a_narrow_screen_needs_no_sideways_scrolling(opened, name):
    page = opened(name, width=380)
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    within_their_places(page)
    for canvas in page.locator("canvas").all():
        assert canvas.bounding_box()["width"] <= 380


def within_their_places(page):
    """The large numbers at the top."""
    over = page.locator(".figures b").evaluate_all("(all) => all.map((node) => node.scrollWidth - node.clientWidth)")
    assert max(over, default=0) <= 0


def test_long_names_and_huge_numbers_stay_within_the_page_and_their_places(opened):
    """On a narrow screen too: see above."""
    page = opened("wide", width=800)
    assert "1e+300" in page.locator(".figures").first.text_content()
    for width in (800, 1200):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        within_their_places(page)


def test_of_many_types_the_busiest_are_drawn_and_the_table_has_all(opened):
    page = opened("wide")
    assert page.locator("#usage .legend li").count() == 8
    assert "the 7 busiest of 60 types" in page.locator("#usage .note").first.text_content()
    unfold(page.locator("#usage details"))
    assert page.locator("#usage thead th").count() == 2 + 61


def test_a_table_that_scrolls_has_the_focus_and_shows_that_there_is_more(opened):
    page = opened("dated", width=380)
    table = page.locator(".scroll", has_text="waiting, jobs").first
    assert table.evaluate("(node) => node.scrollWidth > node.clientWidth")
    assert table.get_attribute("tabindex") == "0"
    assert "gradient" in table.evaluate("(node) => getComputedStyle(node).backgroundImage")
    table.focus()
    assert table.evaluate("(node) => document.activeElement === node")


def test_a_print_has_the_charts_as_wide_as_the_paper_and_the_colours(opened):
    page = opened("dated", width=1400)
    page.set_viewport_size({"width": 1400, "height": 900})
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 900})
    for canvas in page.locator(".u-wrap > canvas").all():
        box = canvas.bounding_box()
        assert box["x"] + box["width"] <= 700
    bar = page.locator(".bar-of-colors").first
    assert bar.evaluate("(node) => getComputedStyle(node).printColorAdjust") == "exact"
    assert page.locator(".scroll").first.evaluate("(node) => getComputedStyle(node).overflowX") == "visible"


def test_dates_are_at_the_axes_and_in_the_tables(opened):
    page = opened("dated")
    unfold(page.locator("#usage details"))
    first = page.locator("#usage tbody tr").first.locator("th").text_content()
    assert first == "2024-05-06 23:30:00"
    read = page.locator("#usage [role=application]")
    read.focus()
    page.keyboard.press("Home")
    assert "2024-05-06 23:30:00" in page.locator("#usage [role=status]").text_content()
    assert "c02" in page.locator("#racks").text_content() or "c01" in page.locator("#racks").text_content()


def test_tab_reaches_every_control_and_shows_where_it_is(opened):
    page = opened("example")
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name, outline = page.evaluate("""() => { const node = document.activeElement;
          const shown = node.type === "radio" ? node.nextElementSibling : node;
          const name = node.ariaLabel || node.labels?.[0]?.textContent || node.textContent || node.id;
          return [node.tagName + " " + name.slice(0, 40),
            getComputedStyle(shown).outlineStyle + getComputedStyle(shown.parentElement).outlineStyle]; }""")
        if name.startswith("BODY"):
            break
        reached.append(name)
        assert "solid" in outline or "auto" in outline, name
    text = "\n".join(reached)
    for control in (
        "Skip to the results",
        "theme",
        "Summary",
        "Histogram",
        "Whole run",
        "Play",
        "Time",
        "CANVAS",
        "SUMMARY",
    ):
        assert control in text, control
    assert reached[0].startswith("A Skip")


def test_the_slider_and_the_racks_by_keyboard(opened):
    page = opened("example")
    slider = page.get_by_role("slider", name="Time")
    whole = picture(page)
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext").startswith("interval 2 of 200: 15.7 us to 31.3 us")
    assert page.get_by_role("radio", name="At a time").is_checked()
    assert picture(page) != whole
    page.keyboard.press("End")
    assert slider.get_attribute("aria-valuetext").startswith("interval 200 of 200")
    racks = page.locator("#racks canvas").first
    assert "of 40 units busy" in racks.get_attribute("aria-label")
    racks.focus()
    page.keyboard.press("ArrowUp")
    spoken = page.locator("#racks > [role=status]")
    assert re.match(r"unit 1, CPU_INTEL, rack 0, shelf 1: [\d.]+%, 3\.12 ms to 3\.13 ms", spoken.text_content())
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert spoken.text_content().startswith("unit 0,")
    assert page.locator("#racks h3").text_content() == "unit 0, CPU_INTEL, rack 0, shelf 0"


def test_play_and_pause_by_keyboard(opened):
    page = opened("example")
    page.get_by_role("button", name="Play").focus()
    page.keyboard.press("Enter")
    expect = pytest.importorskip("playwright.sync_api").expect
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", re.compile("^interval [3-9] of"))
    page.keyboard.press("Enter")
    assert page.get_by_role("button", name="Play").is_visible()
    stopped = page.get_by_role("slider").input_value()
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.get_by_role("slider").input_value() == stopped


def test_the_value_of_a_unit_is_that_of_the_tables(opened, two_racks):
    from vinesim.formats.results.parquet import read_table

    units = read_table(two_racks / "units.parquet")
    page = opened("two_racks")
    unfold(page.locator("#racks details"))
    rows = page.locator("#racks details tbody tr").all_text_contents()
    assert len(rows) == 40
    for unit in (0, 13, 39):
        where = f"rack {units['rack'][unit]}, shelf {units['shelf'][unit]}"
        assert where in rows[unit]
        assert rows[unit].endswith(f"{100 * units['utilization'][unit]:.1f}%")


def test_pointing_at_a_cell_tells_its_unit(opened):
    page = opened("two_racks")
    racks = page.locator("#racks canvas").first
    box = racks.bounding_box()
    corner = {"x": box["width"] - 6, "y": box["height"] - 6}
    racks.hover(position=corner)
    assert page.locator("#racks .under").text_content().startswith("unit 21, GPU, rack 1, shelf 0: ")
    racks.click(position=corner)
    assert page.locator("#racks h3").text_content() == "unit 21, GPU, rack 1, shelf 0"


def test_the_latency_chart_changes_its_shape_and_is_read_by_keyboard(opened):
    page = opened("two_racks")
    pictures = {picture(page, "#latency canvas")}
    for name in ("Cumulative", "Tail", "Histogram"):
        choose(page.get_by_role("radio", name=name))
        for axis in ("Log", "Linear"):
            choose(page.get_by_role("radio", name=axis))
            pictures.add(picture(page, "#latency canvas"))
    assert len(pictures) == 6
    page.locator("#latency").get_by_label("Time", exact=True).select_option("Waiting time of tasks")
    page.locator("#latency .chart").focus()
    page.keyboard.press("ArrowRight")
    assert re.match(r"from .*: all [\d,]+, ", page.locator("#latency [role=status]").text_content())
    page.get_by_role("button", name="all").first.click()
    page.keyboard.press("Tab")
    assert page.locator("#latency button[aria-pressed=false]").count() == 1


@pytest.mark.parametrize(("shape", "at_1_us"), [("Cumulative", "96%"), ("Tail", "4%")])
def test_what_takes_no_time_counts_on_a_logarithmic_axis_too(opened, shape, at_1_us):
    """0 has no place on that axis; the share of a type that takes no time is that with which its curve begins."""
    page = opened("mostly_at_once")
    page.locator("#latency").get_by_label("Time", exact=True).select_option("Waiting time of tasks")
    choose(page.get_by_role("radio", name=shape))
    choose(page.get_by_role("radio", name="Log"))
    page.locator("#latency .chart").focus()
    reported = {}
    for key in ["ArrowLeft"] * 3 + ["ArrowRight"] * 3:
        page.keyboard.press(key)
        when, _, shares = page.locator("#latency [role=status]").text_content().partition(": ")
        reported[when] = dict(share.split(" ") for share in shares.split(", ") if share)
    assert reported["1.00 us"]["A"] == at_1_us
    assert (
        reported["10.0 us"]["all"] == {"Cumulative": "100%", "Tail": "1%"}[shape]
    )  # 0 has no place there: the last step


def test_the_theme_button_and_print(opened):
    page = opened("example", "dark")
    color = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(color)
    page.get_by_role("button", name="Light theme").click()
    light = page.evaluate(color)
    assert light != dark
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate(color) == dark
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(color) == light
    page.emulate_media(media="print")
    assert not page.locator(".controls").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(color) == dark


def test_without_javascript_the_numbers_are_there(opened):
    page = opened("example", java_script_enabled=False)
    assert "54.4 us" in page.locator("#summary").text_content()
    assert "45" not in page.locator("noscript").all_text_contents()


def test_curves_of_a_sweep(opened, sweep):
    page = opened("sweep")
    curves = page.locator("#curves")
    unfold(curves.locator("details"))
    table = curves.locator("details table")
    assert table.locator("thead th").all_text_contents() == ["mean time between jobs, us", "high", "flat"]
    assert table.locator("tbody tr").count() == 4
    assert "±" in table.locator("tbody td").first.text_content()
    before = table.text_content()
    curves.get_by_label("deployment", exact=True).select_option("many")
    assert table.text_content() != before
    curves.get_by_label("One line for each").select_option("deployment")
    assert table.locator("thead th").all_text_contents() == ["mean time between jobs, us", "</script>few", "many"]
    curves.get_by_label("Across").select_option("policy")
    assert table.locator("tbody th").all_text_contents() == ["high", "flat"]
    assert page.evaluate("document.activeElement.tagName") == "SELECT"
    curves.get_by_label("Number").select_option("utilisation, GPU")
    assert "%" in table.locator("tbody td").first.text_content()
    choose(curves.locator("fieldset", has_text="Vertical axis").get_by_label("Log"))
    assert curves.locator("fieldset", has_text="Horizontal axis").is_hidden()


def test_a_page_of_shared_units_tells_both_measures(opened, shared):
    from vinesim.formats.results.parquet import read_table

    units = read_table(shared / "units.parquet")
    page = opened("shared")
    assert "Allocated" in page.locator("#summary").text_content()
    unfold(page.locator("#racks details"))
    head = page.locator("#racks details thead th").all_text_contents()
    assert head == ["unit", "whole run, allocated", "whole run, active"]
    row = page.locator("#racks details tbody tr").first.text_content()
    assert row.endswith(f"{100 * units['utilization'][0]:.1f}%{100 * units['active'][0]:.1f}%")
    assert page.locator("#racks .under").text_content().endswith("% active")
    pictures = {picture(page), picture(page, "#usage canvas")}
    for part, measure in (("racks", "Active"), ("usage", "Active")):
        choose(page.locator(f"#{part}").get_by_role("radio", name=measure))
    pictures |= {picture(page), picture(page, "#usage canvas")}
    assert len(pictures) == 4
    assert "units active on average" in page.locator("#racks canvas").first.get_attribute("aria-label")
    unfold(page.locator("#usage details"))
    assert page.locator("#usage details thead th").all_text_contents()[2:4] == ["all, allocated", "all, active"]


def test_a_page_of_whole_units_has_no_choice_of_a_measure(opened):
    page = opened("two_racks")
    assert page.get_by_role("radio", name="Allocated").count() == 0
