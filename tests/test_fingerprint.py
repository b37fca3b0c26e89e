from __future__ import annotations

import pytest

from harness.fingerprint import (
    IDENTITIES,
    SHORT_RESULT,
    call_prints,
    canonical,
    digest,
    is_transient,
    last_line,
    normalise,
    result_print,
)


@pytest.mark.parametrize(
    ("expected", "args"),
    [
        pytest.param('{"a":1,"b":2}', {"b": 2, "a": 1}, id="keys are sorted"),
        pytest.param('{"a":1}', {"a": 1, "b": None}, id="a null member is left out"),
        pytest.param('{"a":{"c":1}}', {"a": {"b": None, "c": 1}}, id="at any depth"),
        pytest.param('[{"a":1},null]', [{"a": 1, "b": None}, None], id="a place in a list stays"),
        pytest.param("{}", None, id="no arguments"),
        pytest.param("{}", {}, id="an empty object"),
        pytest.param('"ls"', "ls", id="a bare text"),
        pytest.param('{"ort":"Köln"}', {"ort": "Köln"}, id="text as it is"),
    ],
)
def test_canonical_arguments(expected, args):
    assert expected == canonical(args)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("id <uuid>", "id 123e4567-e89b-12d3-a456-426614174000"),
        ("at <time>", "at 2026-01-31T10:00:00.123Z"),
        ("at <time>", "at 2026-01-31 10:00:00 +01:00"),
        ("on <time>", "on 2026/01/31"),
        ("<time> INFO up", "10:00:07,123 INFO up"),
        ("took <duration>", "took 1.5 s"),
        ("took <duration>", "took 12ms"),
        ("took <duration>", "took 3 minutes"),
        ("wrote <tmp>", "wrote /tmp/pytest-of-root/x.log"),
        ("wrote <tmp>", "wrote /private/var/folders/ab/x"),
        ("<object at <hex>>", "<object at 0x7f8a1c>"),
        ("commit <hex>", "commit 4f2a9c1"),
        ("pid <pid> died", "pid 4711 died"),
        ("Process <pid>", "Process: 4711"),
        ('{"request_id":<id>}', '{"request_id": "r-1"}'),
        ("serial <number>", "serial 1767225600000"),
        ("a b", " a \n\t b "),
    ],
)
def test_what_moves_although_nothing_happened_is_removed(expected, text):
    assert expected == normalise(text)


def test_a_process_number_in_json_is_removed():
    assert normalise('{"pid": 4711}') == normalise('{"pid": 4712}')


@pytest.mark.parametrize(
    "text",
    [
        "3 of 9 tests pass",
        "attempt 4",
        "line 512, column 7",
        "progress 47 %",
        "version 2.3.1",
        "exit code 2",
        "feedback",
        "1,024 bytes left",
    ],
)
def test_counters_that_move_are_kept(text):
    assert text == normalise(text)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("KeyError: 'a'", "Traceback\n  line 3\nKeyError: 'a'"),
        ("error 2", "make\n  error 2  \n\n \n"),
        ("", " \n "),
    ],
)
def test_the_last_line_names_the_error(expected, text):
    assert expected == last_line(text)


@pytest.mark.parametrize(
    ("result", "exit_code"),
    [
        ("HTTP 429", 1),
        ("status code: 503", None),
        ("Error code: 529 overloaded", None),
        ("408 Request Timeout", None),
        ("requests.exceptions.ReadTimeout: read timed out", 1),
        ("deadline exceeded", None),
        ("Connection refused", 1),
        ("ECONNRESET", None),
        ("rate limit reached", None),
        ("killed", 124),
        (None, 124),
    ],
)
def test_failures_that_may_pass(result, exit_code):
    assert is_transient(result, exit_code)


