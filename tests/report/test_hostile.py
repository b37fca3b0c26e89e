"""Recorded text never becomes markup, script, link or request, in any format."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from harness.report import render, report
from tests.report.hostile import ATTACKS, store_of

ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "main", "nav", "a", "section", "h1", "h2",
    "h3", "p", "ul", "li", "figure", "div", "details", "summary", "table", "thead", "tbody", "tr",
    "th", "td", "article", "pre", "bdi", "svg", "g", "path", "text", "rect", "line", "defs",
    "clippath", "tspan",
}  # fmt: skip


class Seen(HTMLParser):
    """Every element and attribute of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes.update((name, value or "") for name, value in attrs)

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    found = report(store_of(tmp_path_factory.mktemp("hostile")))
    return {"html": render(found, "html"), "md": render(found, "md")}


@pytest.fixture(scope="module")
def seen(texts):
    seen = Seen()
    seen.feed(texts["html"])
    return seen


def test_the_page_has_no_element_of_its_texts(seen):
    assert seen.elements <= ELEMENTS


def test_the_page_has_no_handler_and_no_link_outside(seen):
    assert [name for name, _ in seen.attributes if name.startswith("on")] == []
    links = [v for name, v in seen.attributes if name in ("href", "src", "xlink:href", "style")]
    assert [link for link in links if not link.startswith("#")] == []
    assert [value for name, value in seen.attributes if "url(" in value
            and not re.fullmatch(r"url\(#[\w-]+\)", value)] == []  # fmt: skip


def test_the_attacks_are_shown_as_text(seen):
    text = "".join(seen.text)
    assert "<script>window.hit=1;" in text
    assert "<img src=x onerror=" in text


@pytest.mark.parametrize("form", ["html", "md"])
def test_nothing_hidden_is_left_in(texts, form):
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", texts[form]) == []


@pytest.mark.parametrize("form", ["html", "md"])
def test_a_huge_text_is_folded(texts, form):
    assert len(texts[form]) < 1_000_000
    assert "x" * 5_000 not in texts[form]


def test_markdown_has_no_markup_of_its_texts(texts):
    left = re.sub(r"<code>[\w &#;./…-]*</code>", "", texts["md"])
    assert set(re.findall(r"</?[a-z]+", left)) == {"<details", "</details", "<summary", "</summary"}
    assert re.findall(r"\]\(|!\[|https?:|javascript:|@everyone", left) == []
    assert "# A heading" not in left


def test_a_browser_runs_no_script_and_asks_for_nothing(texts, tmp_path, browser):
    page_file = tmp_path / "report.html"
    page_file.write_text(texts["html"], "utf-8")
    page = browser.new_page()
    page.set_default_timeout(120_000)  # a busy machine is no failure
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(page_file.as_uri())
    page.wait_for_timeout(300)
    assert page.evaluate("typeof window.hit") == "undefined"
    assert page.evaluate("document.scripts.length + document.images.length") == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()
    assert asked == [page_file.as_uri()]
    assert said == []


def test_there_was_something_to_show():
    assert len(ATTACKS) == 10
