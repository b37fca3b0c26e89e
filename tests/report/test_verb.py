"""The verb: where a report goes, in which format, and what is refused."""

from __future__ import annotations

import pytest

from tests.cli.conftest import harness, here  # noqa: F401 - fixtures


@pytest.fixture
def call(harness, store):  # noqa: F811
    return lambda *arguments: harness("report", "--store", store.path, *arguments)


@pytest.mark.parametrize(
    ("name", "more", "begins"),
    [
        ("r.html", (), "<!doctype html>"), ("r.HTM", (), "<!doctype html>"),
        ("r.md", (), "# Guard report"), ("r.txt", ("--format", "md"), "# Guard report"),
        ("r.md", ("--format", "html"), "<!doctype html>"),
    ],
)  # fmt: skip
def test_a_file_in_the_format_of_its_ending(call, here, name, more, begins):  # noqa: F811
    done = call("-o", name, *more)
    assert done.code == 0
    assert (here / name).read_text("utf-8").lstrip().startswith(begins)
    assert done.out.startswith(f"{name}: Guard report: run sample, ")
    assert [path.name for path in here.iterdir()] == [name]


def test_without_a_file_it_is_markdown_on_standard_output(call, texts):
    assert call().out == texts["md"]


def test_json_says_where_it_is(call):
    (line,) = call("-o", "r.md", "--json").lines
    assert line.keys() == {"output", "format", "bytes"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-o", "r.pdf"), "--format"), (("--format", "pdf"), "html"), (("--json",), "--output"),
        (("-o", "no/r.md"), "does not exist"), (("-o", ".", "--format", "md"), "is a folder"),
        (("--run", "none"), "none"), (("--base", "none"), "BASE"),
    ],
)  # fmt: skip
def test_refusals(call, arguments, says):
    assert says in call(*arguments).refusal()
