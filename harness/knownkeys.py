"""Secrets that are known by value: a client sends them, or the environment holds them.

A pattern cannot tell them; what they are under tells. They are looked for as they are and as they
look in addresses, JSON, base64 and hex.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus, unquote

from harness.secretlooks import LONG, SHORT, counts, drawn, made_up, other_token
from harness.secretrules import Names

#: In an address: user and password of ``scheme://user:password@host``; either may be missing.
_IN_URL = re.compile(r"://([^\s/@:]*)(?::([^\s/?#]*))?@")
#: In a connection string: bare, in quotes or in braces.
_IN_PAIRS = re.compile(
    r"""([\w-]+)=(?:"([^"]*)"|'([^']*)'|\{([^{}]*)\}|(?![$<{\[*%(])([^\s;&"']+))"""
)
#: What stands for no password behind a token.
_NO_PASSWORD = ("", "x", "x-oauth-basic")
#: The shell's working folders, which are no passwords.
_FOLDERS = ("PWD", "OLDPWD")
#: Names whose short values stand in other texts, too: a password that equals one is no secret.
_NO_SECRET = re.compile(
    r"(?i)(?:^|_|^(?:pg|mysql))(?:user(?:name)?|logname|login|host(?:name)?|db|database)$"
)
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_REST = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


class KnownKeys:
    """Finds secrets that it was told, in any of their forms.

    Args:
        names: Names under which secrets stand.

    Attributes:
        name: Of the rule, as ``Rule.name``.
    """

    name = "client_key"

    def __init__(self, names: Names) -> None:
        self._names = names
        self._words_known: set[str] = set()
        self._pieces_known: set[str] = set()
        self._lengths: dict[str, int | None] = {}
        # Longest first: a key may begin with another one, and would be taken out in part only.
        self._plain: list[str] = []
        self._coded: list[str] = []

    def learn(self, named: Mapping[str, str]) -> None:
        """Remember the secrets among named values.

        Args:
            named: Headers or the query of a request, or environment variables.
        """
        every = [each for name, value in named.items() for each in _with_members(name, value)]
        no_secret = {v for name, v in every if len(v) < LONG and _NO_SECRET.search(name)}
        no_secret |= {user for _, value in every for user in _users(value)}
        found = {word for name, value in every for word in self._words(name, value)}
        pieces = {word for name, value in every for word in self._pieces(name, value)}
        fresh = found - self._words_known - no_secret
        more = pieces - found - self._words_known - self._pieces_known
        if fresh or more:
            self._words_known |= fresh
            self._pieces_known |= more
            forms = (form for word in fresh for form in _forms(word))
            plain = (form for word in more for form in (word, _quoted(word)))
            self._plain = _longest_first(self._plain, *forms, *plain)
            self._coded = _longest_first(self._coded, *(p for word in fresh for p in _parts(word)))

    def _words(self, name: str, value: str) -> Iterator[str]:
        """The secrets in a value."""
        least = self._least(name)
        if "cookie" not in name.lower() and "authorization" not in name.lower():
            yield from (word for word in self._inside(value) if counts(word, SHORT))
            whole = [value.strip()]
        else:
            # Signatures and cookies may be new with every request; ``_pieces`` is enough.
            whole = [] if "," in value or ";" in value else _without_scheme(value)
        if least is not None:
            yield from (word for word in whole if counts(word, least))

    def _least(self, name: str) -> int | None:
        """So long is a secret under a name; ``None`` if none stands there."""
        if name not in self._lengths:
            short = (self._names.members, self._names.tokens, self._names.short)
            if name in _FOLDERS or other_token(name):
                self._lengths[name] = None
            elif any(names.search(name) for names in short):
                self._lengths[name] = SHORT
            else:
                self._lengths[name] = LONG if self._names.long.search(name) else None
        return self._lengths[name]

    def _inside(self, value: str) -> Iterator[str]:
        """Passwords in an address or a connection string, under whatever name that stands."""
        found = list(_of_addresses(value))
        for name, double, single, braced, bare in _IN_PAIRS.findall(value) if "=" in value else ():
            if self._least(name) == SHORT and (bare or made_up(double or single or braced)):
                found.append(bare or double or single or braced)
        for word in found:
            yield from (word, unquote(word))

    def _pieces(self, name: str, value: str) -> Iterator[str]:
        """What stands behind a scheme, in the parts of a cookie, and behind their ``=``."""
        if self._least(name) is not None:
            for part in value.split(";"):
                # More than two words are a sentence; only a signature has its parts in one.
                if "authorization" in name.lower() or len(part.split()) <= 2:
                    word = part.rpartition(" ")[2]
                    yield from (w for w in (word, word.partition("=")[2]) if counts(w, LONG))

    def within(self, text: str, folded: str) -> KnownKeys | None:
        """The same for parts of a text: with what is in it, ``None`` where nothing is."""
        plain = [form for form in self._plain if form in text]
        coded = [part for part in self._coded if part in text]
        if not plain and not coded:
            return None
        narrow = KnownKeys(self._names)
        narrow._plain, narrow._coded = plain, coded
        return narrow

    def spans(self, text: str, folded: str) -> Iterator[tuple[int, int]]:
        """From where to where each secret stands, first to last."""
        found: list[tuple[int, int]] = []
        left = text
        for form in self._plain:
            if form in left:
                left = _take(left, form, coded=False, found=found)
        for part in self._coded:
            if part in left:
                left = _take(left, part, coded=True, found=found)
        yield from sorted(found)


