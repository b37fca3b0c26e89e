"""A preset that breaks a rule gets one line: file, key, value, choices."""

from __future__ import annotations

import pytest

from harness.errors import PresetError
from harness.preset import load_preset, load_presets

HEADER = 'schema = "harness/preset@1"\n'


def refused(path, text: str) -> str:
    """The message about ``text``, the file's name left out."""
    path.write_text(text, "utf-8")
    with pytest.raises(PresetError) as error:
        load_preset(str(path))
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith(f"preset {path}: ")
    return message.removeprefix(f"preset {path}: ")


#: The whole message, or how it begins and ends.
FILES = {
    "unknown key": ("speed = 3", "key: found 'speed'; choose from: extends, guards, ", "title"),
    "another schema": ('schema = "x@9"', "schema: found 'x@9'; choose from: harness/preset@1"),
    "no schema": ("", "schema: found None"),
    "bad TOML": ("[guards\n", "not valid TOML: "),
    "guards are no table": (HEADER + "guards = 3", "guards: must be a table, found 3"),
    "observe is no boolean": (
        HEADER + 'observe = "yes"',
        "observe: must be true or false, found 'yes'",
    ),
    "extends is no name": (HEADER + "extends = 5", "extends: must be a name or a file, found 5"),
}


@pytest.mark.parametrize("case", FILES.values(), ids=FILES)
def test_the_file(case, tmp_path):
    text, start, *ends = case
    message = refused(tmp_path / "mine.toml", text)
    assert message.startswith(start)
    assert all(message.endswith(end) for end in ends)


GUARDS = {
    "unknown guard": ("spinn = 3", "spinn: guard kind: found 'spinn' (did you mean 'spin'?); "),
    "unknown kind": ('a = {kind = "b"}', "a: guard kind: found 'b'; choose from: all_of, "),
    "unknown key": (
        "spin = {windw = 3}",
        "spin.windw: unknown key, found 'windw'",
    ),
    "unknown action": (
        'spin = {on_fire = "stopp"}',
        "spin.on_fire: found 'stopp' (did you mean 'stop'?); choose from: delegate, ",
    ),
    "unknown action in a ladder": (
        'spin = {on_fire = ["warn", "halt"]}',
        "spin.on_fire: found 'halt'; choose from: delegate, ",
    ),
    "unknown action at a level": (
        'spin = {on_fire = {3 = "halt"}}',
        "spin.on_fire: found 'halt'; choose from: delegate, ",
    ),
    "a level that is no number": (
        'spin = {on_fire = {often = "stop"}}',
        "spin.on_fire: levels are signal values, found 'often'",
    ),
    "an empty ladder": ("spin = {on_fire = []}", "spin: on_fire must name at least one of stop, "),
    "unknown choice": (
        'spin = {on = "mood"}',
        "spin.on: found 'mood'; choose from: action, call, output, text, thought and call, turn",
    ),
    "a text for a threshold": (
        'spin = "3"',
        "spin: must be a threshold, a table, or false for off; found '3'",
    ),
    "true": ("spin = true", "spin: must be a threshold, a table, or false for off; found True"),
    "a text in a table": (
        'spin = {threshold = "3"}',
        "spin.threshold: must be a number from 0",
    ),
    "not a number": ("spin = {threshold = nan}", "spin.threshold: must be a number from 0"),
    "wrong type": (
        "stagnation = {window = 2.5}",
        "stagnation.window: ",
    ),
    "an impossible window": ("stagnation = {window = 0}", "stagnation: window must be 1 or more"),
    "an impossible period": ("cycle = {max_period = 1}", "cycle: max_period must be 2 or more"),
    "nothing to compare": ("repetition = {on = []}", "repetition: on must name at least one"),
    "a threshold is required": ("token_budget = {}", "token_budget.threshold: is required"),
    "a bare number of what": (
        "time_budget = 120",
        "time_budget: a bare number is ambiguous here, found 120; write a table with one",
    ),
    "a bare number of money": (
        "cost_budget = 2",
        "cost_budget: a bare number is ambiguous here, found 2; write a table with one",
    ),
    "threshold and its other name": (
        "stagnation = {threshold = 0.1, min_delta = 0.1}",
        "stagnation: set one of ['threshold', 'min_delta'], not all of them",
    ),
    "parts that do not exist": (
        'both = {kind = "any_of", guards = ["spin", "quality"]}\nspin = 3',
        "both.guards: found 'quality'; choose from: spin",
    ),
    "parts that are off": (
        'both = {kind = "all_of", guards = ["spin"]}\nspin = false\nquality = 0.9',
        "both.guards: found 'spin'; choose from: quality",
    ),
    "no parts": (
        'both = {kind = "any_of", guards = []}',
        "both.guards: must list names of other guards",
    ),
    "parts left out": ("all_of = {}", "all_of.guards: is required"),
}


