"""`index.html` in a browser, from disk and without a network: what people do with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from erlbench.experiment.study import Entry
from erlbench.reporting import build_report
from erlbench.reporting.options import ReportOptions
from tests.reporting.make_runs import learning_curve, make_run, make_tasks
from tests.reporting.make_studies import make_study

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "chromedriver")]
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
SECTION = "main > section.shown "


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with curves, timelines, a profile, and a text that would be a script if it were not escaped."""
    folder = tmp_path_factory.mktemp("report")
    for env in ("Ant-v5", "Hopper-v5"):
        for k, name in enumerate(("cem-rl", "aes-rl", "td3")):
            for seed in range(6):
                tasks = make_tasks(seed, "asynchronous", 3, 2) if seed == 0 else ()
                failed = (env, name, seed) == ("Hopper-v5", "td3", 4)
                make_run(
                    folder / "results", env, name, seed, learning_curve(seed + 9 * k, 1000 - 300 * k, 12), tasks=tasks,
                    steps=[5000 * i for i in range(12)], status="failed" if failed else "done",
                    message=f"</script><script>alert(1)</script> {'a_long_path/' * 9}" if failed else "",
                )  # fmt: skip
    return build_report(
        [folder / "results"], folder / "report", {}, None, lambda _: None, ReportOptions(baseline="td3")
    )


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
    page.get(report.as_uri() + "#all-runs")
    place = chart(page, "all-runs-curves-Ant-v5-55000")
    assert page.execute_script("return arguments[0].layout.xaxis.title.text", place) == "Training steps"
    assert page.execute_script("return arguments[0].data.length", place) == 12  # mean and band: three, and others' TD3
    last = page.execute_script("return arguments[0].data[2].x.at(-1)", place)
    from selenium.webdriver.support.select import Select

    Select(find(page, '#all-runs select[name="x"]')[0]).select_by_visible_text("Training time")
    assert page.execute_script("return arguments[0].layout.xaxis.title.text", place) == "Training time (minutes)"
    assert page.execute_script("return arguments[0].data[2].x.at(-1)", place) == pytest.approx(
        last * 0.01 / 60, rel=1e-3
    )
    Select(find(page, '#all-runs select[name="x"]')[0]).select_by_visible_text("All simulator steps")
    assert (
        page.execute_script("return arguments[0].data[2].x.at(-1)", place) == 55000 + 24000
    )  # training and evaluations
    Select(find(page, '#all-runs select[name="band"]')[0]).select_by_value("none")
    assert page.execute_script("return arguments[0].data.length", place) == 3
    find(page, '#all-runs input[name="single"]')[0].click()
    assert page.execute_script("return arguments[0].data.length", place) == 21
    Select(find(page, '#all-runs select[name="x"]')[0]).select_by_visible_text("each figure's own axis")
    assert page.execute_script("return arguments[0].layout.xaxis.title.text", place) == "Training steps"


def test_values_and_definitions_on_hover(page, report):
    from selenium.webdriver import ActionChains

    page.get(report.as_uri() + "#all-runs-metrics")
    place = chart(page, "all-runs-curves-Ant-v5-55000")
    ActionChains(page).move_to_element(place).perform()
    words = wait(lambda: " ".join(text.text for text in find(page, f"#{place.get_attribute('id')} .hoverlayer text")))
    assert "cem-rl (6 runs) : " in words
    (button,) = [one for one in find(page, "#all-runs-metrics button.sort") if one.text == "Max of average"]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    ActionChains(page).move_to_element(button).perform()
    assert wait(lambda: find(page, "#tip")[0].text) == "highest point of the average over runs."


def test_timelines_and_profiles_are_drawn(page, report):
    page.get(report.as_uri() + "#all-runs-timeline-Ant-v5-55000")
    timeline = chart(page, "all-runs-timeline-Ant-v5-55000")
    assert {trace["type"] for trace in page.execute_script("return arguments[0].data", timeline)} == {"bar"}
    assert page.execute_script("return getComputedStyle(arguments[0]).minHeight", timeline) == "0px"  # it may be low
    assert len(find(page, "#all-runs-timeline-Ant-v5-55000-chart .bars path")) > 50
    page.get(report.as_uri() + "#all-runs-profile")
    profile = chart(page, "all-runs-profile")
    (td3,) = [
        trace for trace in page.execute_script("return arguments[0].data", profile) if trace["name"] == "td3 (11 runs)"
    ]
    assert (td3["y"][0], td3["y"][-1]) == (1, 0)


def test_a_chart_has_its_values_as_a_table(page, report):
    page.get(report.as_uri() + "#all-runs")
    name = "all-runs-curves-Ant-v5-55000"
    chart(page, name)
    find(page, f"#{name} details.values summary")[0].click()
    rows = wait(lambda: find(page, f"#{name} details.values tr"))
    assert rows[0].text == "Algorithm Training steps Evaluation return Band, low Band, high"
    assert len(rows) > 18
    assert page.execute_script("return arguments[0].getAttribute('role')", find(page, f"#{name}-chart")[0]) == "img"


