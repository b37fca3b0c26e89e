"""A new user walks through the dashboard in a real browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest

from harness.files import bundled_scenarios
from harness.store.database import Store
from tests.dashboard.conftest import PAGES, Visit, serving

pytestmark = pytest.mark.browser
NAMES = {
    "": "Overview", "compare": "Compare presets", "episode": "Episode", "tune": "Tune",
    "guards": "Guards", "data": "Data",
}  # fmt: skip


@pytest.fixture(scope="module")
def address(ran: Path, browser):
    with serving(ran) as found:
        yield found


def _query(visit: Visit) -> dict[str, list[str]]:
    return parse_qs(urlparse(visit.page.url).query)


def _choose(visit: Visit, label: str, option: str) -> None:
    """Choose in one of the filters, by keyboard."""
    box = visit.page.get_by_test_id("stSidebar").get_by_label(label, exact=False).first
    box.click()
    visit.page.keyboard.type(option)
    visit.page.keyboard.press("Enter")
    visit.page.keyboard.press("Escape")
    visit.settled()


def test_walk_every_page_by_its_links(visit, address: str) -> None:
    seen = visit(address)
    page = seen.go()
    for name, words in NAMES.items():
        page.get_by_role("link", name=words, exact=True).click()
        page.wait_for_url(f"**/{name}*")
        seen.settled()
        assert page.locator("h1").inner_text().endswith("?")


def test_a_filter_is_in_the_address_and_can_be_shared(visit, address: str) -> None:
    seen = visit(address)
    page = seen.go()
    _choose(seen, "Preset", "reflection")
    assert _query(seen)["presets"] == ["reflection"]
    shown = page.get_by_test_id("stMetricValue").first.inner_text()
    page.get_by_role("link", name="Guards", exact=True).click()
    page.wait_for_url("**/guards*")
    seen.settled()
    assert _query(seen)["presets"] == ["reflection"]

    other = visit(address)
    other.go("?presets=reflection")
    assert other.page.get_by_test_id("stMetricValue").first.inner_text() == shown
    everything = visit(address)
    everything.go()
    assert everything.page.get_by_test_id("stMetricValue").first.inner_text() != shown


def test_from_the_matrix_to_an_episode(visit, address: str) -> None:
    seen = visit(address)
    page = seen.go("compare?runs=first")
    grid = page.get_by_test_id("stDataFrame").first
    grid.scroll_into_view_if_needed()
    box = grid.bounding_box()
    # The first preset's cell in the first row.
    page.mouse.click(box["x"] + box["width"] * 0.4, box["y"] + 35 + 17)
    page.wait_for_url("**/episode*", timeout=120_000)
    seen.settled()
    query = _query(seen)
    assert query["runs"] == ["first"]
    assert page.locator("h1").inner_text() == "Why did this one stop?"
    again = visit(address)
    again.go(f"episode?episode={query['episode'][0]}")
    first = page.get_by_test_id("stText").first.inner_text()
    assert again.page.get_by_test_id("stText").first.inner_text() == first


def test_a_slider_moves_the_distribution(visit, address: str) -> None:
    seen = visit(address)
    page = seen.go("tune?start=reflection")
    before = page.get_by_test_id("stMetricValue").first.inner_text()
    slider = page.get_by_role("slider", name="max_rounds")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(500)
    seen.settled()
    assert page.get_by_test_id("stMetricValue").first.inner_text() != before
    # The address has it: opened anew, the slider stands where it was left.
    moved = page.get_by_test_id("stMetricValue").first.inner_text()
    again = visit(address)
    again.go(page.url.removeprefix(f"{address}/"))
    assert again.page.get_by_test_id("stMetricValue").first.inner_text() == moved


def test_narrow_screens_show_everything(visit, address: str) -> None:
    seen = visit(address, viewport={"width": 480, "height": 900}, color_scheme="dark")
    for name in ("", "episode", "tune"):
        page = seen.go(name)
        wider = "() => { const m = document.querySelector('[data-testid=stMain]');"
        wider += " return m.scrollWidth - m.clientWidth }"
        assert page.evaluate(wider) <= 1, name


def test_a_run_writes_while_pages_are_open(visit, ran: Path, tmp_path: Path) -> None:
    store = tmp_path / "busy.duckdb"
    many = bundled_scenarios() / "generated"
    store.write_bytes(ran.read_bytes())
    with serving(store) as address:
        seen = visit(address)
        page = seen.go()
        shown = page.get_by_test_id("stMetricValue").first.inner_text()
        words = [sys.executable, "-m", "harness.cli", "run", str(many), "--store", str(store),
                 "--run", "now", "-p", "cost", "-p", "observe"]  # fmt: skip
        writer = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while writer.poll() is None:
            for name in ("", "compare", "guards", "data"):
                seen.go(name)
        _, complaints = writer.communicate(timeout=60)
        assert writer.returncode == 0, complaints
        seen.go()
        page.wait_for_timeout(1000)
        seen.settled()
        # The newest run is shown without anybody asking for it, and no row was lost.
        assert page.get_by_test_id("stMetricValue").first.inner_text() != shown
        seen.close()
    (row,) = Store(store).rows(
        "SELECT count(*) AS n, count(DISTINCT scenario) AS s FROM episodes WHERE run_id = 'now'"
    )
    assert row["n"] == 2 * row["s"]
    assert f"{row['n']} episodes" in complaints


def test_hostile_texts_stay_texts(visit, hostile: Path) -> None:
    with serving(hostile) as address:
        seen = visit(address)
        for name in PAGES:
            page = seen.go(name)
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
            page.mouse.wheel(0, 20_000)
            page.wait_for_timeout(300)
            # Nothing recorded became an element.
            inside = page.locator('[data-testid="stMain"]')
            assert inside.locator("script, iframe, img[src='x'], svg[onload], style").count() == 0
            assert page.locator("a[href^='javascript']").count() == 0
            assert page.locator("[onerror], [onload]").count() == 0
            links = page.locator("a[href*='192.0.2.1']")
            assert links.count() == 0, links.first.evaluate("e => e.outerHTML")
        episode = Store(hostile).rows("SELECT episode_id FROM episodes WHERE observe")[0][
            "episode_id"
        ]
        page = seen.go(f"episode?episode={episode}")
        assert "<script>alert(1)</script>" in page.locator('[data-testid="stMain"]').inner_text()
        seen.close()
