"""What makes work in two runs the same work."""

from __future__ import annotations

import pytest

from harness.guards.spin import Spin
from harness.loop import pair_key
from tests.examples import call, preset, run, scenario, step

READ = step(call("read", {"path": "a"}, "text"))
BASE = scenario([READ])
UNDER = preset(spin=Spin())
KEY = pair_key(BASE, UNDER, False, 0)


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "Other words"},
        {"tags": ["new"]},
        {"source": "https://example.org"},
        {"truth": {"verdict": "stop"}},
        {"expect": {"cost": {"exit_reason": "spin"}}},
        {"direction": "higher"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_cannot_influence_a_replay_leaves_its_key(fields):
    other = scenario([READ], **fields)
    assert BASE.content_hash == other.content_hash
    assert pair_key(other, UNDER, False, 0) == KEY


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "examples/two"},
        {"goal": "Do more."},
        {"direction": "lower"},
        {"tools": ["read"]},
        {"limits": {"max_rounds": 3}},
        {"recorded": {"exit_reason": "agent_finished"}},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_can_influence_a_replay_changes_its_key(fields):
    assert pair_key(scenario([READ], **fields), UNDER, False, 0) != KEY


def test_another_step_changes_the_key():
    assert pair_key(scenario([READ, READ]), UNDER, False, 0) != KEY


def test_a_key_belongs_to_preset_mode_and_repetition():
    others = [
        pair_key(BASE, preset(spin=Spin(threshold=4)), False, 0),
        pair_key(BASE, preset(spin=Spin(), name="other"), False, 0),
        pair_key(BASE, UNDER, True, 0),
        pair_key(BASE, UNDER, False, 1),
    ]
    assert len({KEY, *others}) == 5
    assert run([READ], UNDER).pair_key == KEY


def test_a_key_is_the_same_on_every_machine():
    """Pins the format of the hash: runs stored long ago must still pair."""
    assert BASE.content_hash == "2161126772c5c2e8"
