"""Personal details between escapes and colours, and what looks like them in diffs and code."""

from __future__ import annotations

import json

import pytest

from harness.personal import Personal
from harness.personal.escapes import plain
from tests.minimise.test_personal import freed

# A detail, and what becomes of it wherever it stands.
DETAILS = {
    "bob@corp.com": "person1@example.com",
    "10.1.2.3": "192.0.2.1",
    "fe80::1ff:fe23:4567:890a": "2001:db8::1",
    "+49 30 1234567": "+00 00 0000001",
    "555-867-5309": "000-000-0001",
    "0049 30 1234567": "0000 00 0000001",
    "06 12 34 56 78": "00 00 00 00 01",
    "4111111111111111": "0000000000000001",
    "DE89370400440532013000": "DE00000000000000000001",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301": "00000000-0000-4000-8000-000000000001",
    "https://wiki.corp.com/x": "https://host1.example/x",
    "Author: Jane Doe": "Author: Person 1",
    "/home/bob/x": "/home/user1/x",
    "C:\\Users\\bob": "C:\\Users\\user1",
    "J\u00fcrgen@corp.com": "person1@example.com",
    '{"author": "Jane Doe"}': '{"author": "Person 1"}',
}


def in_json(text: str) -> str:
    return json.dumps({"out": text})


@pytest.mark.parametrize("end", ["\n", "\n\t", "\r\n"])
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("detail", DETAILS)
def test_in_json_and_in_json_inside_of_it(detail: str, times: int, end: str) -> None:
    """It stays JSON, and says the same as without it."""
    text, expected = (f"line{end}{each}{end}last" for each in (detail, DETAILS[detail]))
    for _ in range(times):
        text, expected = in_json(text), in_json(expected)
    assert freed(text) == expected


COLOURS = ("\x1b[1;32m", "\\u001b[32m", "\\x1b[0m", "\\033[0m", "\\e[31m", "\x1b[K", "\x1b")


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("detail", DETAILS)
def test_in_colours(detail: str, colour: str) -> None:
    assert freed(f"{colour}{detail}{colour}\nx") == f"{colour}{DETAILS[detail]}{colour}\nx"


@pytest.mark.parametrize("text", [
    "a\\nb\\tc\\\\rd", "\x1b[32mgreen\x1b[0m",
    "\\u00fc\\u0022\\ud83d\\u0031", "C:\\temp\\new", "plain",
])  # fmt: skip
def test_what_is_read_is_as_long_as_what_is_there(text: str) -> None:
    assert len(plain(text)) == len(text)


def test_one_address_is_one_with_and_without_an_escape_before_it() -> None:
    personal = Personal()
    made = personal.scenario({"goal": in_json("Hi\nbob@corp.com"), "title": "bob@corp.com"})
    assert made == {"goal": in_json("Hi\nperson1@example.com"), "title": "person1@example.com"}
    assert personal.found == {"email": 1}


def test_a_name_found_elsewhere_is_replaced_behind_an_escape_and_in_a_path() -> None:
    made = Personal().scenario({"goal": in_json("/home/tom_x\ntom_x"), "title": "D:\\tom_x\\new"})
    assert made == {"goal": in_json("/home/user1\nuser1"), "title": "D:\\user1\\new"}


REPLACED = {
    "users/bob%40corp.com/x?to=eve%2B1%40corp.com": (
        "users/person1%40example.com/x?to=person2%40example.com"
    ),
    "to%3Dbob%40corp.com, %20bob@corp.com": "to%3Dperson2%40example.com, %20person1@example.com",
    "+bob@corp.com\n-bob@corp.com": "+person1@example.com\n-person1@example.com",
    "C:\\\\\\\\Users\\\\\\\\nora\\\\\\\\x": "C:\\\\\\\\Users\\\\\\\\user1\\\\\\\\x",
    "C:\\Users\\tom and C:\\Users\\nora": "C:\\Users\\user1 and C:\\Users\\user2",
    '"\\/home\\/bob\\/x"': '"\\/home\\/user1\\/x"',
    "+1 415 555 2671, +14155552671, +1.4155552672, +7 495 123-45-67": (
        "+0 000 000 0001, +00000000002, +0.0000000003, +0 000 000-00-04"
    ),
    "mail +4930123456\n+4930123456": "mail +0000000001\n+0000000001",
    "2a01:4f8::1, [fd00::5]:80, 2001:470:1f0b::2": "2001:db8::1, [2001:db8::2]:80, 2001:db8::3",
    "1.2.3.40, host = 10.0.0.1, ip == 10.0.0.2, 8.8.8.8": (
        "192.0.2.1, host = 192.0.2.2, ip == 192.0.2.3, 8.8.8.8"
    ),
}  # fmt: skip
STAYS = (
    "-2024-01-01 old\n+2024-01-02 new", "+2024/01/02", "+31.12.2024", "+20240102", "+1700000000",
    "+1733011200000", "+1234567890123", "+0.123456789", "+3.14159265358",
    "+@dataclasses.dataclass", "-@app.route", "+@pytest.mark.skip",
    in_json("x\n@pytest.fixture\ndef f(): ..."), in_json("\t@app.route"),
    "out[1::6], out[4::6] = arr[2::4], arr[::4]", "rows[2000::10], f(x)[3000::2]", "s[-2::-1]",
    "cafe::d0, std::a1, Foo::b2", "PyERFA: 2.0.0.3, nginx 1.2.3.4", "torch==12.1.0.1",
    "x>=10.20.1.1 y~=10.20.1.1", "1.2.3.4-beta, 10.2.3.4-rc1", "\\d+\\.\\d+", "%40types/node.x",
    "img%402x.png", "lib%40app.js",
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
