"""Secrets of the environment and of requests: which values count, and in which forms they go."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from urllib.parse import quote, quote_plus

import pytest

from harness.redact import Redactor, find, known_keys, places, same

KEY = "testkey-abcdefghij0123456789"
ODD = 'ab"cd\\ef/gh+ij=klm12345'
ACCENT = "clé-très-secrète-99"

#: Name and value in the environment, and what of it is a secret.
SECRET = {
    "a password": ("DB_PASSWORD", "hunter2horse9", "hunter2horse9"),
    "without a separator": ("PGPASSWORD", "hunter2horse9", "hunter2horse9"),
    "cut short": ("DB_PASS", "hunter2horse9", "hunter2horse9"),
    "long words": ("DB_PASS", "correcthorsebattery77", "correcthorsebattery77"),
    "spaces": ("WIFI_PASSWORD", "correct horse battery staple", "correct horse battery staple"),
    "a line end": ("DB_PASSWORD", "hunter2horse9\n", "hunter2horse9"),
    "mixed case": ("DB_PASSWORD", "kXqWvBnTzR", "kXqWvBnTzR"),
    "signs": ("DB_PASSWORD", "p@ss+word", "p@ss+word"),
    "a personal token": ("GITLAB_PAT", "gitlabpatvalue0123456789", "gitlabpatvalue0123456789"),
    "any key": ("SIGNING_AUTH", "tenantsecretvalue12345", "tenantsecretvalue12345"),
    "an address": ("DATABASE_URL", "postgres://svc:pgpass99word@db/x", "pgpass99word"),
    "an address, quoted": ("DATABASE_URL", "postgres://svc:pg%40ss99word@db/x", "pg@ss99word"),
    "a connection string": ("ODBC", "Server=db;Uid=me;Pwd=hunter2horse9;", "hunter2horse9"),
    "libpq": ("DSN", "host=db user=me password='hunter2horse9'", "hunter2horse9"),
    "a connection string, in braces": ("ODBC", "Server=h;Pwd={Kx9v;Lq2m};", "Kx9v;Lq2m"),
    "libpq, with a space": ("DSN", "host=db password='Str0ng Pa55' user=u", "Str0ng Pa55"),
    "a short name": ("USERPASS", "hunter2horse9", "hunter2horse9"),
    "in JSON": ("DB_SECRET", '{"username": "app", "password": "Kx9vLq2mZZ"}', "Kx9vLq2mZZ"),
    "deep in JSON": (
        "VCAP_SERVICES",
        '{"pg": [{"credentials": {"password": "Kx9vLq2mZZ"}}]}',
        "Kx9vLq2mZZ",
    ),
    "an address in JSON": ("VCAP_SERVICES", '[{"uri": "postgres://u:Qw3rTyU9@h/db"}]', "Qw3rTyU9"),
    "a token as user": (
        "PIP_INDEX_URL",
        "https://Tk7fQp2LmZ9xVb4Rw8@pypi.corp/simple",
        "Tk7fQp2LmZ9xVb4Rw8",
    ),
    "a token for no password": (
        "GIT_URL",
        "https://Tk7fQp2LmZ9xVb4Rw8:x-oauth-basic@h/r.git",
        "Tk7fQp2LmZ9xVb4Rw8",
    ),
    "hex as user": (
        "SENTRY_DSN",
        "https://0123456789abcdef0123456789abcdef@o1.example/1",
        "0123456789abcdef0123456789abcdef",
    ),
    "base64 that begins like a path": (
        "DB_PASSWORD",
        "/wJalrXUtnFEMI7K7MDENGbPxRfiCYzEXAMPLEK",
        "/wJalrXUtnFEMI7K7MDENGbPxRfiCYzEXAMPLEK",
    ),
    "of a header": ("x-tenant-auth", "tenantsecretvalue12345", "tenantsecretvalue12345"),
    "of a query": ("code", "querysecret12345678", "querysecret12345678"),
    "of a cookie": ("cookie", "a=1; sid=cookievalue1234567890", "cookievalue1234567890"),
    "of a scheme": ("authorization", "Bearer plain-words-only", "plain-words-only"),
    "of user and key": ("authorization", "Basic dXNlcjpodW50ZXIyaG9yc2U5", "hunter2horse9"),
}
NO_SECRET = {
    "a word": ("DB_PASSWORD", "password"),
    "words": ("DB_PASSWORD", "correct-horse"),
    "a name of a database": ("POSTGRES_PASSWORD", "postgres"),
    "with a number": ("POSTGRES_PASSWORD", "postgres15"),
    "change it": ("DB_PASSWORD", "changeme123"),
    "local": ("DB_PASSWORD", "localhost"),
    "of many such": ("OPENAI_API_KEY", "your-api-key-here"),
    "none needed": ("OPENAI_API_KEY", "sk-no-key-required"),
    "digits": ("DB_PASSWORD", "12345678"),
    "short": ("DB_PASSWORD", "s3cret!"),
    "a short value of any key": ("SORT_KEY", "created_at2"),
    "of an address": ("DATABASE_URL", "postgres://postgres:postgres@localhost/x"),
    "a variable": ("OPTS", "password=${DB_PASSWORD}"),
    "a file": ("TLS_PRIVATE_KEY", "/etc/ssl/private/server-2024.pem"),
    "a file without an ending": ("SSH_PRIVATE_KEY", "/home/me/.ssh/id_ed25519"),
    "a mounted file": ("GOOGLE_APPLICATION_CREDENTIALS", "/var/run/secrets/gcp"),
    "a folder": ("ORIGINAL_PWD", "/srv/app1/src"),
    "a folder at the root": ("ORIGINAL_PWD", "/workspace2"),
    "change it later": ("SECRET_KEY", "change-me-in-production"),
    "change it before": ("SECRET_KEY", "please-change-this-secret-before-production"),
    "to be filled in": ("OPENAI_API_KEY", "{{OPENAI_API_KEY}}"),
    "a name of a user": ("GIT_URL", "https://service-account-prod01@host/repo.git"),
    "a user of the address": ("DATABASE_URL", "postgres://deploy01:deploy01@h/db"),
    "a page": ("NEXT_PAGE_TOKEN", "CAUQAA12abcdEFGH99"),
    "broken JSON": ("SETTINGS", '{"password": "Kx9vLq2mZZ"'),
    "the shell's folder": ("PWD", "/home/me/projects/agent-2024"),
    "drawn for each request": ("idempotency-key", "stainless-python-retry-1234-abcd"),
    "another name": ("OTHER_PATH", "gitlabpatvalue0123456789"),
}


@pytest.mark.parametrize("case", SECRET)
def test_a_value_is_a_secret(case: str) -> None:
    name, value, secret = SECRET[case]
    redactor = Redactor()
    redactor.learn({name: value})
    assert same(redactor.text(f"it is <{secret}>.")) == "it is <[redacted client_key>."


@pytest.mark.parametrize("case", NO_SECRET)
def test_a_value_is_none(case: str) -> None:
    name, value = NO_SECRET[case]
    redactor = Redactor()
    redactor.learn({name: value})
    for text in (value, *re.split("[=:/@]", value)):
        assert "client_key" not in redactor.text(f"it is <{text}>")


@pytest.mark.parametrize(
    "named",
    [
        {"DB_USER": "service01", "DB_PASSWORD": "service01"},
        {"PGUSER": "service01", "PGPASSWORD": "service01"},
        {"PGDATABASE": "service01", "PGPASSWORD": "service01"},
        {"PGHOST": "service01", "PGPASSWORD": "service01"},
        {"DATABASE_URL": "postgres://service01:service01@h/db", "DB_PASSWORD": "service01"},
        {"DB_SECRET": '{"username": "service01", "password": "service01"}'},
    ],
)
def test_a_password_that_is_a_user_too_is_none(named: dict[str, str]) -> None:
    redactor = Redactor()
    redactor.learn(named)
    assert redactor.text("log of service01") == "log of service01"


#: Secret, how it stands in a text, and what is left.
FORMS = {
    "as it is": (ODD, ODD),
    "in JSON": (ODD, json.dumps(ODD)[1:-1]),
    "in JSON, with slashes": (ODD, json.dumps(ODD)[1:-1].replace("/", "\\/")),
    "in JSON within JSON": (ODD, json.dumps(json.dumps(ODD)[1:-1])[1:-1]),
    "in a literal": (ODD, ODD.replace("\\", "\\\\")),
    "in JSON, ASCII": (ACCENT, json.dumps(ACCENT)[1:-1]),
    "in an address": (ODD, quote(ODD, safe="")),
    "in a path": (ODD, quote(ODD)),
    "in a form": (ODD + " x", quote_plus(ODD + " x")),
    "accents in an address": (ACCENT, quote(ACCENT)),
    "in hex": (KEY, KEY.encode().hex()),
    "in HEX": (KEY, KEY.encode().hex().upper()),
    "in base64": (KEY, base64.b64encode(KEY.encode()).decode()),
    **{
        f"behind a user of {len(user)}": (KEY, base64.b64encode(f"{user}:{KEY}".encode()).decode())
        for user in ("u", "us", "use", "user")
    },
    "between others": (KEY, base64.b64encode(f"<<{KEY}>> and more".encode()).decode()),
    "in base64 of addresses": (
        "subject?>>" + KEY,
        base64.urlsafe_b64encode(("a:subject?>>" + KEY).encode()).decode(),
    ),
    "short, in base64": ("hunter2h", base64.b64encode(b"me:hunter2h").decode()),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_goes_in_any_form(form: str) -> None:
    secret, shown = FORMS[form]
    redactor = Redactor()
    redactor.learn({"DB_PASSWORD": secret})
    cleaned = redactor.text(f"before {shown} after")
    assert same(cleaned) == "before [redacted client_key after"
    assert redactor.text(cleaned) == cleaned
    assert same(redactor.value({"a": [f"x {shown}"]})["a"][0]) == "x [redacted client_key"
    assert redactor.text(f"{shown} {shown}").count("[redacted client_key") == 2


def test_a_value_that_is_no_text_does_no_harm() -> None:
    redactor = Redactor()
    redactor.learn({"DB_PASSWORD": "hunter2horse\udcff9"})
    assert same(redactor.text("hunter2horse%FF9")) == "[redacted client_key"


def test_of_two_that_begin_alike_the_longer_one_goes_whole() -> None:
    """Whatever order sets have: each seed of the hashes another one."""
    told = (
        "from harness.redact import Redactor, same\n"
        "redactor = Redactor()\n"
        "redactor.learn({'A_KEY': 'prefixkey-1234567890',\n"
        "                'B_KEY': 'prefixkey-1234567890-TAIL', 'C_KEY': 'xprefixkey-1234567890'})\n"
        "print(same(redactor.text('prefixkey-1234567890-TAIL xprefixkey-1234567890')), end='')"
    )
    for seed in range(5):
        run = subprocess.run(
            [sys.executable, "-c", told],
            capture_output=True, check=True, text=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        )  # fmt: skip
        assert run.stdout == "[redacted client_key [redacted client_key"


def test_what_is_learnt_in_pieces_first_is_known_whole_later() -> None:
    redactor = Redactor()
    redactor.learn({"cookie": f"sid={KEY}"})
    redactor.learn({"OTHER_KEY": KEY})
    assert same(redactor.text(KEY.encode().hex())) == "[redacted client_key"


def test_known_keys_are_found_in_what_exists() -> None:
    known = known_keys({"DB_PASSWORD": "hunter2horse9"})
    assert [each.rule for each in find("a hunter2horse9", known)] == ["client_key"]
    assert list(places({"a": ["hunter2horse9"]}, known)) == [("client_key", "a[0]")]
    assert find("a hunter2horse9") == []


def test_much_of_it_takes_no_longer() -> None:
    redactor = Redactor()
    redactor.learn({"DB_PASSWORD": KEY})
    code = base64.b64encode(KEY.encode() * 3).decode()
    for text in (KEY * 20_000, code * 5_000, "QUJD" * 100_000 + code):
        assert redactor.text(text).count("[redacted client_key") in (1, 20_000)
