"""How a text reads without escapes and colours: a letter of theirs is no part of a word.

Tools answer in JSON, and terminals in colours. Where a line end is written as a backslash and an
``n``, rules would take the ``n`` for the beginning of a name, or for a word that stands directly
before a number; and so the ``m`` at the end of a colour.
"""

from __future__ import annotations

import re

# A colour, as itself or written down; an escape character alone; a line end or a tab; a character
# by its number. In JSON inside of JSON there are many backslashes.
_ESCAPE = re.compile(
    r"(?:\x1b|(?<!\\)\\+(?:u001[bB]|x1[bB]|033|e))\[[\d;?]*[A-Za-z]|\x1b"
    r"|(?<!\\)\\+(?:(?P<end>[nrt])|u(?P<code>[0-9a-fA-F]{4}))"
)


def plain(text: str) -> str:
    """The text with blanks, line ends or letters where escapes were; as long as before.

    Args:
        text: Not changed; what is found in the result stands at the same place in it.
    """
    if "\\" not in text and "\x1b" not in text:
        return text
    return _ESCAPE.sub(_read, text)


def _read(match: re.Match[str]) -> str:
    if match["end"] is not None:
        return ("\t" if match["end"] == "t" else "\n").rjust(len(match[0]))
    char = " " if match["code"] is None else chr(int(match["code"], 16))
    # A digit would count more than once.
    return (char if char.isprintable() and not char.isdigit() else " ") * len(match[0])
