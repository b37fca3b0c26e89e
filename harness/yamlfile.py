"""YAML, safely; the one importer of ruamel.yaml."""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode

from harness.errors import ScenarioError
from harness.spans import Span


def load_yaml(text: str, path: str) -> Any:
    """Plain data from YAML text.

    Raises:
        ScenarioError: Not valid YAML, several documents, a tag, an alias, or a key used twice.
            Aliases are refused because a few lines of them can stand for billions of values,
            tags because they make values that JSON does not have.
    """
    yaml = YAML(typ="safe", pure=True)
    try:
        _refuse_aliases_and_tags(text, path)
        return yaml.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise ScenarioError(f"{path}:{line}: not valid YAML: {_words(error)}") from None
    except (YAMLError, ValueError) as error:
        words = " ".join(str(error).split())
        raise ScenarioError(f"{path}:1: not valid YAML: {words}") from None
    except RecursionError:
        raise ScenarioError(f"{path}:1: nested too deeply") from None


def _words(error: MarkedYAMLError) -> str:
    return " ".join(str(part).strip() for part in (error.context, error.problem) if part)


#: Where YAML may see an alias or a tag; most files have neither and need no second look.
_MARKED = re.compile(r"(?:^|[\s\[{,:])[*!]\S", re.MULTILINE)


def _refuse_aliases_and_tags(text: str, path: str) -> None:
    if not _MARKED.search(text):
        return
    from ruamel.yaml.events import AliasEvent

    for event in YAML(typ="safe", pure=True).parse(text):
        line = event.start_mark.line + 1
        if isinstance(event, AliasEvent):
            raise ScenarioError(
                f"{path}:{line}: alias *{event.anchor} is not allowed; write the value out"
            )
        if getattr(event, "tag", None) is not None:
            tag = str(event.tag).replace("tag:yaml.org,2002:", "!!")
            raise ScenarioError(f"{path}:{line}: tag {tag} is not allowed; leave it out")


def line_of(text: str, loc: tuple[int | str, ...]) -> int:
    """Line (from 1) of the deepest key of ``loc`` that the text has."""
    try:
        here: Any = YAML(typ="rt").load(text)
    except (YAMLError, ValueError, RecursionError):
        return 1
    line = 1
    for part in loc:
        if isinstance(here, CommentedMap) and part in here:
            line = here.lc.key(part)[0] + 1
        elif isinstance(here, CommentedSeq) and isinstance(part, int) and part < len(here):
            line = here.lc.item(part)[0] + 1
        else:
            break
        here = here[part]
    return line


def yaml_spans(text: str) -> Span:
    """Spans of the first document of a valid YAML text."""
    return _span(YAML(typ="safe", pure=True).compose(text))


def _span(node: Any) -> Span:
    start, end = node.start_mark.index, node.end_mark.index
    if not isinstance(node, MappingNode):
        return Span(start, end)
    members = {str(key.value): (_span(key), _span(value)) for key, value in node.value}
    column = node.value[0][0].start_mark.column if node.value else 0
    return Span(start, end, True, bool(node.flow_style), column, members)
