"""YAML, safely; the one importer of ruamel.yaml."""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from harness.errors import ScenarioError


def load_yaml(text: str, path: str) -> Any:
    """Plain data from YAML text.

    Raises:
        ScenarioError: Not valid YAML, several documents, a tag, an alias, or a key used twice.
            Aliases are refused because a few lines of them can stand for billions of values.
    """
    yaml = YAML(typ="safe", pure=True)
    try:
        _refuse_aliases(text, path)
        return yaml.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise ScenarioError(f"{path}:{line}: not valid YAML: {_words(error)}") from None
    except (YAMLError, ValueError) as error:
        words = " ".join(str(error).split())
        raise ScenarioError(f"{path}: not valid YAML: {words}") from None
    except RecursionError:
        raise ScenarioError(f"{path}: nested too deeply") from None


def _words(error: MarkedYAMLError) -> str:
    return " ".join(str(part).strip() for part in (error.context, error.problem) if part)


def _refuse_aliases(text: str, path: str) -> None:
    if "*" not in text:
        return
    from ruamel.yaml.events import AliasEvent

    for event in YAML(typ="safe", pure=True).parse(text):
        if isinstance(event, AliasEvent):
            raise ScenarioError(
                f"{path}:{event.start_mark.line + 1}: alias *{event.anchor} is not allowed; "
                "write the value out"
            )


def line_of(text: str, loc: tuple[int | str, ...]) -> int:
    """Line (from 1) of the deepest key of ``loc`` that the text has."""
    try:
        here: Any = YAML(typ="rt").load(text)
    except YAMLError:
        return 1
    line = 1
    for part in loc:
        if isinstance(here, CommentedMap) and part in here:
            line = here.lc.key(part)[0] + 1
        elif isinstance(here, CommentedSeq) and isinstance(part, int) and part < len(here):
            line = here.lc.item(part)[0] + 1
        else:
            # Names of union members stand in the location but not in the file.
            continue
        here = here[part]
    return line
