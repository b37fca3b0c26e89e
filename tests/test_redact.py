"""What is a secret, what is none, and what a placeholder keeps."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.redact import Redactor

# Put together here, so that no scanner takes this file for a leak.
KEY20 = "Ab1" * 7
SECRETS = {
    "openai": ("key is sk-" + KEY20, "sk-" + KEY20),
    "openai project": ("sk-proj-" + KEY20 + "_-x", "sk-proj-" + KEY20 + "_-x"),
    "anthropic": ("sk-ant-api03-" + KEY20, "sk-ant-api03-" + KEY20),
    "bearer": ("curl -H 'Authorization: Bearer " + KEY20 + "'", KEY20),
    "basic": ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    "bearer in prose": ("sent bearer " + KEY20, KEY20),
    "header": ("X-Api-Key: " + "abc-def-ghi", "abc-def-ghi"),
    "cookie": ("Set-Cookie: sid=8f7e6d5c; Path=/", "8f7e6d5c"),
    "aws id": ("AKIA" + "ABCDEFGHIJ234567", "AKIA" + "ABCDEFGHIJ234567"),
    "aws secret": ("aws_secret_access_key = wJalrXUtnFEMI/" + "K7MDENG/bPxRfiCYEXAMPLEKEY",
                   "wJalr"),
    "github": ("token ghp_" + "a1B2" * 9, "ghp_"),
    "github fine": ("github_pat_" + "a1B2" * 10, "github_pat_"),
    "gitlab": ("glpat-" + KEY20, "glpat-"),
    "slack": ("xoxb-" + "123456789012-abcdefGHIJ", "xoxb-"),
    "slack hook": ("https://hooks.slack.com/services/" + "T00000000/B00000000/XXXX1111",
                   "XXXX1111"),
    "google": ("AIza" + "a1B2c" * 7, "AIza"),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "eyJhbGci"),
    "pem": ("-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA " + "PRIVATE KEY-----",
            "MIIEow"),
    "pem cut off": ("-----BEGIN " + "PRIVATE KEY-----\nMIIEow\nabc", "MIIEow"),
    "pem one line": ("-----BEGIN EC PRIVATE KEY" + "-----\\nMIIEow\\n-----END EC PRIVATE KEY-----",
                     "MIIEow"),
    "assigned": ("OPENAI_API_KEY=" + "abcdef123456", "abcdef123456"),
    "assigned, quoted": ('"client_secret": "' + "hunter2hunter2" + '"', "hunter2hunter2"),
    "assigned, escaped": ('{\\"password\\": \\"' + "hunter2hunter2" + '\\"}', "hunter2hunter2"),
    "password": ("password: " + "correct-horse", "correct-horse"),
    "a personal token": ("GITLAB_PAT=" + "abcdef123456", "abcdef123456"),
    "url": ("postgres://admin:" + "s3cret@db.internal/app", "s3cret"),
    "url with token": ("https://x-access-token:" + "abc123@github.com/o/r.git", "abc123"),
}  # fmt: skip
NONE = (
    "sk-learn is not a key, nor is sk-something-long-without-digits",
    "max_tokens = 4096 and completion_tokens: 128000",
    "the password is wrong; enter your password: ",
    "api_key=os.environ['OPENAI_API_KEY']",
    "api_key = None, token: null, secret = false",
    "password = getpass()",
    "http://example.com:8080/path?q=a@b",
    "git@github.com:owner/repo.git",
    "commit 3f2a9c1d4e5b6a7f8c9d0e1f2a3b4c5d6e7f8a9b",
    "the bearer of this letter",
    "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----",
    "550e8400-e29b-41d4-a716-446655440000",
)


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_goes(name: str) -> None:
    text, secret = SECRETS[name]
    found = Redactor().text(f"before {text} after")
    assert secret not in found
    assert "[redacted " in found
    assert found.startswith("before ")


@pytest.mark.parametrize("text", NONE)
def test_what_is_none_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_what_stands_around_it_stays() -> None:
    found = Redactor().text(f"first\nOPENAI_API_KEY=sk-{KEY20}\nlast https://u:pass12@h/x")
    lines = found.splitlines()
    assert lines[0] == "first"
    assert lines[1].startswith("OPENAI_API_KEY=[redacted api_key ")
    assert lines[2].endswith("@h/x")


@pytest.mark.parametrize("line", [f"Cookie: sid=8f7e6d5c; key=sk-{KEY20}",
                                  f"Cookie: key=sk-{KEY20}; sid=8f7e6d5c",
                                  f"Cookie: sk-{KEY20}; sid=8f7e6d5c"])  # fmt: skip
def test_a_secret_beside_another_goes_too(line: str) -> None:
    redactor = Redactor()
    once = redactor.text(line)
    assert "8f7e6d5c" not in once
    assert redactor.text(once) == once


def test_equal_secrets_stay_equal_and_others_other() -> None:
    redactor = Redactor()
    one, same = redactor.text(f"a sk-{KEY20}"), redactor.text(f"a sk-{KEY20}")
    other = redactor.text(f"a sk-{KEY20}9")
    assert one == same != other
    # Another recorder, another placeholder: nobody can try out guesses.
    assert Redactor().text(f"a sk-{KEY20}") != one


def test_doing_it_twice_changes_nothing() -> None:
    redactor = Redactor()
    for text, _ in SECRETS.values():
        once = redactor.text(text)
        assert redactor.text(once) == once
    value = redactor.value({"password": "hunter2", "x": [f"sk-{KEY20}"]})
    assert redactor.value(value) == value


def test_values_know_the_names_under_which_secrets_stand() -> None:
    found = Redactor().value(
        {"api_key": "x", "headers": {"Authorization": "q"}, "db_password": ["a", "b"],
         "max_tokens": 4096, "token": None, "prompt_tokens": "12", "query": "token of love",
         f"sk-{KEY20}": 1, "DB_PASS": "x", "pass": "12 of 14"}
    )  # fmt: skip
    assert found["DB_PASS"].startswith("[redacted value ")
    assert found["pass"] == "12 of 14"
    assert found["api_key"].startswith("[redacted value ")
    assert found["headers"]["Authorization"].startswith("[redacted ")
    assert all(item.startswith("[redacted ") for item in found["db_password"])
    assert (found["max_tokens"], found["token"]) == (4096, None)
    assert (found["prompt_tokens"], found["query"]) == ("12", "token of love")
    assert not any("sk-" in key for key in found)


def test_keys_that_a_client_sends_are_secrets_of_any_shape() -> None:
    redactor = Redactor()
    redactor.learn({"authorization": "Bearer plain-words-only", "accept": "application/json",
                    "api-key": "short"})  # fmt: skip
    found = redactor.text("refused: plain-words-only; short; application/json")
    assert found.startswith("refused: [redacted client_key ")
    assert found.endswith("; short; application/json")


def test_a_project_adds_its_own(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[[rule]]\nname = 'badge'\npattern = 'BDG-(?P<secret>\\d+)'\n")
    assert Redactor([own]).text("see BDG-4711 there").startswith("see BDG-[redacted badge ")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("x = ", "cannot be read"),
        ("version = 1", r"needs tables \[\[rule\]\]"),
        ("[[rule]]\nname = 'A b'\npattern = 'x'", "rule 1: name must be"),
        ("[[rule]]\nname = 'a'\npattern = '('", "rule a: pattern:"),
        ("[[rule]]\nname = 'a'", "rule a: pattern:"),
        ("[[rule]]\nname = 'a'\npattern = 'x'\nlooks = 'odd'", "rule a: looks: 'odd' is none of"),
    ],
)
def test_a_bad_file_of_patterns_is_one_line(tmp_path: Path, content: str, words: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(content)
    with pytest.raises(HarnessError, match=words) as caught:
        Redactor([own])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "part",
    ["a", "a_", "sk-", "sk-a1", "api_key", "password=", "eyJ", "-----BEGIN PRIVATE KEY-----",
     "x://", "x://a:", "bearer ", "aws key ", "\\\"", "cookie: ", "a:b@", "_token "],
)  # fmt: skip
def test_no_text_takes_long(part: str) -> None:
    text = part * (200_000 // len(part))
    began = time.monotonic()
    Redactor().text(text)
    assert time.monotonic() - began < 5
