"""Personal details: what is replaced by what, and what stays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.fingerprint import normalise
from harness.personal import Personal, renumbered

# A text, and what becomes of it.
REPLACED = {
    "mail jane.doe+x@acme.io, twice: jane.doe+x@acme.io": (
        "mail person1@example.com, twice: person1@example.com"
    ),
    "a@b.co and ü.ö@bücher.de": "person1@example.com and person2@example.com",
    "git clone git@git.acme.io:team/x": "git clone person1@example.com:team/x",
    "see https://wiki.acme.io/a/b?user=7&t=x#top.": "see https://host1.example/a/b?q=1#top.",
    "ftp://db.acme.io:5432/x is db.acme.io": "ftp://host1.example:5432/x is host1.example",
    "https://jane@acme.io/x": "https://user1@host1.example/x",
    "http://10.2.3.4:80/": "http://host1.example:80/",
    "from 10.2.3.4 to 81.2.69.142": "from 192.0.2.1 to 192.0.2.2",
    "fe80::1ff:fe23:4567:890a up": "2001:db8::1 up",
    "/home/jane/x /Users/jane C:\\Users\\jane\\z": "/home/user1/x /Users/user1 C:\\Users\\user1\\z",
    '{"p": "C:\\\\Users\\\\jane.d"}': '{"p": "C:\\\\Users\\\\user1"}',
    "call +49 (30) 1234-5678 now": "call +00 (00) 0000-0001 now",
    "tel. 555-867-5309": "tel. 000-000-0001",
    "card 4111 1111 1111 1111": "card 0000 0000 0000 0001",
    "IBAN DE89 3704 0044 0532 0130 00": "IBAN DE00 0000 0000 0000 0000 01",
    "id 3f2504e0-4f89-11d3-9a0c-0305e82c3301": "id 00000000-0000-4000-8000-000000000001",
    "Author: Jane Doe <jane@acme.io>\nfix by Jane Doe": (
        "Author: Person 1 <person1@example.com>\nfix by Person 1"
    ),
    "    Signed-off-by: Jürgen Groß <j@x.de>": "    Signed-off-by: Person 1 <person1@example.com>",
    'got {"user_id": "mia_li_36", "first_name": "Mia"} of mia_li_36': (
        'got {"user_id": "Person 1", "first_name": "Person 2"} of Person 1'
    ),
    '"name": "Mia Li"': '"name": "Person 1"',
    "GET /v1/users/jane.d@acme.io/mail": "GET /v1/users/person1@example.com/mail",
    "https://api.acme.io/users/jane.d@acme.io/mail": (
        "https://host1.example/users/person1@example.com/mail"
    ),
    "inet addr:10.1.2.3 host:10.1.2.4:8080": "inet addr:192.0.2.1 host:192.0.2.2:8080",
    "::ffff:10.1.2.3": "::ffff:192.0.2.1",
    "call 1-415-555-2671 or 1 (415) 555-2672": "call 0-000-000-0001 or 0 (000) 000-0002",
    "call 06 12 34 56 78 de chez": "call 00 00 00 00 01 de chez",
    "fax 06.12.34.56.78.": "fax 00.00.00.00.01.",
    "0049 30 1234567, 0049 (0)30 1234568, 0049 1721234567": (
        "0000 00 0000001, 0000 (0)00 0000002, 0000 0000000003"
    ),
    "tel.+4930123456": "tel.+0000000001",
    "C:\\Users\\Jane Doe\\x, C:/Users/Jane Doe/x": (
        "C:\\Users\\user1\\x, C:/Users/user1/x"
    ),
    'cd "C:\\Users\\Jane van Doe"': 'cd "C:\\Users\\user1"',
    "postgres://jane:pw@db.acme.internal/prod": "postgres://user1:pw@host1.example/prod",
    "postgres://[redacted url_credentials abcdef]@db.acme.internal:5432/prod?u=jane": (
        "postgres://[redacted url_credentials abcdef]@host1.example:5432/prod?q=1"
    ),
    "https://x.acme.io/?key=[redacted query abcdef]&user=jane then": (
        "https://host1.example/?q=1 then"
    ),
    # What stands there already is nobody else's replacement.
    "person1@example.com and bob@corp.com": "person1@example.com and person2@example.com",
    "http://host1.example http://a.io/?b q=1": (
        "http://host1.example http://host2.example/?q=2 q=1"
    ),
    "/home/user1 /home/user3 /home/bob /home/eve": (
        "/home/user1 /home/user3 /home/user2 /home/user4"
    ),
    "192.0.2.1 10.0.0.1, 000-000-0001 555-867-5309": (
        "192.0.2.1 192.0.2.2, 000-000-0001 000-000-0002"
    ),
}  # fmt: skip
STAYS = (
    "localhost:8080, http://localhost:8080/x, http://127.0.0.1/x, ping 127.0.0.1 and ::1",
    "https://example.com/x, http://api.example.org, me@example.com, x@y.example",
    "/home/user/x, /home/runner/work, /Users/Shared, C:\\Users\\Public",
    "card 4111 1111 1111 1112, order 1234567890123, sha 4f2a9c1b7d, 2026-11-30 12:30:45",
    "version 1.2.3, 3.14159, 1,234,567 rows, 555 items, port 5432, std::vector<int> a::b",
    "From: the beginning", '"name": "parse_config"', '{"name": "get_user"}', "@decorator",
    "Person 1 at person1@example.com on host1.example", "0x7f3a", "192.0.2.7",
    "def f(self):\n    return self.name", "npm i react@18.2.0", "a/b@v1.2",
    "/node_modules/react-dom@18.2.0/index.js", "golang.org/x/tools@v0.1.0/go.mod",
    "/img/logo@2x.png", "/etc/systemd/getty@tty1.service", "actions/checkout@v4.1.tar.gz",
    "Version=4.0.0.0, version: 1.2.3.4, \"version\": \"1.2.3.4\", v10.2.3.4, 1.2.3.4.5",
    "main.c:10:22: error, a.py:1:2, [::1]:80, 12:30:45.123, mask 255.255.255.0",
    "2026-11-30 12:30:45 +0100, 2026-11-30T12:30:45.000+01:00, at 1733011200000 ms",
    "1733011200000000 us", "0012 1048576 bytes", "step 0010 2026-12-01 12:30", "001234567890",
    "ff 06 12 34 56 78 9a", "01 02 03 04 05 06", "00 06 12 34 56 78", "2026.06.12.34.56.78",
    "sha1 0612345678901234567890123456789012345678", "1.234.567.890 items", "MAC 01-23-45-67-89-ab",
    "C:\\Users\\Public Data and C:\\Users\\All Users\\x",
)  # fmt: skip


@pytest.mark.parametrize("text", REPLACED)
def test_replaced(text: str) -> None:
    assert freed(text) == REPLACED[text]


@pytest.mark.parametrize("text", STAYS)
def test_stays(text: str) -> None:
    assert freed(text) == text


@pytest.mark.parametrize("text", [*REPLACED, *STAYS])
def test_twice_is_once(text: str) -> None:
    assert freed(freed(text)) == freed(text)


@pytest.mark.parametrize("text", [t for t in REPLACED if "id 3f25" in t or "card" in t])
def test_a_number_stays_what_fingerprints_take_it_for(text: str) -> None:
    assert normalise(freed(text)) == normalise(text) or "card" in text


def freed(text: str) -> str:
    """The text as it stands in a result."""
    step = {"calls": [{"tool": "t", "result": text}]}
    made = Personal().scenario({"steps": [step]})
    result: str = made["steps"][0]["calls"][0]["result"]
    return result


def test_keys_of_arguments_tell_names_and_those_of_the_format_do_not() -> None:
    args = {"name": "Mia Li", "login": "mia.li", "path": "x", "user": "Find it.", "author": ["Mia"]}
    data = {"steps": [{"user": "Ask Mia Li.", "calls": [{"tool": "name", "args": args}]}],
            "tools": {"name": {}}}  # fmt: skip
    made = Personal().scenario(data)
    (step,) = made["steps"]
    assert step["user"] == "Ask Person 1."
    assert step["calls"] == [
        {"tool": "name", "args": {"name": "Person 1", "login": "Person 2", "path": "x",
                                  "user": "Find it.", "author": ["Person 3"]}}
    ]  # fmt: skip
    assert made["tools"] == {"name": {}}


def test_what_was_found_is_counted_and_can_be_left() -> None:
    data = {"goal": "a@b.io c@d.io a@b.io 10.2.3.4"}
    personal = Personal()
    personal.scenario(data)
    assert personal.found == {"email": 2, "ip": 1}
    assert Personal(leave=["email"]).scenario(data) == {"goal": "a@b.io c@d.io a@b.io 192.0.2.1"}


NUMBERS = {4111111111111111: 1000000000000001, 378282246310005: 100000000000001} | dict.fromkeys(
    [1733011200000, 1733011200000000, 4111111111111112, 411111111111111111, 88123, True, 4.5]
)  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
def test_card_numbers_without_quotes(number: float) -> None:
    """Others stay, and so do those that the format itself has."""
    expected = NUMBERS[number] or number
    args = {"card": number, "of": [{"n": number}]}
    data = {"seed": number, "steps": [{"calls": [{"tool": "pay", "args": args}], "ms": number}]}
    made = Personal().scenario(data)
    assert made == {"seed": number, "steps": [
        {"calls": [{"tool": "pay", "args": {"card": expected, "of": [{"n": expected}]}}],
         "ms": number},
    ]}  # fmt: skip
    assert Personal().scenario(made) == made


def test_more_addresses_than_are_set_aside_stay_different() -> None:
    many = [f"10.1.{n // 250}.{n % 250}" for n in range(800)]
    made = Personal().scenario({"capabilities": many})["capabilities"]
    assert len(set(made)) == 800
    assert Personal().scenario({"capabilities": made}) == {"capabilities": made}


def test_a_late_name_is_replaced_early_too() -> None:
    data = {"steps": [{"user": "jane_d here"}, {"user": "cd /home/jane_d"}]}
    made = Personal().scenario(data)
    assert made == {"steps": [{"user": "user1 here"}, {"user": "cd /home/user1"}]}


def test_placeholders_of_secrets_are_numbered() -> None:
    data = {"a": ["x [redacted api_key qwerty] [redacted jwt abcdef]", "[redacted api_key qwerty]"]}
    assert renumbered(data) == {
        "a": ["x [redacted api_key aaaaaa] [redacted jwt aaaaab]", "[redacted api_key aaaaaa]"]
    }


emails = st.from_regex(r"[a-z]{3,8}@[a-z]{3,8}\.(?:io|org)", fullmatch=True)


@given(st.lists(emails | st.text(max_size=5), max_size=8))
def test_equal_stays_equal_and_different_different(words: list[str]) -> None:
    data: dict[str, Any] = {"capabilities": words}
    made = Personal().scenario(data)["capabilities"]
    same = [[a == b for b in words] for a in words]
    assert [[a == b for b in made] for a in made] == same
