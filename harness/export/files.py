"""Writing scenario files, so that what is read again is what was written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, ScenarioError, choices
from harness.scenario import Scenario
from harness.task import json_numbers
from harness.text import mended
from harness.yamlfile import dump_yaml, load_yaml

#: What can be written: one scenario a file, or one a line.
SUFFIXES = (".yaml", ".yml", ".jsonl")
#: What a reader wants to see first.
_HEAD = ("schema", "id", "title", "source", "goal")


def plain(scenario: Scenario) -> dict[str, Any]:
    """A scenario as its file would hold it: what was never said is left out."""
    data = scenario.model_dump(by_alias=True, exclude_defaults=True)
    if data.get("tools") is not None and not any(data["tools"].values()):
        # Names are short for tools without properties.
        data["tools"] = list(data["tools"])
    head = {key: data[key] for key in _HEAD if key in data}
    made: dict[str, Any] = held(head | {k: v for k, v in data.items() if k not in head})
    return made


def held(value: Any) -> Any:
    """A value as a file can hold it; a replay sees no difference.

    Keys and values that JSON does not have become texts, as arguments are compared; the lone half
    of a surrogate pair, which no file takes, becomes U+FFFD.
    """
    return mended(_held(value))


def _held(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    if value is None or isinstance(value, str | int | float):
        return json_numbers(value)
    if isinstance(value, Mapping):
        return {str(key): _held(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_held(item) for item in value]
    return str(value)


def line_of(data: Mapping[str, Any]) -> str:
    """A recording as a line of a ``.jsonl`` file, without its end."""
    return json.dumps(held(data), ensure_ascii=False)


def yaml_of(data: Mapping[str, Any]) -> str:
    """A recording as the text of a ``.yaml`` file.

    Raises:
        HarnessError: The text would not be read as the same data.
    """
    wanted = held(data)
    text = dump_yaml(wanted)
    try:
        same = load_yaml(text, "yaml") == wanted
    except ScenarioError:
        same = False
    if not same:
        raise HarnessError(
            f"scenario {data.get('id')!r}: has a text that YAML would not give back as it is; "
            "write a .jsonl file"
        )
    return text


def write_scenarios(path: Path, recordings: Iterable[Mapping[str, Any]]) -> int:
    """Write recordings to a file, whole or not at all.

    Args:
        path: Ends in ``.jsonl``, or, for a single recording, in ``.yaml`` or ``.yml``.
        recordings: As plain data.

    Returns:
        How many there were.

    Raises:
        HarnessError: Another ending, or several recordings for a YAML file.
        OSError: The file cannot be written; what was there is untouched.
    """
    if path.suffix not in SUFFIXES:
        raise HarnessError(f"{path}: the file's ending: {choices(path.suffix, SUFFIXES)}")
    number = 0
    part = path.with_name(f".{path.name}.part")
    try:
        # Line ends of the machine would change the texts of a YAML file.
        with part.open("w", encoding="utf-8", newline="\n") as file:
            for number, data in enumerate(recordings, 1):
                if path.suffix == ".jsonl":
                    file.write(line_of(data) + "\n")
                elif number > 1:
                    raise HarnessError(
                        f"{path}: a YAML file holds one scenario; for several write a .jsonl file"
                    )
                else:
                    file.write(yaml_of(data))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return number
