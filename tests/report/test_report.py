"""What a report says: the figures of the run, the same in both formats."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness import figures
from harness.errors import HarnessError
from harness.figures import Chosen
from harness.files import bundled_scenarios
from harness.preset import load_presets
from harness.report import render, report
from harness.report.blocks import count, of, score, share, signed, usd
from harness.run import run
from harness.store.database import Store

SECTIONS = ["Summary", "What ends the loops", "Presets compared", "Where presets part",
            "Tuning evidence", "Episodes to look at", "Method and caveats"]  # fmt: skip


def words(found, name):
    (section,) = (one for one in found.sections if one.name == name)
    return ["".join(sentence) for sentence in section.sentences]


def plain(text):
    """A document as its reader sees it."""
    return html.unescape(re.sub(r"<[^>]+>", "", text))


def test_sections_are_in_order(found):
    assert [section.title for section in found.sections] == SECTIONS


def test_the_summary_says_what_the_figures_say(store, found):
    chosen = Chosen(runs=("sample",))
    totals = figures.totals(store, chosen)
    said = words(found, "summary")
    n = int(totals["episodes"].sum())
    assert said[0] == f"{n} episodes: {n // 3} scenarios under 3 presets."
    assert said[1].startswith("reflection is the cheapest preset that loses no quality here: ")
    acting = figures.exits(store, Chosen(runs=("sample",), presets=("balanced", "reflection")))
    decided = acting[acting["exit_group"] != "undecided"]
    assert said[2].startswith(
        f"Of {int(acting['episodes'].sum())} episodes that a preset could end, "
        f"{int(decided['episodes'].sum())} were decided"
    )
    assert f"{int(totals['needs_human'].sum())} of {n} episodes need a human" in said[4]
    some, everything = figures.differing(store, chosen)
    assert said[5].startswith(f"Presets end {some} of {everything} scenarios differently")
    assert said[6].startswith(f"{int(totals['exact'].sum())} of {n} episodes are exact")


def test_both_formats_hold_the_same_numbers(found, texts):
    shown = {form: plain(text) for form, text in texts.items()}
    for section in found.sections:
        tables = [picture.table for picture in section.pictures]
        tables += [table for _, table in section.tables]
        for table in tables:
            for row in table.rows[:40]:
                for cell in row:
                    assert cell in shown["html"]
                    assert cell in shown["md"]
        for sentence in section.sentences:
            assert "".join(sentence) in shown["html"]
            assert "".join(sentence) in shown["md"]


def test_the_page_stands_alone(texts):
    page = texts["html"]
    assert "<script" not in page
    assert re.findall(r"https?:", page) == []
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    assert page.count("<svg") >= 8


def test_a_report_fits_a_comment(texts):
    assert len(texts["md"]) < 65_536


def test_the_bytes_do_not_hang_on_the_process(store, texts):
    code = (
        "import sys; from harness.report import render, report; "
        "from harness.store.database import Store; "
        "sys.stdout.write(render(report(Store(sys.argv[1])), 'html'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, store.path], check=True, capture_output=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert done.stdout.decode("utf-8") == texts["html"]


def test_a_base_shows_what_changed(tmp_path):
    store = Store(tmp_path / "two.duckdb")
    before = tmp_path / "mine.toml"
    files = [bundled_scenarios() / "reflection"]
    text = 'schema = "harness/preset@1"\n[guards]\nmax_rounds = {}\n'
    for name, most in (("before", 4), ("after", 1)):
        before.write_text(text.format(most))
        run(files, load_presets([str(before)]), store, run_id=name)
    found = report(store, "after", "before")
    assert [s.title for s in found.sections][3] == "Scenarios that changed"
    assert words(found, "summary")[1].startswith("Against before: regression: ")
    (section,) = (one for one in found.sections if one.name == "changes")
    changes = dict(section.tables)["Changes, the weightiest first"]
    assert changes.names == ("", "scenario", "preset", "what", "base", "now")
    assert changes.rows[0][0] == "worse"
    for form in ("html", "md"):
        assert "Scenarios that changed" in render(found, form)
    assert "cannot be shown" in words(found, "tuning")[-1]


@pytest.mark.parametrize(
    ("run_id", "base", "says"), [("none", None, "run"), (None, "none", "BASE")]
)
def test_what_is_not_there_is_refused_in_one_line(store, run_id, base, says):
    with pytest.raises(HarnessError, match=says) as caught:
        report(store, run_id, base)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_the_bundled_run_is_small(tmp_path):
    store = Store(tmp_path / "bundled.duckdb")
    names = ["balanced", "cost", "engine", "fast", "observe", "reflection", "strict"]
    run([bundled_scenarios()], load_presets(names), store, run_id="bundled")
    found = report(store)
    assert len(render(found, "html").encode()) < 3_000_000
    assert len(render(found, "md")) < 65_536


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (count(1234), "1,234"), (count(None), "?"), (count(float("nan")), "?"),
        (share(0.1234), "12.3%"), (share(None), "?"),
        (score(0.5), "0.5"), (score(2.0), "2"), (score(-0.0001), "0"), (score(None), "?"),
        (usd(0.0123), "$0.0123"), (usd(1.5), "$1.50"), (usd(0), "$0.00"), (usd(None), "?"),
        (usd(1.5, 2), "≥ $1.50"), (usd(-0.02), "-$0.0200"), (usd(0.0000056), "$0.0000056"),
        (signed(0.5, score), "+0.5"), (signed(-0.5, score), "-0.5"), (signed(0, score), "0"),
        (of(3, 9), "3 of 9"),
    ],
)  # fmt: skip
def test_numbers_in_words(made, expected):
    assert made == expected
