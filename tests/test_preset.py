from __future__ import annotations

import pytest

from harness.exits import ExitReason
from harness.guards.max_rounds import MaxRounds
from harness.guards.no_progress import NoProgress
from harness.guards.patience import Patience
from harness.guards.quality import Quality
from harness.guards.repetition import Repetition
from harness.guards.spin import Spin
from harness.guards.stagnation import Stagnation
from harness.preset import DEFAULTS, bundled, load_preset, load_presets


@pytest.fixture
def load(tmp_path):
    """Write files of the preset format, header left out, and load the last one."""

    def write(**texts: str):
        for name, text in texts.items():
            path = tmp_path / f"{name}.toml"
            path.write_text(f'schema = "harness/preset@1"\n{text}\n', "utf-8")
        return load_preset(str(path))

    return write


@pytest.mark.parametrize("name", bundled())
def test_a_bundled_preset_loads(name):
    loaded = load_preset(name)
    assert (name, name) == (loaded.name, loaded.source)
    assert loaded.title
    assert loaded.hash == load_preset(name).hash


def test_the_presets_compared_by_default_are_bundled():
    assert set(DEFAULTS) <= set(bundled())
    assert list(DEFAULTS) == [loaded.name for loaded in load_presets(DEFAULTS)]


@pytest.mark.parametrize("name", [n for n, p in bundled().items() if p.parent.name != "peers"])
def test_every_preset_but_observe_has_a_hard_limit(name):
    loaded = load_preset(name)
    hard = [
        guard
        for guard in loaded.guards.values()
        if guard.reason.group == "limit" and guard.action in ("stop", "pause")
    ]
    assert loaded.observe or hard


@pytest.mark.parametrize(
    ("expected", "name"), [(20, "cost"), (100, "strict"), (100, "fast"), (20, "engine")]
)
def test_iterations_that_a_preset_allows(expected, name):
    assert expected == load_preset(name).guards["max_iterations"].threshold


def test_observe_only_records():
    assert [name for name in bundled() if load_preset(name).observe] == ["observe"]


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        pytest.param(Spin(threshold=4), "spin = 4", id="a bare number is the threshold"),
        pytest.param(Spin(), "spin = {}", id="an empty table takes the defaults"),
        pytest.param(MaxRounds(threshold=0), "max_rounds = 0", id="zero is a value"),
        pytest.param(
            Stagnation(threshold=0.01, window=3),
            "stagnation = {min_delta = 0.01, window = 3}",
            id="min_delta",
        ),
        pytest.param(
            Spin(on="text", on_fire=("warn", "stop")),
            'spin = {on = "text", on_fire = ["warn", "stop"]}',
            id="a ladder by firing",
        ),
        pytest.param(
            NoProgress(on_fire={"2": "nudge", "5": "stop"}),
            'no_progress = {on_fire = {2 = "nudge", 5 = "stop"}}',
            id="a ladder by level",
        ),
        pytest.param(
            Repetition(on=("reply",), threshold=0.9),
            'repetition = {on = ["reply"], threshold = 0.9}',
            id="a list",
        ),
    ],
)
def test_a_guard_in_a_file(expected, line, load):
    assert {expected.kind(): expected} == load(mine=f"[guards]\n{line}").guards


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        (90_000, "time_budget = {limit_s = 90}"),
        (1_500, "time_budget = {limit_s = 1.5}"),
        (7, "time_budget = {threshold = 7}"),
        (2_500_000_000_000, "cost_budget = {limit_usd = 2.5}"),
        (1_000_000, "cost_budget = {limit_usd = 1e-6}"),
        (float("inf"), "cost_budget = {threshold = inf}"),
        (float("inf"), "cost_budget = {limit_usd = inf}"),
    ],
)
def test_units_of_a_budget(expected, line, load):
    [guard] = load(mine=f"[guards]\n{line}").guards.values()
    assert expected == guard.threshold


def test_one_guard_twice_under_two_names(load):
    lines = 'spin = 4\nspin_text = {kind = "spin", on = "text", threshold = 5}'
    expected = {"spin": Spin(threshold=4), "spin_text": Spin(threshold=5, on="text")}
    assert expected == load(mine=f"[guards]\n{lines}").guards


