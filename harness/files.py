"""Reading scenario files: YAML or JSON Lines, streamed, with errors that name file and line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.errors import ScenarioError
from harness.generate import expand
from harness.scenario import Scenario
from harness.validation import problem

#: Longest line and largest YAML file that are read; above it lies an attack or a mistake.
MAX_BYTES = 64 * 1024 * 1024
#: Members of a generated family that are worked on together.
MEMBERS = 100
SUFFIXES = (".yaml", ".yml", ".jsonl", ".json")


@dataclass(frozen=True, slots=True)
class Raw:
    """A scenario as text, with where it came from; cheap to hand to a worker.

    Attributes:
        members: First and last member of a generated family that this part stands for.
    """

    path: str
    line: int
    text: str
    members: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """How many scenarios it stands for."""
        return 1 if self.members is None else self.members[1] - self.members[0] + 1


def bundled_scenarios() -> Path:
    """Folder of the scenarios that come with the harness."""
    packaged = Path(str(files("harness"))) / "scenarios"
    return packaged if packaged.is_dir() else Path(str(files("harness"))).parent / "scenarios"


def find(paths: Iterable[str | Path]) -> list[Path]:
    """Scenario files named by ``paths`` (files, or folders searched through), each once.

    Raises:
        ScenarioError: A path that does not exist, or a file of another kind.
    """
    found: dict[Path, None] = {}
    for given in paths:
        path = Path(given)
        if path.is_dir():
            inside = [p for p in sorted(path.rglob("*")) if p.suffix in SUFFIXES and p.is_file()]
            found.update(dict.fromkeys(p for p in inside if not _hidden(p, path)))
        elif not path.exists():
            raise ScenarioError(f"scenarios: {path} does not exist")
        elif path.suffix not in SUFFIXES:
            raise ScenarioError(f"scenarios: {path}: must end in one of {', '.join(SUFFIXES)}")
        else:
            found[path] = None
    return list(found)


def _hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def read_raw(paths: Iterable[Path]) -> Iterator[Raw]:
    """Scenarios of files as text, one line of a ``.jsonl`` at a time.

    Raises:
        ScenarioError: A file that cannot be read, or a line that is too long.
    """
    for path in paths:
        try:
            if path.suffix == ".jsonl":
                yield from _lines(path)
                continue
            if path.stat().st_size > MAX_BYTES:
                raise ScenarioError(
                    f"{path}: has {path.stat().st_size:,} bytes, more than {MAX_BYTES:,}; use "
                    "JSON Lines, one scenario a line"
                )
            yield from _split(Raw(str(path), 1, path.read_text("utf-8")))
        except UnicodeDecodeError as error:
            raise ScenarioError(f"{path}: is not UTF-8 text: {error.reason}") from None
        except OSError as error:
            raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None


def _lines(path: Path) -> Iterator[Raw]:
    with path.open(encoding="utf-8") as file:
        number = 0
        while True:
            line = file.readline(MAX_BYTES)
            if not line:
                return
            number += 1
            if len(line) == MAX_BYTES and not line.endswith("\n"):
                raise ScenarioError(f"{path}:{number}: line is longer than {MAX_BYTES:,} characters")
            if line.strip():
                yield from _split(Raw(str(path), number, line))


def _split(raw: Raw) -> Iterator[Raw]:
    """A generated family in parts, so that memory does not grow with it."""
    if "generate" not in raw.text:
        yield raw
        return
    family = _scenario(raw).generate
    if family is None:
        yield raw
        return
    for first in range(1, family.n + 1, MEMBERS):
        yield replace(raw, members=(first, min(first + MEMBERS - 1, family.n)))


def parse(raw: Raw) -> Iterator[Scenario]:
    """The scenario of one text, or the family that it describes.

    Raises:
        ScenarioError: Not valid JSON or YAML, or not a scenario; names file, line, key, value.
    """
    yield from expand(_scenario(raw), raw.members)


def _scenario(raw: Raw) -> Scenario:
    path = Path(raw.path)
    if path.suffix in (".json", ".jsonl"):
        try:
            data: Any = json.loads(raw.text)
        except ValueError as error:
            raise ScenarioError(f"{raw.path}:{raw.line}: not valid JSON: {error}") from None
        except RecursionError:
            raise ScenarioError(f"{raw.path}:{raw.line}: nested too deeply") from None
    else:
        from harness.yamlfile import load_yaml

        data = load_yaml(raw.text, raw.path)
    if not isinstance(data, dict):
        raise ScenarioError(
            f"{raw.path}:{raw.line}: a scenario is a mapping, found {type(data).__name__}"
        )
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        raise ScenarioError(_explain(raw, error)) from None
    except RecursionError:
        raise ScenarioError(f"{raw.path}:{raw.line}: nested too deeply") from None


def load(paths: Iterable[str | Path]) -> Iterator[Scenario]:
    """All scenarios of files and folders, one at a time.

    Raises:
        ScenarioError: No scenario at all, an id used twice, or anything ``parse`` refuses.
    """
    paths = list(paths)
    seen: dict[str, str] = {}
    for raw in read_raw(find(paths)):
        for scenario in parse(raw):
            note_id(seen, scenario, raw)
            yield scenario
    if not seen:
        raise ScenarioError(f"scenarios: none found in {', '.join(map(str, paths))}")


def note_id(seen: dict[str, str], scenario: Scenario, raw: Raw) -> None:
    """Refuse an id that an earlier scenario has."""
    where = f"{raw.path}:{raw.line}"
    if scenario.id in seen:
        raise ScenarioError(f"{where}: id {scenario.id!r} is already used at {seen[scenario.id]}")
    seen[scenario.id] = where


def _explain(raw: Raw, error: ValidationError) -> str:
    """One line: file, line of the offending key where the format tells, key, rule, value."""
    first = error.errors(include_url=False)[0]
    line = raw.line
    if Path(raw.path).suffix in (".yaml", ".yml"):
        from harness.yamlfile import line_of

        line = line_of(raw.text, first["loc"])
    return f"{raw.path}:{line}: scenario{problem(error, _keys_at(first['loc']))}"


def _keys_at(loc: tuple[Any, ...]) -> list[str]:
    """Keys that are allowed where an unknown one was found."""
    schema = Scenario.model_json_schema(by_alias=True)
    here: Any = schema
    for part in loc[:-1]:
        here = _resolve(here, schema)
        here = here.get("items") if isinstance(part, int) else here.get("properties", {}).get(part)
        if here is None:
            return []
    return list(_resolve(here, schema).get("properties", ()))


def _resolve(here: Any, schema: dict[str, Any]) -> dict[str, Any]:
    for option in (here, *here.get("anyOf", ()), *here.get("allOf", ())):
        if "$ref" in option:
            resolved: dict[str, Any] = schema["$defs"][option["$ref"].rsplit("/", 1)[1]]
            return resolved
    for option in here.get("anyOf", ()):
        if option.get("type") == "array":
            return dict(option)
    return dict(here)