def test_other_peoples_runs_stand_behind_ours_over_steps_only(page, report, tmp_path):
    for seed in range(2):
        steps = [0, 50_000, 100_000]
        make_run(tmp_path / "in", "HalfCheetah-v5", "td3", seed, [0, 3000, 4000 + seed], steps=steps)
    index = build_report([tmp_path / "in"], tmp_path / "out", {}, None, lambda _: None)
    page.get(index.as_uri() + "#all-runs")
    place = chart(page, "all-runs-curves-HalfCheetah-v5-100000")
    names = page.execute_script("return arguments[0].data.map(one => one.name).filter(Boolean)", place)
    assert names[0] == "td3 (2 runs)"
    assert any(name.startswith("TD3, ") for name in names[1:])
    switch = "arguments[0].value = 'time'; arguments[0].dispatchEvent(new Event('change'))"
    page.execute_script(switch, find(page, '#all-runs select[name="x"]')[0])
    assert page.execute_script("return arguments[0].data.map(one => one.name).filter(Boolean)", place) == names[:1]


def test_published_means_go_with_their_curves(page, tmp_path):
    for name in ("cem-rl", "sac"):
        make_run(tmp_path / "in", "HalfCheetah-v5", name, 0, [0, 9000], steps=[0, 10**6], studies=["study"])
    entries = (Entry("cem-rl", "cem-rl", published="CEM-RL"), Entry("sac", "sac", published="SAC"))
    study = make_study(entries=entries, not_run=())
    index = build_report([tmp_path / "in"], tmp_path / "out", {"study": study}, "paper", lambda _: None)
    page.get(index.as_uri() + "#study")
    place = chart(page, "study-curves-HalfCheetah-v5")
    heights = "return arguments[0].layout.shapes.map(one => one.y0)"
    assert page.execute_script(heights, place) == [10725, 11504]


def test_one_band_for_a_figure_and_the_finished_run_is_thick(page, tmp_path):
    """A curve of six runs has the range, too, beside one of fewer; a failed run is none's mean."""
    for seed in range(6):
        make_run(tmp_path / "in", "Foo-v5", "each", seed, [0, 500 + 50 * seed, 1000 + 90 * seed**2])
    make_run(tmp_path / "in", "Foo-v5", "one", 0, [0, 5, -999], status="failed")
    make_run(tmp_path / "in", "Foo-v5", "one", 1, [0, 500, 700])
    index = build_report([tmp_path / "in"], tmp_path / "out", {}, None, lambda _: None)
    page.get(index.as_uri() + "#all-runs")
    place = chart(page, "all-runs-curves-Foo-v5-2000")
    ends = "return arguments[0].data.map(one => [one.name ?? '', one.line.width, one.y.at(-1)])"
    assert page.execute_script(ends, place) == [
        ["", 0, 1000], ["", 0, 3250], ["each (6 runs)", 2.25, 1825],
        ["one, seed 0 (failed)", 0.75, -999], ["one (2 runs, 1 unfinished)", 2.25, 700],
    ]  # fmt: skip
    switch = "arguments[0].value = 'interval'; arguments[0].dispatchEvent(new Event('change'))"
    page.execute_script(switch, find(page, '#all-runs select[name="band"]')[0])
    low, high = (end for _, _, end in page.execute_script(ends, place)[:2])
    assert 1000 < low < 1825 < high < 3250


def test_dark_and_a_phone(page, report):
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    )
    page.get(report.as_uri() + "#all-runs")
    place = chart(page, "all-runs-curves-Ant-v5-55000")
    assert page.execute_script("return document.documentElement.scrollWidth") <= 390
    assert place.size["width"] <= 390
    title, legend = (find(place, part)[0].rect for part in (".xtitle", ".legend"))
    assert title["y"] + title["height"] <= legend["y"] + 1  # once they overlapped where a legend has many rows
    page.get(report.as_uri() + "#overview")
    assert page.execute_script("return document.documentElement.scrollWidth") <= 390
    before = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    find(page, "#theme")[0].click()
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") != before
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


def test_a_message_is_a_text(page):
    assert "<script>alert(1)" in page.execute_script("return document.querySelector('#overview').textContent")


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of two seeds, with a name that is wider than a telephone."""
    folder = tmp_path_factory.mktemp("narrow")
    for name in ("td3", "cem@a-preset-with-a-name-that-somebody-chose-without-a-telephone"):
        for seed in range(2):
            steps = [5000 * i for i in range(12)]
            make_run(folder / "results", "Ant-v5", name, seed, learning_curve(seed, 1000, 12), steps=steps)
    return build_report([folder / "results"], folder / "report", {}, None, lambda _: None, ReportOptions())


def test_no_name_of_a_legend_is_cut_off_on_a_telephone(browser, narrow):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        browser.get(narrow.as_uri() + "#all-runs")
        place = chart(browser, "all-runs-curves-Ant-v5-55000")
        wait(lambda: find(browser, ".legendtext"))
        ends = "return [...arguments[0].querySelectorAll('.legendtext')].map(e => e.getBoundingClientRect().right)"
        assert max(browser.execute_script(ends, place)) <= 390
        texts = [element.text for element in find(browser, ".legendtext")]
        assert any("telephone" in text for text in texts)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


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
