"""Scenario files as test items: one for each preset that a scenario expects something of."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest

from harness.episode import Episode
from harness.errors import HarnessError, PresetError, ScenarioError
from harness.expect import explain, holds, observed, sentence
from harness.files import Raw, note_id, parse, read_raw
from harness.loop import run_episode
from harness.played import can_stay_unplayed, unplayed
from harness.preset import Preset
from harness.pytest_plugin import recorder_of, settings_of
from harness.pytest_plugin.presets import Presets
from harness.pytest_plugin.settings import BARE
from harness.scenario import Expectation, Scenario
from harness.text import inert
from harness.turns import Tape, prepare
from harness.yamlfile import line_of

_PRESETS = pytest.StashKey[Presets]()
_SEEN = pytest.StashKey[dict[str, str]]()
_TAPE = pytest.StashKey[tuple[Scenario, int, Tape]]()
#: Name of the item that asks whether every recorded reply was played.
PLAYED = "all-replies-played"


def presets_of(config: pytest.Config) -> Presets:
    """The presets of this session."""
    if _PRESETS not in config.stash:
        config.stash[_PRESETS] = Presets(settings_of(config).preset_paths)
    return config.stash[_PRESETS]


class ScenarioFile(pytest.File):
    """A file of scenarios."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Items of its scenarios; what cannot be read is one item that says so."""
        try:
            for raw in read_raw([self.path]):
                yield from self._items(raw)
        except ScenarioError as error:
            yield BrokenItem.from_parent(self, name="broken", error=error)

    def _items(self, raw: Raw) -> Iterator[pytest.Item | pytest.Collector]:
        several = self.path.suffix == ".jsonl" or raw.members is not None
        wanted = settings_of(self.config)
        adding = wanted.mode != "check" and wanted.only
        if several and not adding and "expect" not in raw.text:
            return
        seen = self.config.stash.setdefault(_SEEN, {})
        try:
            for scenario in parse(raw):
                if seen.get(scenario.id) != f"{raw.path}:{raw.line}":
                    note_id(seen, scenario, raw)
                if several:
                    yield ScenarioNode.from_parent(
                        self, name=inert(scenario.id), scenario=scenario, raw=raw
                    )
                else:
                    yield from _expectations(self, scenario, raw)
        except ScenarioError as error:
            name = f"line {raw.line}" if self.path.suffix == ".jsonl" else "broken"
            yield BrokenItem.from_parent(self, name=name, error=error)