@pytest.mark.parametrize("kind", ["any_of", "all_of"])
def test_guards_joined(kind, load):
    lines = f'both = {{kind = "{kind}", guards = ["spin", "quality"]}}\nspin = 4\nquality = 0.9'
    guards = load(mine=f"[guards]\n{lines}").guards
    assert list(guards) == ["both", "spin", "quality"]
    assert (guards["spin"], guards["quality"]) == guards["both"].guards
    assert guards["both"].exit_reason is ExitReason.SPIN


PARENT = """
[guards]
max_rounds = 5
spin = {threshold = 4, on = "text"}
stagnation = {min_delta = 0.05, window = 3}
[mechanisms]
triage = true
judge = {model = "fast", temperature = 0.5}
[settings]
wait_ms = 5
"""


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        pytest.param({}, "", id="everything is inherited"),
        pytest.param({"max_rounds": MaxRounds(threshold=2)}, "max_rounds = 2", id="a number"),
        pytest.param(
            {"spin": Spin(threshold=9, on="text")}, "spin = 9", id="a number over a table"
        ),
        pytest.param(
            {"max_rounds": MaxRounds(threshold=5, on_fire="warn")},
            'max_rounds = {on_fire = "warn"}',
            id="a table over a number",
        ),
        pytest.param(
            {"spin": Spin(threshold=4, on="action")}, 'spin = {on = "action"}', id="key by key"
        ),
        pytest.param(
            {"stagnation": Stagnation(threshold=0.1, window=3)},
            "stagnation = {threshold = 0.1}",
            id="the threshold by its other name",
        ),
        pytest.param({"spin": None}, "spin = false", id="off"),
        pytest.param(
            {"spin": Quality(threshold=0.5)},
            'spin = {kind = "quality", threshold = 0.5}',
            id="another kind takes nothing over",
        ),
        pytest.param({"patience": Patience(threshold=3)}, "patience = 3", id="one more at the end"),
    ],
)
def test_a_preset_extends_another(expected, line, load):
    inherited = load(parent=PARENT).guards
    child = load(parent=PARENT, child=f'extends = "parent.toml"\n[guards]\n{line}')
    wanted = {name: guard for name, guard in (inherited | expected).items() if guard is not None}
    assert list(wanted.items()) == list(child.guards.items())


def test_a_guard_that_was_off_can_be_on_again(load):
    child = load(
        parent=PARENT,
        middle='extends = "parent.toml"\n[guards]\nspin = false',
        child='extends = "middle.toml"\n[guards]\nspin = 3',
    )
    assert Spin(threshold=3) == child.guards["spin"]


def test_a_named_guard_is_inherited_with_its_kind(load):
    child = load(child='extends = "observe"\n[guards]\nspin_text = 4')
    assert Spin(threshold=4, on="text") == child.guards["spin_text"]


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param((True, "fast", 0), "judge = {temperature = 0}", id="key by key"),
        pytest.param((True, "quality", 0), "judge = true", id="true takes the defaults"),
        pytest.param((False, "fast", 0.5), "triage = false", id="off"),
    ],
)
def test_mechanisms_are_inherited(expected, lines, load):
    made = load(parent=PARENT, child=f'extends = "parent.toml"\n[mechanisms]\n{lines}').mechanisms
    assert expected == (made.triage, made.judge.model, made.judge.temperature)


def test_a_mechanism_can_be_off_and_settings_are_inherited(load):
    lines = "[mechanisms]\njudge = false\n[settings]\nescalate_below = 0.3"
    child = load(parent=PARENT, child=f'extends = "parent.toml"\n{lines}')
    assert (child.mechanisms.judge, child.wait_ms, child.escalate_below) == (None, 5, 0.3)


def test_the_hash_tells_presets_apart_by_what_they_do(load):
    one = load(mine="[guards]\nspin = 3")
    assert one.hash == load(mine='title = "Other words"\n[guards]\nspin = 3').hash
    assert one.hash != load(mine="[guards]\nspin = 4").hash
    assert one.hash != load(mine="[guards]\nspin = 3\n[settings]\nwait_ms = 1").hash
    assert one.hash != one.observed().hash


def test_equal_presets_have_equal_hashes(load):
    assert load(mine="[guards]\nspin = 3").hash == load(mine="[guards]\nspin = {}").hash
