"""`index.html` in a browser, from disk and without a network: what people do with it."""

import time

import pytest

from tests.reporting.compare import write_report
from tests.reporting.make_runs import make_run, make_tasks

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "chromedriver")]
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
STEPS = [5000 * i for i in range(12)]
CURVES = "all-runs-curves-Ant-v5-55000"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A page with curves, timelines, and a failed run."""
    results = tmp_path_factory.mktemp("report") / "results"
    for env in ("Ant-v5", "Hopper-v5"):
        for k, name in enumerate(("cem-rl", "aes-rl", "td3")):
            for seed in range(6):
                status = "failed" if (env, name, seed) == ("Hopper-v5", "td3", 4) else "done"
                tasks = make_tasks(3, 60) if seed == 0 else ()
                returns = [(100 - 30 * k) * i * (1 + seed / 10) for i in range(12)]
                make_run(results, env, name, seed, returns, steps=STEPS, tasks=tasks, status=status)
    return write_report(results, baseline="td3") / "index.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, "--window-size=1280,900", f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser, report):
    """The page at its overview; whatever a test does, nothing may fail in it and nothing be fetched."""
    browser.get("about:blank")
    browser.get(report.as_uri() + "#overview")
    yield browser
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').map(one => one.name)") == []


def wait(condition):
    """What the condition gives as soon as it is true; fails after 20 seconds."""
    deadline = time.monotonic() + 20
    while not (value := condition()):
        assert time.monotonic() < deadline, "the page does not do it"
        time.sleep(0.05)
    return value


def find(page, selector):
    return list(page.find_elements("css selector", selector))


def column(page, table, index):
    return [cell.text for cell in find(page, f"#{table} tbody tr:not([hidden]) > :nth-child({index})")]


def chart(page, name):
    """The chart once it is drawn."""
    place = find(page, f"#{name}-chart")[0]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", place)
    wait(lambda: page.execute_script("return arguments[0].data !== undefined", place))
    return place


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


def test_all_charts_are_drawn_for_paper(page):
    undrawn = "return [...document.querySelectorAll('.chart')].filter((one) => !one.data).length"
    assert page.execute_script(undrawn) > 0
    page.execute_cdp_cmd("Page.printToPDF", {})
    assert page.execute_script(undrawn) == 0


@pytest.mark.parametrize("section", ["overview", "all-runs"])
def test_a_screen_reader_finds_a_name_for_all_that_it_meets(page, report, section):
    """By the tree that Chromium gives to screen readers."""
    page.get(f"{report.as_uri()}#{section}")
    nodes = page.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named_roles = [
        (node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]
    ]
    named = {"button", "combobox", "checkbox", "searchbox", "textbox", "link", "image", "img"}
    assert [role for role, name in named_roles if role in named and not name] == []
    roles = {role for role, _ in named_roles}
    assert {"heading", "navigation", "main", "table", "columnheader", "rowheader", "link"} <= roles
    assert ("searchbox" in roles) == (section == "all-runs")  # the tables of the overview have a few rows
    ids = page.execute_script("return [...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))