class ScenarioNode(pytest.Collector):
    """One scenario of a file that holds several."""

    def __init__(self, *, scenario: Scenario, raw: Raw, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scenario = scenario
        self.raw = raw

    def collect(self) -> Iterator[pytest.Item]:
        """Items of the scenario."""
        yield from _expectations(self, self.scenario, self.raw)


def _expectations(parent: pytest.Collector, scenario: Scenario, raw: Raw) -> Iterator[pytest.Item]:
    settings = settings_of(parent.config)
    if not scenario.expect:
        parent.config.stash[BARE] = parent.config.stash.get(BARE, 0) + 1
    names = [name for name in scenario.expect if not settings.only or name in settings.only]
    if settings.mode != "check":
        names += [name for name in settings.only if name not in scenario.expect]
    for name in names:
        yield ExpectationItem.from_parent(
            parent, name=inert(name), scenario=scenario, raw=raw, preset_name=name
        )
    if scenario.expect and not settings.only and can_stay_unplayed(scenario):
        yield PlayedItem.from_parent(parent, name=PLAYED, scenario=scenario, raw=raw)


class HarnessItem(pytest.Item):
    """What the items of scenario files share."""

    def __init__(self, *, raw: Raw, scenario: Scenario, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.raw = raw
        self.scenario = scenario
        self.add_marker("harness")
        self.extra_keyword_matches.update(scenario.tags)

    def replay(self, preset: Preset) -> Episode:
        """The scenario under a preset; the tape is kept for the item that comes next."""
        kept = self.config.stash.get(_TAPE, None)
        if kept is None or kept[0] is not self.scenario or kept[1] != preset.wait_ms:
            tape = prepare(self.scenario, wait_ms=preset.wait_ms)
            kept = self.config.stash[_TAPE] = (self.scenario, preset.wait_ms, tape)
        return run_episode(kept[2], preset)

    def where(self, *keys: str) -> tuple[str, int]:
        """File, relative to where pytest was called, and line of a key of the scenario."""
        shown = os.path.relpath(self.path, self.config.invocation_params.dir)
        if self.path.suffix == ".jsonl":
            return shown, self.raw.line
        return shown, line_of(self.raw.text, keys)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """File, line (from 0) and name, for the report."""
        return self.path, self.raw.line - 1, inert(f"{self.scenario.id}::{self.name}")

    def fail(self, words: str, *keys: str) -> NoReturn:
        """End the item with words instead of a traceback: they are all there is to know."""
        file, line = self.where(*keys)
        pytest.fail(inert(f"{file}:{line}: {words}"), pytrace=False)


class ExpectationItem(HarnessItem):
    """One scenario under one preset: does it end as expected?"""

    def __init__(self, *, preset_name: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.preset_name = preset_name
        self.expected: Expectation | None = self.scenario.expect.get(preset_name)
        self.preset: Preset | None = None

    def setup(self) -> None:
        """Find the preset; an expectation that nothing uses is an error."""
        try:
            self.preset = presets_of(self.config).get(self.preset_name)
        except PresetError as error:
            self.fail(f"expect: {error}", "expect", self.preset_name)

    def runtest(self) -> None:
        """Replay and compare."""
        preset = self.preset or presets_of(self.config).get(self.preset_name)
        episode = self.replay(preset)
        store = recorder_of(self.config).add(self.scenario, preset, episode)
        self._note(episode)
        expected, mode = self.expected, settings_of(self.config).mode
        if expected is not None and holds(expected, episode):
            if mode != "check" and self.raw.members is not None:
                # A family shares its expectation: all its members have to be heard.
                self._propose(episode)
            return
        self._propose(episode)
        accepted = mode == "update" or (mode == "new" and expected is None)
        if accepted:
            self.user_properties.append(("harness_accepted", "yes"))
        elif expected is None:
            self.fail(f"{self.scenario.id} under {preset.name}: nothing is expected yet", "expect")
        else:
            self.fail(self._words(expected, episode, preset, store), "expect", self.preset_name)

    def _note(self, episode: Episode) -> None:
        """Figures for reports: JUnit properties, and the summary in whichever process it is."""
        self.user_properties += [
            ("harness_scenario", episode.scenario),
            ("harness_preset", episode.preset),
            ("harness_exit_reason", episode.exit_reason.value),
            ("harness_exit_iteration", episode.exit_iteration),
            ("harness_best_score", episode.best_score),
            ("harness_cost_pico_usd", episode.cost_pico_usd),
            ("harness_replay", episode.replay),
        ]

    def _propose(self, episode: Episode) -> None:
        expected = self.expected
        after = observed(episode, expected)
        line = self.where("expect", self.preset_name)[1]
        change = {
            "path": str(self.path),
            "line": self.raw.line,
            "shown_line": line,
            "scenario": self.scenario.id,
            "preset": self.preset_name,
            "before": None if expected is None else expected.model_dump(mode="json"),
            "after": after.model_dump(mode="json"),
            "sentence": sentence(expected, episode) if expected else "",
        }
        self.user_properties.append(("harness_change", json.dumps(change)))

    def _words(
        self, expected: Expectation, episode: Episode, preset: Preset, store: Path | None
    ) -> str:
        file = self.where()[0]
        return "\n".join([
            explain(expected, episode, preset),
            "",
            f"open it:   {opening(self.scenario.id, file, preset, store, self.config)}",
            f"accept it: {shlex.join(['pytest', self.nodeid, '--harness-update'])}",
        ])  # fmt: skip


def opening(
    scenario: str, file: str | None, preset: Preset, store: Path | None, config: pytest.Config
) -> str:
    """The command that shows an episode: from the store, or replayed from its file."""
    words = ["harness", "show", scenario if store is not None or file is None else file]
    source = preset.source or preset.name
    if store is not None:
        run = settings_of(config).run_id
        shown = os.path.relpath(store, config.invocation_params.dir)
        words += ["--preset", preset.name, "--run", run, "--store", shown]
    else:
        relative = source.endswith(".toml")
        shown = os.path.relpath(source, config.invocation_params.dir) if relative else source
        words += ["--preset", shown]
    return shlex.join(words)


class PlayedItem(HarnessItem):
    """One scenario under all presets that it names: is every recorded reply played?"""

    def runtest(self) -> None:
        """Replay under every preset, and look for what was left over."""
        known, presets = presets_of(self.config), {}
        for name in self.scenario.expect:
            # A preset that does not exist is the error of its own expectation.
            with suppress(PresetError):
                presets[name] = known.get(name)
        episodes = {name: self.replay(preset) for name, preset in presets.items()}
        left = unplayed(prepare(self.scenario), episodes, presets) if presets else []
        if left:
            self.fail(
                f"{self.scenario.id}: recorded replies were not played under "
                f"{', '.join(presets)}:\n  " + "\n  ".join(left) + "\n\nWhat asked for them when "
                "this was recorded does not ask any more, or not there. Where replies stand ready "
                "in case they are asked, say so in the scenario: spare: [role]",
                "spare" if self.scenario.spare else "expect",
            )


class BrokenItem(pytest.Item):
    """A file or a line that cannot be read: one error, while everything else runs."""

    def __init__(self, *, error: HarnessError, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.error = error
        self.add_marker("harness")

    def setup(self) -> None:
        """An error, not a failure: nothing was tested."""
        pytest.fail(inert(str(self.error)), pytrace=False)

    def runtest(self) -> None:
        """Never reached."""

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """File and name, for the report."""
        return self.path, None, self.name
