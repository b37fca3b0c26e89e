"""Episodes of a test session on their way into a store; each process has its own."""

from __future__ import annotations

from pathlib import Path

from harness.episode import Episode
from harness.preset import Preset
from harness.pytest_plugin.settings import Settings
from harness.run import register
from harness.scenario import Scenario
from harness.store.database import Store
from harness.worker import Buffer


class Recorder:
    """Gathers episodes and writes them in batches.

    Args:
        settings: Name the store and the run.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._buffers: dict[Path, Buffer] = {}

    def add(
        self, scenario: Scenario, preset: Preset, episode: Episode, store: Path | None = None
    ) -> Path | None:
        """Keep one episode, if there is a store for it.

        Args:
            scenario: What was replayed.
            preset: Under which preset, as loaded.
            episode: What came of it.
            store: Where it goes; the session's store where left out.

        Returns:
            The store that it goes to.
        """
        chosen = store or self._settings.store
        if chosen is None:
            return None
        buffer = self._buffers.get(chosen)
        if buffer is None:
            start_ns = self._settings.start_ms * 1_000_000
            buffer = self._buffers[chosen] = Buffer(self._settings.run_id, start_ns)
        buffer.add(scenario, preset, episode)
        if buffer.full:
            self._write(chosen, buffer)
        return chosen

    def flush(self) -> None:
        """Write everything that is still kept."""
        for path, buffer in self._buffers.items():
            self._write(path, buffer)

    def _write(self, path: Path, buffer: Buffer) -> None:
        tables = buffer.take()
        if tables:
            store = Store(path)
            store.create()
            register(store, self._settings.run_id, self._settings.start_ms, {"by": "pytest"})
            # A test may replay the same scenario twice; it is one episode.
            store.write(tables, replace=True)
