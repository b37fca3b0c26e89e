"""Code, words and stand-ins stay as they are; what is written as a value goes."""

from __future__ import annotations

from typing import Any

import pytest

from harness.redact import Redactor, same

STAYS = (
    # Code: names, members, types, calls.
    "self.session = login(user, password=password, api_key=api_key)",
    "def __init__(self, api_key: Optional[str] = None, password: str|None = None):",
    "self.pad_token = tokenizer.eos_token",
    "interface User { name: string; password: string; accessToken: string }",
    "password = settings.DB_PASSWORD",
    "password = self.cleaned_data['password1']",
    "api_key = config.s3_access_key",
    "client_secret = OAUTH2_CLIENT_SECRET",
    "const apiKey = useApiKey; const secret = getAPIKeyFromStore",
    "secret = creds2.secret",
    'access_key = keys2["main"]',
    "for the password:\n\n```python\nx = 1",
    # Stand-ins and words.
    "SECRET_KEY='secret', PASSWORD = 'somepassword', 'passwd': 'mypassword'",
    "SECRET_KEY = 'change-me-in-production'",
    "'password': 'sésame'",
    "password: required. error: password: incorrect",
    "The api_key: should be set; `password`: invalid",
    # Paths.
    "pwd: /home/me/project",
    "passwd: /etc/passwd PWD=/home/me2/project",
    "SSH_KEY=/home/me/.ssh/id_ed25519",
    # Tokens that are no keys.
    "next_page_token=CAUQAA12abcd, max_token=4096000, eos_token=tokenizer, total_token: 128000",
    # Headers.
    'curl -H "Authorization: Bearer $GITHUB_TOKEN" https://host.example',
    '{"Authorization": "Bearer " + token, "x": 1}',
    "Authorization: Bearer <token>",
    "Authorization: Bearer {token}",
    "Authorization: Basic auth, Authorization: Digest",
    "authorization: required for this; Authorization: Role-based access",
    "x-api-key: your key",
    "Cookie: chocolate chip cookies",
    'Set-Cookie: mycookie=""; expires=Thu',
    # Names that begin like a key.
    "ALTER TABLE orders ADD CONSTRAINT pk_orders_2024_partition PRIMARY KEY (id)",
    "pk-users-2024-index-name sk_dim_customer_2023_sur rk_2024_ranking_model_v",
    "sk-learn-1234567890abcdef",
    # Addresses and users.
    "http://user:pass@host:8080 postgres://user:password@localhost/db",
    "https://service-account-prod01@bitbucket.example/repo.git",
    "curl -u admin:secret https://host.example",
)
#: Text, and what is left of it.
GOES = {
    "DB_PASS='hunter2'; password='hunter2'": "DB_PASS='hunter2'; password='[redacted assigned'",
    "password = 'S3cret!'": "password = '[redacted assigned'",
    "password: hunter2x": "password: [redacted assigned",
    "password: 'letmein!'": "password: '[redacted assigned'",
    "password=pa$$word": "password=[redacted assigned",
    "secret: kXqWvBnTzR": "secret: [redacted assigned",
    'pwd="12345678"': 'pwd="[redacted assigned"',
    "access_token = a1b2c3d4e5": "access_token = [redacted assigned",
    "password: correct-horse": "password: [redacted assigned",
    "password: `hunter2x`": "password: [redacted assigned",
    "Authorization: abc123def": "Authorization: [redacted header",
    "Authorization: Token abcdef-123456": "Authorization: Token [redacted header",
    "cookie: lang=en; sid=8f7e6d5c": "cookie: [redacted header",
    "https://Tk7fQp2LmZ9xVb4Rw8@pypi.example/simple":
        "https://[redacted url_credentials@pypi.example/simple",
    "https://Tk7fQp2LmZ9xVb4Rw8:x@h/r.git": "https://[redacted url_credentials@h/r.git",
    "curl -u admin:hunter2 x": "curl -u admin:[redacted user x",
    "pk_live_51Ab2Cd3Ef4Gh5Ij6": "[redacted api_key",
    "sk-" + "0f1e2d3c4b5a69788796a5b4c3d2e1f0": "[redacted api_key",
}  # fmt: skip


@pytest.mark.parametrize("text", STAYS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor().text(text) == text


@pytest.mark.parametrize("text", GOES)
def test_what_is_written_as_a_value_goes(text: str) -> None:
    cleaned = Redactor().text(text)
    assert same(cleaned) == GOES[text]
    assert Redactor().text(cleaned) == cleaned


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("page_token", "CAUQAA12abcdEFGH99"),
        ("next_page_token", "CAUQAA12abcdEFGH99"),
        ("pwd", "/srv"),
        ("private_key", "/home/me/.ssh/id_ed25519"),
        ("signature", "def f(a)"),
        ("signature", "find(lcp: List[List[int1]]) -> str: "),
        ("token", "ETH"),
        ("token", " don't"),
        ("credentials", "same-origin"),
        ("cookie", "accept"),
        ("per_turn_token", 12000),
        ("max_token", 128000),
        ("access_token", 128000),
        ("api_key", "**********"),
        ("FAIL_TO_PASS", ["tests/test_a.py::test_b1"]),
        ("PASS_TO_PASS", "tests/test_a.py::test_b1"),
    ],
)
def test_a_member_stays(name: str, value: Any) -> None:
    assert Redactor().value({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("token", "a1b2c3d4e5"),
        ("bot-token", "tok-12345678"),
        ("signature", "c2lnbmF0dXJlIG9mIGl0"),
        ("set-cookie", "sid=8f7e6d5c; Path=/"),
        ("credential", "hunter2horse9"),
        ("access_token", "any words"),
        ("pwd", "/wJalrXUtnFEMI7K7MDENGbPxRfiCYzEXAMPLEK"),
        ("DB_PASS", "x"),
        ("pin_password", 123456),
    ],
)
def test_a_member_goes(name: str, value: Any) -> None:
    assert same(Redactor().value({name: value})[name]) == "[redacted value"
