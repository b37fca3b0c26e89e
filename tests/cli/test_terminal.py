"""Numbers in words, text made inert, widths."""

from __future__ import annotations

import json

import pytest

from harness.cli import terminal


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (terminal.number(None), "?"),
        (terminal.number(0.5), "0.5"),
        (terminal.number(0.12349), "0.123"),
        (terminal.number(3.0), "3"),
        (terminal.number(12345.0), "12,345"),
        (terminal.count(None), "?"),
        (terminal.count(0), "0"),
        (terminal.count(999_999), "999,999"),
        (terminal.count(1_234_567), "1.23M"),
        (terminal.dollars(None), "?"),
        (terminal.dollars(0), "$0.00"),
        (terminal.dollars(10**12), "$1.00"),
        (terminal.dollars(1_500_000_000), "$0.0015"),
        (terminal.seconds(None), "?"),
        (terminal.seconds(1980), "2.0s"),
        (terminal.styled("spin", "stuck"), "[red]spin[/]"),
        (terminal.styled("spin[x]", "no group"), "[default]spin\\[x][/]"),
        (terminal.plain("a\x1b[31m[b]\x9b\u202e"), "a\\u001b[31m\\[b]\\u009b\\u202e"),
        (terminal.plain("a  b\nc", most=4), "a b…"),
        (terminal.plain("中" * 5, most=3), "中中…"),
        (terminal.plain("\U0001f600 é ü 中文"), "\U0001f600 é ü 中文"),
        (terminal.inert("\ud800\ufeff\u2028\x00\r"), "\\ud800\\ufeff\\u2028\\u0000\\u000d"),
    ],
)
def test_words(made: str, words: str) -> None:
    assert made == words


@pytest.mark.parametrize(
    ("columns", "width"), [("", 80), ("120", 120), ("0", 80), ("-5", 80), ("x", 80), ("1", 40)]
)
def test_width(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal.out().width == width


def test_records_line_up() -> None:
    shown = terminal.records(["a", "long"], [["1", "2"], ["3", "4"]])
    assert shown == ("[bold]a[/]     1\n[bold]long[/]  2\n\n[bold]a[/]     3\n[bold]long[/]  4")


def test_json_line(capsys: pytest.CaptureFixture[str]) -> None:
    record = {"a": "\x7f\x9b\u2028\ud800\U000e0041 é\n", "b": float("nan"), "c": (1, float("inf"))}
    terminal.json_line(record)
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert line[:-1].isprintable()
    assert json.loads(line) == {"a": record["a"], "b": None, "c": [1, "Infinity"]}
