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

from harness.secretrules import Names

#: What stands under any name of a key counts from this length: words and ids are mostly shorter.
LONG = 16
#: What stands under the name of a password or token counts from this length, if it looks chosen
#: or drawn at random (``_made_up``); what is shorter would be found inside other words.
SHORT = 8
#: In an address or a connection string: the password of ``scheme://user:password@host``.
_IN_URL = re.compile(r"://[^\s/@:]*:([^\s/?#]+)@")
_IN_PAIRS = re.compile(r"""([\w-]+)=["']?(?![$<{\[*%(])([^\s;&"']+)""")
#: Made of nothing but what people put where a key is demanded and none is needed.
_DUMMY = re.compile(
    r"(?i)[^a-z]{0,4}(?:(?:password|passwd|pass|secret|token|key|api|sk|test|dummy|fake|example"
    r"|sample|change|default|local|host|admin|root|user|guest|postgresql|postgres|mysql|mariadb"
    r"|mongo|redis|your|my|me|no|none|not|needed|required|here|placeholder|ollama|lm|studio|x)"
    r"[^a-z]{0,4})+"
)
_WORDS = re.compile(r"(?:[-_. /]*(?:[A-Z]?[a-z]{2,}|[A-Z]{3,}))+")
_FILE = re.compile(r"(?:[A-Za-z]:|~|\.{0,2})[/\\](?:[\w .-]+[/\\])*[\w .-]+\.\w{1,8}")
#: The shell's working folders, which are no passwords.
_FOLDERS = ("PWD", "OLDPWD")
#: Names whose short values stand in other texts, too: a password that equals one is no secret.
_NO_SECRET = re.compile(r"(?i)(?:^|_)(?:user(?:name)?|logname|login|host(?:name)?|db|database)$")
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
        no_secret = {v for name, v in named.items() if len(v) < LONG and _NO_SECRET.search(name)}
        found = {word for name, value in named.items() for word in self._words(name, value)}
        pieces = {word for name, value in named.items() for word in self._pieces(name, value)}
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
            yield from (word for word in self._inside(value) if _counts(word, SHORT))
            whole = [value.strip()]
        else:
            # Signatures and cookies may be new with every request; ``_pieces`` is enough.
            whole = [] if "," in value or ";" in value else _without_scheme(value)
        if least is not None:
            yield from (word for word in whole if _counts(word, least))

    def _least(self, name: str) -> int | None:
        """So long is a secret under a name; ``None`` if none stands there."""
        if name not in self._lengths:
            if name in _FOLDERS:
                self._lengths[name] = None
            elif self._names.members.search(name) or self._names.short.search(name):
                self._lengths[name] = SHORT
            else:
                self._lengths[name] = LONG if self._names.long.search(name) else None
        return self._lengths[name]

    def _inside(self, value: str) -> Iterator[str]:
        """Passwords in an address or a connection string, under whatever name that stands."""
        found = [match[1] for match in _IN_URL.finditer(value)] if "://" in value else []
        if "=" in value:
            pairs = _IN_PAIRS.finditer(value)
            found += [match[2] for match in pairs if self._least(match[1]) == SHORT]
        for word in found:
            yield from (word, unquote(word))

    def _pieces(self, name: str, value: str) -> Iterator[str]:
        """What stands behind a scheme, in the parts of a cookie, and behind their ``=``."""
        if self._least(name) is not None:
            for part in value.split(";"):
                # More than two words are a sentence; only a signature has its parts in one.
                if "authorization" in name.lower() or len(part.split()) <= 2:
                    word = part.rpartition(" ")[2]
                    yield from (w for w in (word, word.partition("=")[2]) if _counts(w, LONG))

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


def _counts(word: str, least: int) -> bool:
    """Whether a value is a secret and not a word that stands in other texts, too."""
    if len(word) < least or _DUMMY.fullmatch(word) or _FILE.fullmatch(word):
        return False
    return len(word) >= LONG or _made_up(word)


def _made_up(word: str) -> bool:
    """Letters with digits or signs, or in a case that words do not have."""
    letters = any(c.isalpha() for c in word)
    others = any(not c.isalpha() and c not in "-_. /:" for c in word)
    return letters and (others or not _WORDS.fullmatch(word))


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
