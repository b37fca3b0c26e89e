"""Accepting what was observed: expectations are changed in place, and nothing else moves.

The text is edited, not written anew, so comments, layout, line ends and quotes stay. What comes
out is read again and compared before a file is replaced.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import ScenarioError
from harness.scenario import Expectation
from harness.spans import Span, json_spans
from harness.yamlfile import load_yaml, yaml_spans

_PLAIN = re.compile(r"[A-Za-z_][\w.-]*")
#: What YAML would read as something other than a text.
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"})


@dataclass(frozen=True, slots=True)
class Change:
    """One expectation to accept.

    Attributes:
        path: The scenario file.
        line: Line of the scenario in a ``.jsonl`` file (from 1); 1 elsewhere.
        scenario: Its id; of a generated family, of one member.
        preset: Key under ``expect``.
        before: What the file said when it was read; ``None`` if nothing.
        after: What it has to say.
    """

    path: str
    line: int
    scenario: str
    preset: str
    before: Expectation | None
    after: Expectation


def accept(changes: Sequence[Change]) -> tuple[list[Change], list[str]]:
    """Write accepted expectations into their files.

    Args:
        changes: Of any number of files; those of one generated family have to agree, because
            its members share one expectation.

    Returns:
        What was written (one a place in a file), and one line for each that could not be.
    """
    places: dict[tuple[str, int, str], list[Change]] = {}
    for change in changes:
        places.setdefault((change.path, change.line, change.preset), []).append(change)
    problems = []
    files: dict[str, list[Change]] = {}
    for (path, line, preset), same in places.items():
        if len({change.after for change in same}) > 1:
            found = ", ".join(sorted({_words(change.after) for change in same}))
            problems.append(
                f"{path}:{line}: expect.{preset}: the members of this family share one "
                f"expectation, but end differently: {found}"
            )
        elif same[0].after != same[0].before:
            files.setdefault(path, []).append(same[0])
    written = []
    for path, wanted in files.items():
        try:
            _rewrite(Path(path), wanted)
            written += wanted
        except ScenarioError as error:
            problems.append(str(error))
        except OSError as error:
            problems.append(f"{path}: cannot be written: {error.strerror}")
    return written, problems


def _words(expectation: Expectation) -> str:
    where = "" if expectation.iteration is None else f" in {expectation.iteration}"
    return f"{expectation.exit_reason.value}{where}"


def _rewrite(path: Path, changes: Sequence[Change]) -> None:
    # Bytes, because reading as text would turn line ends into the machine's own.
    text = path.read_bytes().decode("utf-8")
    if path.suffix == ".jsonl":
        # Lines as the reader of these files counts them, with their own ends.
        lines = list(io.StringIO(text, newline=""))
        for change in changes:
            lines[change.line - 1] = _edited(lines[change.line - 1], change, as_json=True)
        made = "".join(lines)
    else:
        made = text
        for change in changes:
            made = _edited(made, change, as_json=path.suffix == ".json")
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(made.encode("utf-8"))
        part.chmod(path.stat().st_mode)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _edited(text: str, change: Change, *, as_json: bool) -> str:
    """The text of one scenario with one expectation changed or added."""
    before = _data(text, change.path, as_json=as_json)
    expect = before.get("expect", {})
    found = expect.get(change.preset)
    if (found is None) != (change.before is None) or (
        change.before is not None and Expectation.model_validate(found) != change.before
    ):
        raise ScenarioError(
            f"{change.path}:{change.line}: expect.{change.preset}: changed since it was read, "
            "left alone"
        )
    head = len(text) - len(text.lstrip("\ufeff"))
    root = json_spans(text, head) if as_json else yaml_spans(text)
    place = root.members.get("expect")
    if place is None and not root.flow:
        made = _appended(text, change)
    elif place is None:
        made = _added(text, root, "expect", {change.preset: _plain(change.after)}, as_json)
    elif change.preset in place[1].members:
        made = _changed(text, place[1].members[change.preset][1], change.after, as_json)
    else:
        made = _added(text, place[1], change.preset, _plain(change.after), as_json)
    wanted = before | {"expect": expect | {change.preset: _plain(change.after)}}
    if _known(_data(made, change.path, as_json=as_json)) != _known(wanted):
        raise ScenarioError(
            f"{change.path}:{change.line}: expect.{change.preset}: cannot be changed without "
            "moving something else; change it by hand"
        )
    return made


def _data(text: str, path: str, *, as_json: bool) -> Any:
    return json.loads(text.lstrip("\ufeff")) if as_json else load_yaml(text, path)


def _known(data: Any) -> Any:
    """Data with ``iteration: null`` left out of expectations: it says nothing."""
    kept = {
        name: {k: v for k, v in value.items() if v is not None}
        for name, value in data["expect"].items()
    }
    return data | {"expect": kept}


def _plain(expectation: Expectation) -> dict[str, Any]:
    return expectation.model_dump(mode="json", exclude_none=True)


def _changed(text: str, place: Span, after: Expectation, as_json: bool) -> str:
    """The reason and the iteration of an expectation, each where it stands."""
    edits = []
    for key, value in _plain(after).items():
        if key in place.members:
            span = place.members[key][1]
            quote = text[span.start]
            shown = f"{quote}{value}{quote}" if quote in "'\"" else str(value)
            edits.append((span, shown))
    for span, shown in sorted(edits, key=lambda edit: -edit[0].start):
        text = text[: span.start] + shown + text[span.end :]
    return text


def _appended(text: str, change: Change) -> str:
    """A YAML text with its first expectation, at the end of the document."""
    newline = "\r\n" if "\r\n" in text else "\n"
    member = f"  {_key(change.preset, False)}: {_value(_plain(change.after), False)}"
    rest = re.search(r"^\.\.\.[ \t]*\r?$", text, re.MULTILINE)
    at = rest.start() if rest else len(text)
    gap = "" if text[:at].endswith(("\n", "\r")) else newline
    return f"{text[:at]}{gap}expect:{newline}{member}{newline}{text[at:]}"


def _added(text: str, place: Span, key: str, value: Mapping[str, Any], as_json: bool) -> str:
    """A further member at the end of a mapping, in the mapping's own style."""
    member = f"{_key(key, as_json)}: {_value(value, as_json)}"
    if not place.flow:
        end = _last(place)
        at = text.find("\n", end)
        newline = "\r\n" if "\r\n" in text else "\n"
        line = " " * place.column + member
        if at < 0:
            return f"{text}{newline}{line}{newline}"
        return f"{text[: at + 1]}{line}{newline}{text[at + 1 :]}"
    if not place.members:
        return text[: place.start + 1] + member + text[place.end - 1 :]
    end = _last(place)
    first = next(iter(place.members.values()))[0]
    lead = text[place.start + 1 : first.start]
    gap = f",{lead}" if "\n" in lead else ", "
    return text[:end] + gap + member + text[end:]


def _last(place: Span) -> int:
    """Where the last value of a mapping ends; a block ends with its own last value."""
    value = list(place.members.values())[-1][1]
    return _last(value) if value.members and not value.flow else value.end


def _key(name: str, as_json: bool) -> str:
    plain = _PLAIN.fullmatch(name) and name.lower() not in _WORDS
    return name if plain and not as_json else json.dumps(name, ensure_ascii=False)


def _value(value: Mapping[str, Any], as_json: bool) -> str:
    if as_json:
        return json.dumps(value, ensure_ascii=False)
    members = (
        f"{_key(key, False)}: {_value(item, False) if isinstance(item, Mapping) else item}"
        for key, item in value.items()
    )
    return "{" + ", ".join(members) + "}"
