"""What a secret looks like beside what only stands in its place: code, words, paths, stand-ins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

#: What stands under any name of a key counts from this length: words and ids are mostly shorter.
LONG = 16
#: What stands under the name of a password or token counts from this length, if it looks made up;
#: what is shorter would be found inside other words.
SHORT = 8
#: Longer than this is no stand-in; each word may be read in two ways, so time is bounded by it.
_STAND_IN_AT_MOST = 64
#: Made of nothing but what people put where a key is demanded and none is needed.
_DUMMY = re.compile(
    r"(?i)[^a-z]{0,4}(?:(?:password|passwd|passphrase|pass|pwd|secret|token|key|api|sk|pk|rk|test"
    r"|testing|tests|dummy|fake|mock|example|sample|demo|changed|change|default|local|host|admin"
    r"|root|user|guest|postgresql|postgres|mysql|mariadb|mongo|redis|django|flask|your|my|me|it"
    r"|this|the|some|new|old|wrong|real|strong|secure|insecure|unsafe|no|none|not|needed|required"
    r"|for|in|to|with|please|insert|replace|enter|use|production|prod|development|dev|staging"
    r"|before|deploy|here|placeholder|ollama|lm|studio|string|value|name|x)[^a-z]{0,4})+"
)
#: What is filled in later: ``${NAME}``, ``$NAME``, ``{{ name }}``, ``<name>``, ``%NAME%``.
_TEMPLATE = re.compile(r"\$\{[^{}]*\}|\$[A-Z_][A-Z0-9_]*|\{\{?[^{}]*\}?\}|<[^<>]*>|%[A-Z_]+%")
_WORDS = re.compile(r"(?:[-_. /]*(?:[A-Z]?[a-z]{2,}|[A-Z]{3,}))+")
_FILE = re.compile(r"(?:[A-Za-z]:|~|\.{0,2})[/\\](?:[\w .-]+[/\\])*[\w .-]+\.\w{1,8}")
_PATH = re.compile(r"(?:[A-Za-z]:|~|\.{0,2})(?:[/\\][\w .@-]+)+[/\\]?")
#: A run of one kind of character.
_RUN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_HEX = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{20,}")
#: Longer than words are, and than words with a number.
_UNBROKEN = re.compile(r"[A-Z]{16,}|[a-z]{24,}|(?=[a-zA-Z]*\d)(?=\d*[a-zA-Z])[a-zA-Z0-9]{20,}")
#: Names, types and members: ``settings.DB_PASSWORD``, ``str|None``, ``this->secret``.
_CODE = re.compile(r"[^\W\d]+(?:(?:\??[.|=:]+|->)[^\W\d]+)*")
#: The same with digits, which only what comes first tells.
_MEMBER = re.compile(
    r"(?:self|cls|this|settings|config|cfg|conf|args|opts|options|request|req|os|env|process|ctx"
    r"|context|app|params|data|form|client|secrets|credentials|tokenizer)(?:\??\.|->)[\w.?]+"
)
#: A constant or a variable that is called what it holds.
_NAMED = re.compile(
    r"[A-Z][A-Z0-9_]*_(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD)[A-Z0-9_]*"
    r"|[a-z][a-z0-9_]*_(?:key|token|secret|password|passwd)\d?"
)
_NAME_BEFORE = re.compile(r"([A-Za-z0-9_-]+)[^A-Za-z0-9_-]*$")
#: Tokens that are no keys: of pages and of texts, and how many of them.
_OTHER_TOKEN = re.compile(
    r"(?i)(?:page|next|prev|previous|continuation|max|min|total|turn|eos|bos|pad|sep|unk|mask|cls"
    r"|special)[_-]?token$"
)


def made_up(word: str) -> bool:
    """Letters with digits or signs, or in a case that words do not have."""
    letters = any(c.isalpha() for c in word)
    others = any(not c.isalpha() and c not in "-_. /:" for c in word)
    return letters and (others or not (word.islower() or _WORDS.fullmatch(word)))


def stand_in(word: str) -> bool:
    """What people put where a key is demanded, or what is to be filled in."""
    if len(word) > _STAND_IN_AT_MOST:
        return False
    return bool(_DUMMY.fullmatch(word) or _TEMPLATE.fullmatch(word))


def is_path(word: str) -> bool:
    """A path from the root, the home or the working folder; base64 may begin with ``/``, too."""
    if _FILE.fullmatch(word):
        return True
    if not _PATH.fullmatch(word):
        return False
    parts = [part for part in re.split(r"[/\\]", word) if part]
    odd = [part for part in parts if drawn(part)]
    # A name or two may be drawn (``/tmp/tmp8x2k1a9b``), but not most of them, nor long ones.
    return 2 * len(odd) <= len(parts) and all(len(part) < LONG for part in odd)


def drawn(word: str) -> bool:
    """Drawn at random, as nearly all keys are: the kind of character changes all the time.

    Words with numbers do not do so, however many there are (``pk_orders_2024_partition``).
    """
    return any(_drawn(part) for part in re.split(r"[^A-Za-z0-9]+", word))


def _drawn(part: str) -> bool:
    if _HEX.fullmatch(part) or _UNBROKEN.fullmatch(part):
        return True
    runs = _RUN.findall(part)
    if len(runs) < 4:
        return False
    length = 3.5 if any(c.isdigit() for c in part) else 2.9
    return len(part) <= length * len(runs) or 2 * sum(len(run) <= 2 for run in runs) >= len(runs)


def counts(word: str, least: int) -> bool:
    """Whether a value is a secret and not a word that stands in other texts, too."""
    if len(word) < least or stand_in(word) or is_path(word):
        return False
    return len(word) >= LONG or made_up(word)


def token(value: str) -> bool:
    """What stands under ``token``, ``signature``, ``cookie``: texts do so, too, and code."""
    if any(c in "()[]{}<>" for c in value) or is_path(value):
        return False
    return any(len(word) >= SHORT and made_up(word) for word in value.split())


def _literal(text: str, start: int, end: int) -> bool:
    """What is written as a value. Weak ones, of lower-case letters only, are words."""
    word = text[start:end]
    if stand_in(word) or is_path(word):
        return False
    if _is_token(text, start) and (word.isdigit() or other_token(_name(text, start))):
        return False
    # Words with a hyphen are how passphrases look; with other signs they are names.
    signs = "-" in word.strip("-") or any(c.isdigit() for c in word)
    return signs or made_up(word) or drawn(word)


def _assigned(text: str, start: int, end: int) -> bool:
    """The same, where what is not quoted may be code."""
    if not _literal(text, start, end):
        return False
    quoted = start > 0 and text[start - 1] in "\"'" and text[end : end + 1] in ("\\", '"', "'")
    return quoted or not _is_code(text, start, end)


def _is_code(text: str, start: int, end: int) -> bool:
    word = text[start:end].strip("`*").rstrip(".:?")
    if text[end : end + 1] in ("[", "(") or _MEMBER.fullmatch(word) or _NAMED.fullmatch(word):
        return True
    if _CODE.fullmatch(word):
        return not drawn(word)
    return "." in word and word.rpartition(".")[2] == _name(text, start)


def _name(text: str, start: int) -> str:
    """The name in front of a value."""
    found = _NAME_BEFORE.search(text[max(0, start - 80) : start])
    return found[1] if found else ""


def _is_token(text: str, start: int) -> bool:
    return _name(text, start).lower().endswith("token")


def other_token(name: str) -> bool:
    """Whether a name ends in ``token`` and is that of no key (``next_page_token``)."""
    return _OTHER_TOKEN.search(name) is not None


def _random(text: str, start: int, end: int) -> bool:
    return drawn(text[start:end])


def _address(text: str, start: int, end: int) -> bool:
    """User and password of an address; a user alone only if it was drawn at random."""
    user, colon, password = text[start:end].partition(":")
    if user and not (colon and password):
        return drawn(user)
    return not stand_in(password) or (len(user) >= LONG and drawn(user))


#: How a rule may tell what its pattern found: by text, start and end.
LOOKS: Mapping[str, Callable[[str, int, int], bool]] = {
    "literal": _literal,
    "assigned": _assigned,
    "drawn": _random,
    "address": _address,
}