def _take(text: str, form: str, *, coded: bool, found: list[tuple[int, int]]) -> str:
    """Note where a form stands; the text with nothing there, so that no other is found in it."""
    parts, at = [], 0
    while (start := text.find(form, at)) >= 0:
        end = start + len(form)
        if coded:
            # Beside it stands the rest of the same code, which nobody can read any more.
            start = at + len(text[at:start].rstrip(_BASE64))
            rest = _REST.match(text, end)
            end = rest.end() if rest else end
        found.append((start, end))
        parts += [text[at:start], "\0" * (end - start)]
        at = end
    return "".join((*parts, text[at:]))


def _longest_first(known: list[str], *more: str) -> list[str]:
    return sorted({*known, *more}, key=lambda form: (-len(form), form))


def _with_members(name: str, value: str) -> Iterator[tuple[str, str]]:
    """A named value, and where it is JSON, what stands in it, under its own names."""
    yield name, value
    if value.lstrip()[:1] not in ("{", "["):
        return
    try:
        waiting = [(name, json.loads(value))]
    except (ValueError, RecursionError):
        return
    while waiting:
        key, item = waiting.pop()
        if isinstance(item, dict):
            waiting += item.items()
        elif isinstance(item, list):
            waiting += ((key, each) for each in item)
        elif isinstance(item, str):
            yield key, item


def _of_addresses(value: str) -> Iterator[str]:
    """Passwords of addresses, and tokens that stand there as the user."""
    for user, password in _IN_URL.findall(value) if "://" in value else ():
        if password not in _NO_PASSWORD:
            yield password
        elif len(user) >= LONG and drawn(user):
            yield user


def _users(value: str) -> Iterator[str]:
    """Short users of addresses; longer ones may be tokens."""
    if "://" in value:
        yield from (user for user, _ in _IN_URL.findall(value) if 0 < len(user) < LONG)


def _without_scheme(value: str) -> list[str]:
    """What stands behind the scheme of an ``Authorization``."""
    word = value.strip().rpartition(" ")[2]
    return [word, *_basic(word)] if value[:6].lower() == "basic " else [word]


def _basic(word: str) -> list[str]:
    """User and password of basic authentication, as they may stand in other places."""
    try:
        decoded = base64.b64decode(word, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return []
    return [decoded, decoded.partition(":")[2]]


def _quoted(word: str) -> str:
    return quote(word.encode("utf-8", "surrogateescape"), safe="")


def _forms(word: str) -> Iterator[str]:
    """A secret as it is, in addresses, in JSON, in JSON within JSON, and in hex."""
    data = word.encode("utf-8", "surrogateescape")
    yield from (word, _quoted(word), quote(data), quote_plus(data))
    for ascii_only in (True, False):
        once = json.dumps(word, ensure_ascii=ascii_only)[1:-1]
        yield from (once, once.replace("/", "\\/"), json.dumps(once)[1:-1])
    yield word.replace("\\", "\\\\")
    yield from (data.hex(), data.hex().upper())


def _parts(word: str) -> Iterator[str]:
    """What of a secret's base64 depends on nothing beside it, as in that of ``user:key``."""
    data = word.encode("utf-8", "surrogateescape")
    for before in range(3):
        code = base64.b64encode(b"\0" * before + data).decode()
        part = code[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        yield from (part, part.replace("+", "-").replace("/", "_"))