@pytest.mark.parametrize(
    ("result", "exit_code"),
    [
        ("KeyError: 'a'", 1),
        ("HTTP 404 Not Found", None),
        ("HTTP 401 Unauthorized", None),
        ("make: *** [all] Error 2", 2),
        ("503 tests collected, 1 failed", 1),
        ("no such file: 429.txt", 1),
        ("", 1),
        (None, None),
    ],
)
def test_failures_of_the_agents_own(result, exit_code):
    assert not is_transient(result, exit_code)


@pytest.mark.parametrize(
    "result",
    [
        pytest.param("error: line 512: unexpected token", id="a line number is no status"),
        pytest.param("Error: expected 500 items, got 3", id="a count is no status"),
        pytest.param("TypeError: unexpected keyword argument 'timeout'", id="a parameter's name"),
        pytest.param("assert response.status_code == 500", id="a failing assertion"),
    ],
)
def test_failures_of_the_agents_own_that_look_transient(result):
    assert not is_transient(result, 1)


@pytest.mark.parametrize(
    ("same", "one", "other"),
    [
        pytest.param(
            {"action", "result"},
            ("read", '{"p":1}', "text"),
            ("read", '{"p":2}', "text"),
            id="other arguments",
        ),
        pytest.param(
            {"action", "args", "batch"},
            ("read", '{"p":1}', "one"),
            ("read", '{"p":1}', "two"),
            id="another result",
        ),
        pytest.param(
            {"action", "args", "batch", "args+normalised result", "normalised"},
            ("read", '{"p":1}', "pid 1"),
            ("read", '{"p":1}', "pid 2"),
            id="another process number",
        ),
        pytest.param(
            {"action", "normalised", "result"},
            ("send", '{"nonce":"a1","to":"x"}', "ok"),
            ("send", '{"nonce":"b2","to":"x"}', "ok"),
            id="an argument that is new by design",
        ),
        pytest.param(
            {"action", "result"},
            ("delete", '{"order_id":1}', "ok"),
            ("delete", '{"order_id":2}', "ok"),
            id="one record after another",
        ),
        pytest.param(set(), ("read", "{}", "text"), ("stat", "{}", "text"), id="another tool"),
        pytest.param(
            {
                "action",
                "args",
                "batch",
                "args+result",
                "args+normalised result",
                "normalised",
                "result",
            },
            ("read", "{}", None),
            ("read", "{}", ""),
            id="no result and an empty one",
        ),
    ],
)
def test_identity_is_a_policy(same, one, other):
    prints = [call_prints(*call, ok=True) for call in (one, other)]
    assert same == {policy for policy in prints[0] if prints[0][policy] == prints[1][policy]}


def test_errors_compare_by_their_last_line_whatever_was_called():
    one = call_prints("run", '{"cmd":"a"}', "try 1\npid 7: KeyError", ok=False)
    other = call_prints("test", "{}", "try 2\npid 8: KeyError", ok=False)
    assert one["error"] == other["error"]
    assert set(IDENTITIES) == set(one)
    assert "error" not in call_prints("run", "{}", "fine", ok=True)


@pytest.mark.parametrize(
    ("same", "size"),
    [
        pytest.param(False, SHORT_RESULT - 1, id="a short result counts with its arguments"),
        pytest.param(True, SHORT_RESULT, id="a longer one by itself"),
    ],
)
def test_what_makes_a_result_new(same, size):
    result = size * "x"
    assert same == (result_print('{"p":1}', result) == result_print('{"p":2}', result))


def test_the_length_that_counts_is_that_of_the_normalised_result():
    result = "ok, " + 60 * " " + "done"
    assert result_print('{"p":1}', result) != result_print('{"p":2}', result)


def test_a_digest_is_the_same_everywhere_and_keeps_its_parts_apart():
    assert digest("text", "hello") == "53efd65ef384c153"
    assert digest("ab", "c") != digest("a", "bc")


def test_half_a_surrogate_pair_can_be_hashed():
    assert len(digest("\ud800")) == 16
