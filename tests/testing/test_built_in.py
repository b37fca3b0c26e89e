"""Every guard of the harness obeys the laws and relations that users' guards are held to."""

from __future__ import annotations

import pytest

from harness import Preset, load_preset
from harness.exits import ExitReason
from harness.guards import built_in
from harness.preset import DEFAULTS, bundled
from harness.testing import RELATIONS, check_guard, check_laws, check_metamorphic, made_scenarios


def guard(kind: str):
    """With its default settings, and a threshold where it has none."""
    cls = built_in()[kind]
    values = {} if cls.default_threshold() is not None else {"threshold": 3}
    if "guards" in cls.__dataclass_fields__:
        values["guards"] = (built_in()["spin"](), built_in()["quality"]())
    return cls(**values)


GUARDS = {kind: guard(kind) for kind in built_in()}


@pytest.mark.parametrize("kind", GUARDS)
def test_the_laws_hold(kind):
    check_laws(GUARDS[kind])


@pytest.mark.parametrize("relation", [relation.name for relation in RELATIONS])
def test_the_relation_holds_for_every_guard(relation):
    counts = check_metamorphic(Preset(guards=GUARDS), relations=[relation])
    # A relation that no scenario has anything for would hold of itself.
    assert counts[relation] >= 30


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_relations_hold_under_the_mechanisms_of_presets(name):
    check_metamorphic(load_preset(name), made_scenarios(20))


def test_the_relations_hold_for_the_settings_of_every_preset():
    """Peers' presets hold settings that the defaults do not."""
    guards = {
        f"{name} {label}": guard
        for name in bundled()
        for label, guard in load_preset(name).guards.items()
    }
    check_metamorphic(Preset(guards=guards), made_scenarios(20, seed=1))


@pytest.mark.parametrize("kind", ["spin", "quality", "token_budget", "repetition", "any_of"])
def test_everything_at_once(kind):
    check_guard(GUARDS[kind])


def test_made_scenarios_are_the_same_for_the_same_seed():
    one, same, other = made_scenarios(3), made_scenarios(3), made_scenarios(3, seed=1)
    assert one == same
    assert [scenario.id for scenario in one] == ["made/001", "made/002", "made/003"]
    assert one != other


def test_exempt_relations_have_their_reason():
    names = {relation.name for relation in RELATIONS}
    for cls in built_in().values():
        assert set(cls.exempt) <= names
        assert all(cls.exempt.values())
        assert isinstance(cls.reason, ExitReason)
