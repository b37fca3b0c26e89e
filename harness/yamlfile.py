"""YAML, safely; the one importer of ruamel.yaml.

What is read is what JSON could have held: keys are texts as they stand in the file (``1: a`` has
the key "1"), and a date is the text that somebody wrote.
"""

from __future__ import annotations

import io
import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.representer import SafeRepresenter

from harness.errors import ScenarioError
from harness.spans import Span

_TEXT = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
#: Texts that older YAML readers take for true, false or nothing; they are written in quotes.
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"})
#: Inside braces some readers take a text that begins like this for a key.
_MARKS = (":", "?")
#: Mappings and lists up to this many characters are written on one line.
_FLOW = 72
#: A block of lines that every reader gives back as it was: no space at the end of a line.
_BLOCK = re.compile(r"\S(?:\S|[ ]+(?=\S)|\n+[ ]*(?=\S))*\n?")


class _Reader(SafeConstructor):
    """Makes only what JSON has."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        _as_texts(node)
        return super().construct_mapping(node, deep=deep)


def _as_texts(node: Any) -> None:
    """Keys of a mapping become texts, also of one that is merged into it."""
    for key, value in node.value:
        if key.tag == _MERGE:
            for merged in value.value if isinstance(value, SequenceNode) else [value]:
                if isinstance(merged, MappingNode):
                    _as_texts(merged)
        elif isinstance(key, ScalarNode):
            key.tag = _TEXT


_Reader.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


class _Writer(SafeRepresenter):
    """Writes texts of several lines as blocks and small values on one line; no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent(self, data: Any) -> None:
        root = self.represent_data(data)
        root.flow_style = False
        self.serializer.serialize(root)

    def represent_text(self, text: str) -> Node:
        """A text in the style that reads best."""
        style = None
        if "\n" in text:
            printable = text.replace("\n", "").isprintable()
            style = "|" if printable and _BLOCK.fullmatch(text) else '"'
        elif text[:1] in _MARKS or text.casefold() in _WORDS or not text.isprintable():
            style = '"'
        return self.represent_scalar(_TEXT, text, style=style)

    def represent_items(self, items: list[Any]) -> Node:
        """A list, on one line where it is small and its items are no mappings."""
        node = self.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)
        mappings = any(isinstance(item, dict) and item for item in items)
        node.flow_style = not mappings and _width(node) <= _FLOW
        return node

    def represent_members(self, members: dict[str, Any]) -> Node:
        """A mapping, on one line where it is small."""
        node = self.represent_mapping("tag:yaml.org,2002:map", members, flow_style=True)
        node.flow_style = _width(node) <= _FLOW
        return node


_Writer.add_representer(str, _Writer.represent_text)
_Writer.add_representer(list, _Writer.represent_items)
_Writer.add_representer(dict, _Writer.represent_members)


def _width(node: Any) -> int:
    """About how many characters a value takes on one line; more than fit if it needs several."""
    if isinstance(node, ScalarNode):
        return 2 * _FLOW if node.style == "|" else len(node.value) + 4
    if node.flow_style is False:
        return 2 * _FLOW
    parts = node.value
    if isinstance(node, MappingNode):
        parts = [part for pair in node.value for part in pair]
    return sum(map(_width, parts)) + 2


def dump_yaml(data: dict[str, Any]) -> str:
    """A mapping as YAML text that ``load_yaml`` reads as the same data, members in their order.

    Args:
        data: Plain data: texts, numbers, true, false, nothing, lists and mappings with text keys.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.Representer = _Writer
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    # Lines are never broken: where a text may be folded, readers differ.
    yaml.width = 2**31
    stream = io.StringIO()
    yaml.dump(data, stream)
    return stream.getvalue()


def load_yaml(text: str, path: str) -> Any:
    """Plain data from YAML text.

    Raises:
        ScenarioError: Not valid YAML, several documents, a tag, an alias, or a key used twice.
            Aliases are refused because a few lines of them can stand for billions of values,
            tags because they make values that JSON does not have.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _Reader
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
