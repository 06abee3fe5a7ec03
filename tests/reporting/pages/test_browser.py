"""`index.html` in a browser, from disk and without a network: what people do with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reporting.compare import write_report
from tests.reporting.make_runs import learning_curve, make_run, make_tasks

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "chromedriver")]
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
STEPS = [5000 * i for i in range(12)]
CURVES = "all-runs-curves-Ant-v5-55000"
SECTION = "main > section.shown "


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with curves, timelines, a profile, and a failed run."""
    results = tmp_path_factory.mktemp("report") / "results"
    for env in ("Ant-v5", "Hopper-v5"):
        for k, name in enumerate(("cem-rl", "aes-rl", "td3")):
            for seed in range(6):
                status = "failed" if (env, name, seed) == ("Hopper-v5", "td3", 4) else "done"
                tasks = make_tasks(seed, "asynchronous", 3, 2) if seed == 0 else ()
                returns = learning_curve(seed + 9 * k, 1000 - 300 * k, 12)
                make_run(results, env, name, seed, returns, steps=STEPS, tasks=tasks, status=status)
    return write_report(results, baseline="td3") / "index.html"


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of two seeds, with a name that is wider than a telephone."""
    results = tmp_path_factory.mktemp("narrow") / "results"
    for name in ("td3", "cem@a-preset-with-a-name-that-somebody-chose-without-a-telephone"):
        for seed in range(2):
            make_run(results, "Ant-v5", name, seed, learning_curve(seed, 1000, 12), steps=STEPS)
    return write_report(results) / "index.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, "--window-size=1280,900", f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    """The page at its overview; whatever a test does, nothing may fail in it and nothing be fetched."""
    browser.get("about:blank")
    browser.get(report.as_uri() + "#overview")
    yield browser
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').map(one => one.name)") == []


def wait(condition: Callable[[], Any]) -> Any:
    """What the condition gives as soon as it is true; fails after 20 seconds."""
    deadline = time.monotonic() + 20
    while not (value := condition()):
        assert time.monotonic() < deadline, "the page does not do it"
        time.sleep(0.05)
    return value


def find(page: Any, selector: str) -> list[Any]:
    return list(page.find_elements("css selector", selector))


def column(page: Any, table: str, index: int) -> list[str]:
    return [cell.text for cell in find(page, f"#{table} tbody tr:not([hidden]) > :nth-child({index})")]


def chart(page: Any, name: str) -> Any:
    """The chart once it is drawn."""
    place = find(page, f"#{name}-chart")[0]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", place)
    wait(lambda: page.execute_script("return arguments[0].data !== undefined", place))
    return place


def test_the_matrix_leads_to_the_curves(page):
    matrix = find(page, SECTION + "section.table")[0]
    assert [head.text for head in matrix.find_elements("css selector", "thead th")] == [
        "Algorithm", "Ant-v5, 55k steps", "Hopper-v5, 55k steps",
    ]  # fmt: skip
    (failed,) = matrix.find_elements("css selector", "td.failed")
    assert failed.text.endswith("(5/6)")
    failed.find_element("css selector", "a").click()
    assert wait(lambda: find(page, "#all-runs.shown"))
    (figure,) = find(page, "#all-runs-curves-Hopper-v5-55000")
    assert page.execute_script("return arguments[0].getBoundingClientRect().top", figure) < 300


def test_sorting_and_filtering(page, report):
    page.get(report.as_uri() + "#all-runs")
    (head,) = [th for th in find(page, "#all-runs-scores th") if th.text.split("\n")[0] == "Mean"]
    assert head.get_attribute("aria-sort") == "none"
    head.find_element("css selector", "button").click()
    means = [float(text.replace(",", "")) for text in column(page, "all-runs-scores", 4)]
    assert means == sorted(means)
    assert head.get_attribute("aria-sort") == "ascending"
    head.find_element("css selector", "button").send_keys("\n")  # by the keyboard
    assert [float(text.replace(",", "")) for text in column(page, "all-runs-scores", 4)] == sorted(means, reverse=True)
    (field,) = find(page, "#all-runs-scores input")
    field.send_keys("hopper aes-rl")
    assert column(page, "all-runs-scores", 2) == ["aes-rl"]
    assert find(page, "#all-runs-scores .found")[0].text == "1 of 6 rows"


def test_axis_band_and_single_runs(page, report):
    from selenium.webdriver.support.select import Select

    page.get(report.as_uri() + "#all-runs")
    place = chart(page, CURVES)

    def choose(name, text):
        Select(find(page, f'#all-runs select[name="{name}"]')[0]).select_by_visible_text(text)

    def drawn():
        title, lines, last = "layout.xaxis.title.text", "data.length", "data[2].x.at(-1)"
        return page.execute_script(
            f"return [{', '.join(f'arguments[0].{part}' for part in (title, lines, last))}]", place
        )

    assert drawn() == ["Training steps", 12, 55_000]  # mean and band: three, and others' TD3, over steps only
    choose("x", "Training time")
    assert drawn() == ["Training time (minutes)", 9, pytest.approx(55_000 * 0.01 / 60, rel=1e-3)]
    choose("x", "All simulator steps")
    assert drawn()[2] == 55_000 + 24_000  # training and evaluations
    choose("band", "none")
    assert drawn()[1] == 3
    find(page, '#all-runs input[name="single"]')[0].click()
    assert drawn()[1] == 21
    choose("x", "each figure's own axis")
    assert drawn()[0] == "Training steps"


def test_timelines_and_profiles_are_drawn_and_charts_have_their_values_as_a_table(page, report):
    page.get(report.as_uri() + "#all-runs-timeline-Ant-v5-55000")
    timeline = chart(page, "all-runs-timeline-Ant-v5-55000")
    assert {trace["type"] for trace in page.execute_script("return arguments[0].data", timeline)} == {"bar"}
    assert len(find(page, "#all-runs-timeline-Ant-v5-55000-chart .bars path")) > 50
    page.get(report.as_uri() + "#all-runs-profile")
    traces = page.execute_script("return arguments[0].data", chart(page, "all-runs-profile"))
    (td3,) = [trace for trace in traces if trace["name"] == "td3 (11 runs)"]
    assert (td3["y"][0], td3["y"][-1]) == (1, 0)
    place = chart(page, CURVES)
    find(page, f"#{CURVES} details.values summary")[0].click()
    rows = wait(lambda: find(page, f"#{CURVES} details.values tr"))
    assert rows[0].text == "Algorithm Training steps Evaluation return Band, low Band, high"
    assert len(rows) > 18
    assert place.get_attribute("role") == "img"


def test_dark_and_a_phone(page, narrow):
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    )
    page.get(narrow.as_uri() + "#all-runs")
    place = chart(page, CURVES)
    wait(lambda: find(page, ".legendtext"))
    ends = "return [...arguments[0].querySelectorAll('.legendtext')].map(e => e.getBoundingClientRect().right)"
    assert max(page.execute_script(ends, place)) <= 390
    assert any("telephone" in element.text for element in find(page, ".legendtext"))
    title, legend = (find(place, part)[0].rect for part in (".xtitle", ".legend"))
    assert title["y"] + title["height"] <= legend["y"] + 1  # once they overlapped where a legend has many rows
    for section in ("#all-runs", "#overview"):
        page.get(narrow.as_uri() + section)
        assert page.execute_script("return document.documentElement.scrollWidth") <= 390
    background = "return getComputedStyle(document.body).backgroundColor"
    before = page.execute_script(background)
    find(page, "#theme")[0].click()
    assert page.execute_script(background) != before
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("section", ["overview", "all-runs"])
def test_a_screen_reader_finds_a_name_for_all_that_it_meets(page, report, section):
    """By the tree that Chromium gives to screen readers."""
    page.get(f"{report.as_uri()}#{section}")
    nodes = page.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    found = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
    named = {"button", "combobox", "checkbox", "searchbox", "textbox", "link", "image", "img"}
    assert [role for role, name in found if role in named and not name] == []
    roles = {role for role, _ in found}
    assert {"heading", "navigation", "main", "table", "columnheader", "rowheader", "link"} <= roles
    assert ("searchbox" in roles) == (section == "all-runs")  # the tables of the overview have a few rows
    ids = page.execute_script("return [...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))


def test_the_page_opens_with_curve_and_scores_and_folds_the_rest(browser, narrow):
    browser.get(narrow.as_uri())  # of one environment: no matrix comes first
    assert find(browser, "#all-runs.shown")
    folded = {one.get_attribute("id") for one in find(browser, SECTION + "details.part section.table")}
    assert {"all-runs-tests", "all-runs-metrics", "all-runs-times"} <= folded
    assert "all-runs-scores" not in folded
    (metrics,) = find(browser, "#all-runs-metrics")
    assert not metrics.find_element("css selector", "table").is_displayed()
    browser.get(narrow.as_uri() + "#all-runs-metrics")
    assert wait(lambda: metrics.find_element("css selector", "table").is_displayed())
    (curve,) = find(browser, SECTION + 'figure[data-kind="curves"]')
    assert curve.location["y"] < find(browser, "#all-runs-scores")[0].location["y"]
