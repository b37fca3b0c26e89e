"""The fixture ``replay`` and the marker ``harness``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from harness.episode import Episode
from harness.errors import HarnessError, choices
from harness.files import load_one
from harness.loop import run_episode
from harness.preset import Preset, load_preset
from harness.pytest_plugin import recorder_of
from harness.pytest_plugin.collect import opening, presets_of
from harness.scenario import Scenario
from harness.turns import prepare
from harness.validation import problem

_KEYS = ("presets", "repetitions", "store")


@dataclass(frozen=True, slots=True)
class Case:
    """One preset and one repetition of a test."""

    preset: str | Preset
    repetition: int

    @property
    def id(self) -> str:
        """Name of the case in the test's id."""
        name = self.preset.name if isinstance(self.preset, Preset) else Path(self.preset).stem
        return name if self.repetition == 0 else f"{name}-{self.repetition + 1}"


def cases(marker: pytest.Mark, nodeid: str) -> list[Case]:
    """What a marker asks for: every preset, as often as it says.

    Raises:
        pytest.UsageError: A key that the marker does not have, or a value that it cannot use.
    """
    for key in marker.kwargs:
        if key not in _KEYS:
            raise pytest.UsageError(f"{nodeid}: marker harness: {choices(key, _KEYS)}")
    if marker.args:
        raise pytest.UsageError(f"{nodeid}: marker harness: takes keywords: {', '.join(_KEYS)}")
    presets = marker.kwargs.get("presets") or []
    repetitions = marker.kwargs.get("repetitions", 1)
    if isinstance(presets, str | Preset):
        presets = [presets]
    if not isinstance(repetitions, int) or repetitions < 1:
        raise pytest.UsageError(
            f"{nodeid}: marker harness: repetitions must be 1 or more, found {repetitions!r}"
        )
    return [Case(preset, number) for preset in presets for number in range(repetitions)]


class Replay:
    """Replays scenarios for one test.

    Args:
        request: Of the test that asks.
        case: Preset and repetition from the marker, if it names any.

    Attributes:
        episodes: What was replayed so far.
    """

    def __init__(self, request: pytest.FixtureRequest, case: Case | None) -> None:
        self._item = request.node
        self._config = request.config
        self._case = case
        marker = request.node.get_closest_marker("harness")
        store = marker.kwargs.get("store") if marker is not None else None
        self._store = None if store is None else self._config.rootpath / store
        self.episodes: list[Episode] = []

    @property
    def preset(self) -> Preset:
        """The preset that the marker names for this case.

        Raises:
            HarnessError: It names none.
        """
        if self._case is None:
            raise HarnessError(
                "replay: needs a preset: replay(scenario, preset), or the marker "
                "@pytest.mark.harness(presets=[...])"
            )
        return self._preset(self._case.preset)

    def __call__(
        self,
        scenario: str | Path | Mapping[str, Any] | Scenario,
        preset: str | Path | Preset | None = None,
        *,
        observe: bool = False,
    ) -> Episode:
        """Replay a scenario under a preset.

        Args:
            scenario: A file (``cases.jsonl::id`` for one of several), a mapping, or a scenario.
            preset: A name, a ``.toml`` file or a preset; left out: the marker's.
            observe: Only record; the recording runs to its end.

        Returns:
            The typed trace of the episode.

        Raises:
            HarnessError: A scenario or a preset that cannot be used.
        """
        made, file = self._scenario(scenario)
        chosen = self.preset if preset is None else self._preset(preset)
        repetition = 0 if self._case is None else self._case.repetition
        tape = prepare(made, wait_ms=chosen.wait_ms)
        episode = run_episode(tape, chosen, observe=observe, repetition=repetition)
        self.episodes.append(episode)
        store = recorder_of(self._config).add(made, chosen, episode, self._store)
        shown = f"{episode.scenario} under {episode.preset}: {episode.message}"
        if store is not None or file is not None:
            shown += f"\n  open it: {opening(made.id, file, chosen, store, self._config)}"
        self._item.add_report_section("call", "harness", shown)
        return episode

    def _preset(self, preset: str | Path | Preset) -> Preset:
        if isinstance(preset, Preset):
            return preset
        if str(preset).endswith(".toml"):
            return load_preset(str(self._beside(Path(preset))))
        return presets_of(self._config).get(str(preset))

    def _scenario(self, given: Any) -> tuple[Scenario, str | None]:
        if isinstance(given, Scenario):
            return given, None
        if isinstance(given, Mapping):
            try:
                return Scenario.model_validate(dict(given)), None
            except ValidationError as error:
                raise HarnessError(f"replay: scenario{problem(error)}") from None
        file, _, wanted = str(given).partition("::")
        path = self._beside(Path(file))
        shown = os.path.relpath(path, self._config.invocation_params.dir)
        made = load_one(f"{path}::{wanted}")
        return made, f"{shown}::{wanted}" if wanted else shown

    def _beside(self, path: Path) -> Path:
        """A path relative to the test's folder, or else to the root folder."""
        beside = self._item.path.parent / path
        return Path(beside if beside.exists() else self._config.rootpath / path)
