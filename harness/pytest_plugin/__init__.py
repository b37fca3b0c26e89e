"""The pytest plugin: expectations of scenario files as test items, and the fixture ``replay``.

Every pytest session in an environment with the harness imports this module, so nothing heavy is
imported before the first scenario file or the first use of the fixture.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.pytest_plugin import settings
from harness.pytest_plugin.settings import Settings

if TYPE_CHECKING:
    from harness.pytest_plugin.fixture import Replay
    from harness.pytest_plugin.recorder import Recorder

#: Files that can hold scenarios, and the words by which they are told from all the others.
_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".jsonl"})
_SCHEMA = b"harness/scenario@"
#: Where those words have to stand.
_HEAD_BYTES = 1_000_000

_CHOSEN = pytest.StashKey[Settings]()
_RECORDER = pytest.StashKey["Recorder"]()
_SUMMARY = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, all of them with the prefix ``--harness-``."""
    settings.add_options(parser)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Have the review run when pytest has given the terminal back.

    Clean-ups run in reverse order, so this one has to be there before that of output capture.
    """
    early_config.add_cleanup(lambda: _review(early_config))
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Settle the options, before anything is collected."""
    config.addinivalue_line(
        "markers",
        "harness(presets=None, repetitions=1, store=None): replay under each of these presets, "
        "this often, and store the episodes; scenario files' items carry it too",
    )
    chosen = config.stash[_CHOSEN] = settings.settle(config)
    if not hasattr(config, "workerinput"):
        from harness.pytest_plugin.summary import Summary

        config.stash[_SUMMARY] = Summary(chosen, config)
        config.pluginmanager.register(config.stash[_SUMMARY], "harness-summary")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Workers of pytest-xdist write into the run that the controller has named."""
    node.workerinput["harness"] = node.config.stash[_CHOSEN].shared()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Scenario files, told by their schema."""
    if file_path.suffix not in _SUFFIXES or not _is_scenario(file_path):
        return None
    from harness.pytest_plugin.collect import ScenarioFile

    made: pytest.Collector = ScenarioFile.from_parent(parent, path=file_path)
    return made


def _is_scenario(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _SCHEMA in file.read(_HEAD_BYTES)
    except OSError:
        return False


def settings_of(config: pytest.Config) -> Settings:
    """What the options and settings of this session come to."""
    return config.stash[_CHOSEN]


def recorder_of(config: pytest.Config) -> Recorder:
    """Where this process keeps episodes until they are written."""
    found = config.stash.get(_RECORDER, None)
    if found is None:
        from harness.pytest_plugin.recorder import Recorder

        found = config.stash[_RECORDER] = Recorder(settings_of(config))
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what this process still holds; the run is complete when the last one has."""
    recorder = session.config.stash.get(_RECORDER, None)
    if recorder is not None:
        recorder.flush()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each preset and repetition of the marker ``harness``."""
    marker = metafunc.definition.get_closest_marker("harness")
    if marker is None or "replay" not in metafunc.fixturenames:
        return
    from harness.pytest_plugin.fixture import cases

    found = cases(marker, metafunc.definition.nodeid)
    if found:
        metafunc.parametrize("replay", found, indirect=True, ids=[case.id for case in found])


@pytest.fixture
def replay(request: pytest.FixtureRequest) -> Replay:
    """Replay a scenario under a preset: ``replay(scenario, preset)`` gives the typed episode.

    The scenario is a file (relative to the test's folder or to the root folder;
    ``cases.jsonl::id`` names one of several), a mapping or a ``Scenario``; the preset a name, a
    ``.toml`` file or a ``Preset``, left out where the marker ``harness`` names presets. What was
    replayed is shown where the test fails.
    """
    from harness.pytest_plugin.fixture import Replay

    return Replay(request, getattr(request, "param", None))


def _review(config: pytest.Config) -> None:
    summary = config.stash.get(_SUMMARY, None)
    if summary is not None and config.stash[_CHOSEN].mode == "review":
        summary.review()
