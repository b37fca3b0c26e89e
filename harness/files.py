"""Reading scenario files: YAML or JSON Lines, streamed, with errors that name file and line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.errors import ScenarioError, choices
from harness.generate import expand
from harness.scenario import Scenario
from harness.text import mended
from harness.validation import describe, place, worst

#: Longest line and largest YAML file that are read; above it lies an attack or a mistake.
MAX_BYTES = 64 * 1024 * 1024
#: Members of a generated family that are worked on together.
MEMBERS = 100
SUFFIXES = (".yaml", ".yml", ".jsonl", ".json")
#: Up to this size the line of a finding is looked up, which means to read the file again.
_MAX_LOOKUP = 2 * 1024 * 1024
_KINDS = {
    "NoneType": "nothing", "list": "a list", "str": "a text", "int": "a number",
    "float": "a number", "bool": "true or false",
}  # fmt: skip


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
        if not str(given).strip():
            raise ScenarioError("scenarios: a path is empty; name a file or a folder")
        if path.is_dir():
            inside = [p for p in sorted(path.rglob("*")) if p.suffix in SUFFIXES and p.is_file()]
            found.update(dict.fromkeys(p for p in inside if not _hidden(p, path)))
        elif not path.exists():
            raise ScenarioError(f"scenarios: {path} does not exist")
        elif path.suffix not in SUFFIXES:
            raise ScenarioError(f"scenarios: {path}: must end in one of {', '.join(SUFFIXES)}")
        elif not path.is_file():
            raise ScenarioError(f"scenarios: {path}: is no ordinary file")
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
            yield from _split(Raw(str(path), 1, path.read_text("utf-8-sig")))
        except UnicodeDecodeError as error:
            raise ScenarioError(
                f"{path}: is not UTF-8 text: {error.reason} ({error.object[error.start]:#04x})"
            ) from None
        except OSError as error:
            raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None


def _lines(path: Path) -> Iterator[Raw]:
    with path.open(encoding="utf-8-sig") as file:
        number = 0
        while True:
            line = file.readline(MAX_BYTES)
            if not line:
                return
            number += 1
            if len(line) == MAX_BYTES and not line.endswith("\n"):
                raise ScenarioError(
                    f"{path}:{number}: line is longer than {MAX_BYTES:,} characters"
                )
            if line.strip():
                yield from _split(Raw(str(path), number, line))


def _split(raw: Raw) -> Iterator[Raw]:
    """A generated family in parts, so that memory does not grow with it."""
    if "generate" not in raw.text:
        yield raw
        return
    try:
        family = _scenario(raw).generate
    except ScenarioError:
        # Whoever parses the text will say so.
        family = None
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
    try:
        data = _data(raw)
        if "\\ud" in raw.text or "\\uD" in raw.text:
            data = mended(data)
        if not isinstance(data, dict):
            kind = _KINDS.get(type(data).__name__, type(data).__name__)
            hint = "; several go into a .jsonl file, one a line" if isinstance(data, list) else ""
            raise ScenarioError(
                f"{raw.path}:{raw.line}: a scenario is a mapping of keys, found {kind}{hint}"
            )
        return Scenario.model_validate(data)
    except ValidationError as error:
        raise ScenarioError(_explain(raw, error, data)) from None
    except RecursionError:
        raise ScenarioError(f"{raw.path}:{raw.line}: nested too deeply") from None


def _data(raw: Raw) -> Any:
    if Path(raw.path).suffix not in (".json", ".jsonl"):
        from harness.yamlfile import load_yaml

        return load_yaml(raw.text, raw.path)
    try:
        return json.loads(raw.text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        line = raw.line if raw.path.endswith(".jsonl") else error.lineno
        raise ScenarioError(
            f"{raw.path}:{line}: not valid JSON: {error.msg} (column {error.colno})"
        ) from None
    except ValueError as error:
        words = str(error).partition(";")[0]
        raise ScenarioError(f"{raw.path}:{raw.line}: not valid JSON: {words}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a key used twice is an error, because one of its values would be lost."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"key {twice!r} is used twice")
    return made


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


def load_one(name: str | Path) -> Scenario:
    """The scenario of a file; of a file that holds several, ``cases.jsonl::id`` names one.

    Raises:
        ScenarioError: Several and none named, none of that name, or anything ``load`` refuses.
    """
    file, _, wanted = str(name).partition("::")
    found = {scenario.id: scenario for scenario in load([file])}
    if not wanted and len(found) > 1:
        raise ScenarioError(
            f"scenarios: {file} holds {len(found)}; name one: {file}::{next(iter(found))}"
        )
    if wanted and wanted not in found:
        raise ScenarioError(f"scenarios: {file}: {choices(wanted, found)}")
    return found[wanted or next(iter(found))]


def note_id(seen: dict[str, str], scenario: Scenario, raw: Raw) -> None:
    """Refuse an id that an earlier scenario has."""
    where = f"{raw.path}:{raw.line}"
    if scenario.id in seen:
        raise ScenarioError(f"{where}: id {scenario.id!r} is already used at {seen[scenario.id]}")
    seen[scenario.id] = where


def _explain(raw: Raw, error: ValidationError, data: Any) -> str:
    """One line: file, line of the offending key where the format tells, key, rule, value."""
    item = worst(error)
    at, line = place(item, data), raw.line
    if not raw.path.endswith(".jsonl") and len(raw.text) <= _MAX_LOOKUP:
        from harness.yamlfile import line_of

        line = line_of(raw.text, at)
    others = {place(other, data) for other in error.errors(include_url=False)}
    further = sum(at[: len(other)] != other for other in others)
    more = f" (+{further} more)" if further else ""
    return f"{raw.path}:{line}: scenario{describe(item, _keys_at(item['loc']), data)}{more}"


def _keys_at(loc: tuple[Any, ...]) -> list[str]:
    """Keys that are allowed where an unknown one was found."""
    schema = Scenario.model_json_schema(by_alias=True)
    here: dict[str, Any] = schema
    for part, following in pairwise(loc):
        if isinstance(part, int):
            here = here.get("items", {})
        elif part in here.get("properties", {}):
            here = here["properties"][part]
        elif isinstance(here.get("additionalProperties"), dict):
            here = here["additionalProperties"]
        # Else the name of a union's member, which `_resolve` has gone into.
        here = _resolve(here, following, schema)
    return list(here.get("properties", ()))


def _resolve(here: dict[str, Any], following: Any, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema behind references and unions that holds ``following``."""
    if "$ref" in here:
        return dict(schema["$defs"][here["$ref"].rsplit("/", 1)[1]])
    reference = here.get("discriminator", {}).get("mapping", {}).get(following)
    if reference is not None:
        return _resolve({"$ref": reference}, None, schema)
    options = [o for o in (*here.get("anyOf", ()), *here.get("allOf", ()))
               if o.keys() & {"$ref", "items", "additionalProperties"}]  # fmt: skip
    return _resolve(options[0], following, schema) if options else dict(here)
