"""Reading scenario files: what can be read, and the one line for what cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness import files
from harness.errors import ScenarioError
from harness.files import Raw, find, load, parse, read_raw

YAML = "schema: harness/scenario@1\nid: a/b\ngoal: Write.\nsteps:\n  - score: 0.5\n"
DATA: dict[str, Any] = {
    "schema": "harness/scenario@1", "id": "a/b", "goal": "Write.", "steps": [{"score": 0.5}],
}  # fmt: skip
JSON = json.dumps(DATA)
DEEP = 100_000

GOOD: dict[str, tuple[str, str | bytes]] = {
    "yaml": ("a.yaml", YAML),
    "yml": ("a.yml", YAML),
    "json": ("a.json", json.dumps(DATA, indent=2)),
    "lines": ("a.jsonl", JSON + "\n"),
    "last line without end": ("a.jsonl", JSON),
    "blank lines": ("a.jsonl", f"\n\n{JSON}\n  \n"),
    "yaml with BOM": ("a.yaml", "\ufeff" + YAML),
    "json with BOM": ("a.json", "\ufeff" + JSON),
    "lines with BOM": ("a.jsonl", "\ufeff" + JSON),
    "yaml with CRLF": ("a.yaml", YAML.replace("\n", "\r\n")),
    "lines with CRLF": ("a.jsonl", JSON + "\r\n\r\n"),
    "start of document": ("a.yaml", "---\n" + YAML),
    "anchor": ("a.yaml", YAML + "title: &name x\n"),
    "merged mapping": ("a.yaml", YAML + "<<: {title: x}\n"),
    "stars and bangs in prose": ("a.yaml", YAML + "title: a *b* !c 2 * 3 [!]\nsource: '*x !y'\n"),
    "null character": ("a.jsonl", JSON.replace("Write.", "a\\u0000b")),
    "line separator in a text": ("a.jsonl", JSON.replace("Write.", "a\u2028b")),
}


@pytest.mark.parametrize("case", GOOD)
def test_reads(tmp_path: Path, case: str) -> None:
    assert [s.id for s in load([_write(tmp_path, *GOOD[case])])] == ["a/b"]


def _write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# File, its content, and what follows the path in the error.
BAD: dict[str, tuple[str, str | bytes, str]] = {
    "empty yaml": ("a.yaml", "", ":1: a scenario is a mapping of keys, found nothing"),
    "empty json": ("a.json", "", ":1: not valid JSON: Expecting value (column 1)"),
    "comment only": ("a.yaml", "# a\n", ":1: a scenario is a mapping of keys, found nothing"),
    "list": ("a.yaml", "- a\n", ":1: a scenario is a mapping of keys, found a list; several go"),
    "list of json": ("a.json", f"[{JSON}]", ":1: a scenario is a mapping of keys, found a list"),
    "text": ("a.yaml", "hello\n", ":1: a scenario is a mapping of keys, found a text"),
    "number": ("a.jsonl", "7\n", ":1: a scenario is a mapping of keys, found a number"),
    "key twice in yaml": ("a.yaml", YAML + "goal: Read.\n", ":6: not valid YAML: while construct"),
    "key twice in json": ("a.json", JSON[:-1] + ', "id": "c"}', ":1: not valid JSON: key 'id' is"),
    "key twice below": ("a.jsonl", JSON.replace("}]", ', "score": 1}]'), ":1: not valid JSON: key"),
    "tab": ("a.yaml", YAML + "\ttags: []\n", ":6: not valid YAML: "),
    "several documents": ("a.yaml", f"{YAML}---\n{YAML}", ":6: not valid YAML: expected a single"),
    "unclosed": ("a.yaml", YAML + "tags: [a\n", ":7: not valid YAML: while parsing a flow"),
    "python tag": ("a.yaml", YAML + "title: !!python/object/apply:os.getcwd []\n",
                   ":6: tag !!python/object/apply:os.getcwd is not allowed"),
    "own tag": ("a.yaml", YAML + "title: !x y\n", ":6: tag !x is not allowed"),
    "binary": ("a.yaml", YAML + "title: !!binary /9j/\n", ":6: tag !!binary is not allowed"),
    "set": ("a.yaml", YAML + "tags: !!set {a, b}\n", ":6: tag !!set is not allowed"),
    "alias": ("a.yaml", YAML + "title: &a x\nsource: *a\n", ":7: alias *a is not allowed"),
    "billion laughs": (
        "a.yaml",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{b}: &{b} [{','.join(9 * ['*' + a])}]\n" for a, b in zip("abcdefgh", "bcdefghi",
                                                                         strict=True)),
        ":2: alias *a is not allowed",
    ),
    "control character": ("a.yaml", YAML + "title: a\x00b\n", ":1: not valid YAML: unacceptable"),
    "deep yaml": ("a.yaml", f"{YAML}tags: {'[' * DEEP}", ":1: nested too deeply"),
    "deep json": ("a.json", "[" * DEEP + "]" * DEEP, ":1: nested too deeply"),
    "deep line": ("a.jsonl", f"{JSON}\n{'[' * DEEP}\n", ":2: nested too deeply"),
    "trailing comma": ("a.jsonl", f"{JSON}\n\n{JSON[:-1]},}}\n", ":3: not valid JSON: "),
    "two in one line": ("a.jsonl", JSON + JSON, ":1: not valid JSON: Extra data (column"),
    "broken json": ("a.json", json.dumps(DATA, indent=1).replace('",', '"'), ":3: not valid JSON"),
    "digits": ("a.jsonl", JSON.replace("0.5", "9" * 5000), ":1: not valid JSON: Exceeds the limit"),
    "not UTF-8": ("a.yaml", YAML.replace("W", "Ü").encode("latin-1"), ": is not UTF-8 text: "),
    "line not UTF-8": ("a.jsonl", JSON.encode("utf-16"), ": is not UTF-8 text: invalid start byte"),
    "unknown key": ("a.yaml", YAML + "titel: x\n", ":6: scenario.titel: unknown key"),
    "unknown key in json": ("a.json", json.dumps(DATA | {"titel": 1}, indent=1),
                            ":10: scenario.titel: unknown key"),
    "unknown key in line": ("a.jsonl", f"{JSON}\n{json.dumps(DATA | {'titel': 1})}",
                            ":2: scenario.titel: unknown key"),
    "id twice": ("a.jsonl", f"{JSON}\n{JSON}\n", ":2: id 'a/b' is already used at"),
    "family of no process": ("a.yaml", YAML.partition("steps")[0] + "generate: {process: wild}\n",
                             ":4: scenario.generate.process: found 'wild'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_refuses(tmp_path: Path, case: str) -> None:
    name, content, words = BAD[case]
    path = _write(tmp_path, name, content)
    with pytest.raises(ScenarioError) as error:
        list(load([path]))
    message = str(error.value)
    assert message.startswith(f"{path}{words}")
    assert len(message) < 1200
    assert "\n" not in message


def test_ids_are_unique_across_files(tmp_path: Path) -> None:
    first = _write(tmp_path, "a.yaml", YAML)
    second = _write(tmp_path, "b.jsonl", JSON)
    with pytest.raises(ScenarioError, match=rf"{second}:1: id 'a/b' is already used at {first}:1"):
        list(load([tmp_path]))


def test_a_family_and_its_members_do_not_clash_silently(tmp_path: Path) -> None:
    family = YAML.partition("steps")[0] + "generate: {process: spike, n: 3}\n"
    _write(tmp_path, "a.yaml", family)
    assert [s.id for s in load([tmp_path])] == ["a/b-001", "a/b-002", "a/b-003"]
    _write(tmp_path, "b.jsonl", JSON.replace("a/b", "a/b-002"))
    with pytest.raises(ScenarioError, match="a/b-002"):
        list(load([tmp_path]))


def test_folders_are_searched_and_hidden_files_are_not(tmp_path: Path) -> None:
    below = tmp_path / "b" / "c"
    below.mkdir(parents=True)
    wanted = [_write(below, "d.yaml", YAML), _write(tmp_path, "e.jsonl", JSON)]
    _write(tmp_path, "notes.txt", "x")
    _write(tmp_path, ".hidden.yaml", YAML)
    (tmp_path / ".git").mkdir()
    _write(tmp_path / ".git", "f.yaml", YAML)
    assert sorted(find([tmp_path])) == sorted(wanted)
    assert find([wanted[0], tmp_path, wanted[0]])[0] == wanted[0]
    assert len(find([wanted[0], tmp_path, wanted[0]])) == 2


def test_paths_that_are_no_scenarios(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path, words in (
        (tmp_path / "no.yaml", "does not exist"),
        (_write(tmp_path, "a.toml", ""), "must end in one of .yaml"),
        ("", "a path is empty"),
        (tmp_path / "empty", "none found in"),
        (Path("/dev/null"), "must end in"),
    ):
        with pytest.raises(ScenarioError, match=words):
            list(load([path]))


def test_a_line_that_is_too_long_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    path = _write(tmp_path, "a.jsonl", f"{JSON}\n{'x' * 5000}\n")
    with pytest.raises(ScenarioError, match=rf"{path}:2: line is longer than 1,000 characters"):
        list(read_raw([path]))
    path = _write(tmp_path, "a.yaml", YAML + "#" * 2000)
    with pytest.raises(ScenarioError, match="more than 1,000; use JSON Lines"):
        list(read_raw([path]))


def test_lone_surrogates_are_replaced(tmp_path: Path) -> None:
    step = '{"reply": {"text": "a\\ud800"}, "calls": [{"tool": "\\uDFFF", "args": {"\\udead": 1}}]}'
    path = _write(tmp_path, "a.jsonl", JSON.replace('{"score": 0.5}', step))
    (scenario,) = load([path])
    assert scenario.steps[0].reply.text == "a\ufffd"
    assert scenario.steps[0].calls[0].tool == "\ufffd"
    assert scenario.steps[0].calls[0].args == {"\ufffd": 1}
    assert scenario.content_hash
    (scenario,) = load([_write(tmp_path, "b.yaml", YAML.replace("Write.", '"\\ud83d"'))])
    assert scenario.goal == "\ufffd"


def test_pairs_of_surrogates_are_kept(tmp_path: Path) -> None:
    (scenario,) = load([_write(tmp_path, "a.jsonl", JSON.replace("Write.", "\\ud83d\\ude00"))])
    assert scenario.goal == "\U0001f600"


def test_a_text_is_parsed_where_it_came_from() -> None:
    with pytest.raises(ScenarioError, match=r"^x\.jsonl:7: scenario\.goal: is required"):
        list(parse(Raw("x.jsonl", 7, json.dumps({k: v for k, v in DATA.items() if k != "goal"}))))