@pytest.mark.parametrize("case", GUARDS.values(), ids=GUARDS)
def test_a_guard(case, tmp_path):
    text, start = case
    message = refused(tmp_path / "mine.toml", f"{HEADER}[guards]\n{text}")
    assert message.startswith(f"guards.{start}")


UNHANDLED = {
    "a date": "spin = {identity = 1979-05-27}",
    "a number for an action": "spin = {on_fire = 5}",
    "a list in a ladder": 'spin = {on_fire = [["stop"]]}',
    "a list at a level": 'spin = {on_fire = {2 = ["stop"]}}',
    "a level that is not a number": 'spin = {on_fire = {nan = "stop"}}',
}


@pytest.mark.parametrize("text", UNHANDLED.values(), ids=UNHANDLED)
def test_a_guard_with_a_hostile_value(text, tmp_path):
    message = refused(tmp_path / "mine.toml", f"{HEADER}[guards]\n{text}")
    assert message.startswith("guards.")


def test_the_keys_offered_are_keys(tmp_path):
    message = refused(tmp_path / "mine.toml", f"{HEADER}[guards]\nspin = {{windw = 3}}")
    assert message.endswith("choose from: identity, kind, on, on_fire, since, threshold")


REST = {
    "unknown mechanism": (
        "[mechanisms]\njudges = true",
        "mechanisms: found 'judges' (did you mean 'judge'?); choose from: continuity, ",
    ),
    "a mechanism's unknown key": (
        "[mechanisms]\njudge = {speed = 3}",
        "mechanisms.judge.speed: unknown key",
    ),
    "a mechanism's wrong value": (
        '[mechanisms]\njudge = {model = "slow"}',
        "mechanisms.judge.model: found 'slow'; choose from: fast, quality",
    ),
    "a number for a mechanism": ("[mechanisms]\njudge = 5", "mechanisms.judge: "),
    "unknown setting": (
        "[settings]\nwait = 5",
        "settings: found 'wait' (did you mean 'wait_ms'?); choose from: escalate_below, ",
    ),
    "a negative setting": (
        "[settings]\nwait_ms = -1",
        "settings.wait_ms: must be 0 or more, found -1",
    ),
    "an unknown choice": (
        '[settings]\non_limit = "cry"',
        "settings.on_limit: found 'cry'; choose from: best, raise",
    ),
}


@pytest.mark.parametrize("case", REST.values(), ids=REST)
def test_mechanisms_and_settings(case, tmp_path):
    text, start = case
    assert refused(tmp_path / "mine.toml", HEADER + text).startswith(start)


@pytest.mark.parametrize("text", ["wait_ms = 1.5", "escalate_below = nan"])
def test_a_setting_that_cannot_be(text, tmp_path):
    assert refused(tmp_path / "mine.toml", f"{HEADER}[settings]\n{text}").startswith("settings.")


def test_a_circle_of_presets(tmp_path):
    for name, parent in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.toml").write_text(f'{HEADER}extends = "{parent}.toml"', "utf-8")
    with pytest.raises(PresetError, match=r"extends itself through .*a\.toml -> .*b\.toml"):
        load_preset(str(tmp_path / "a.toml"))


def test_the_line_names_the_file_that_is_wrong(tmp_path):
    """A mistake of the parent is the parent's, whoever extends it."""
    (tmp_path / "a.toml").write_text(HEADER + "[guards]\nspin = true", "utf-8")
    (tmp_path / "b.toml").write_text(HEADER + 'extends = "a.toml"', "utf-8")
    with pytest.raises(PresetError, match=r"preset .*a\.toml: guards\.spin: "):
        load_preset(str(tmp_path / "b.toml"))


@pytest.mark.parametrize(
    ("expected", "name"),
    [
        ("preset: found 'strikt' (did you mean 'strict'?); choose from: balanced, ", "strikt"),
        ("preset file 'no/such.toml' does not exist", "no/such.toml"),
    ],
)
def test_a_preset_that_does_not_exist(expected, name):
    with pytest.raises(PresetError) as error:
        load_preset(name)
    assert str(error.value).startswith(expected)


def test_a_preset_asked_for_twice():
    with pytest.raises(PresetError, match="preset 'cost' is asked for twice"):
        load_presets(["cost", "fast", "cost"])


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PresetError, match="cannot be read"):
        load_preset(str(path))
