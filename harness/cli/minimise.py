"""The verb ``minimise``: from an episode to a scenario file that is its regression test."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness import expect
from harness.cli import terminal
from harness.errors import HarnessError
from harness.export.files import write_scenarios, yaml_of
from harness.export.stored import one_episode, originals, preset_of
from harness.files import SUFFIXES, load_one
from harness.minimise import Minimised
from harness.minimise import minimise as carry_out
from harness.minimise.ending import ending_of, replayed
from harness.preset import Preset, load_preset
from harness.scenario import Scenario
from harness.store.database import Store

_YAML = (".yaml", ".yml")


def minimise(
    store_path: Path,
    wanted: str,
    preset: str | None,
    run_id: str | None,
    output: Path | None,
    *,
    force: bool,
    keep_text: bool,
    budget: int,
    as_json: bool,
) -> None:
    """Minimise, write, read again, replay, and say what was done."""
    _check(output, force=force)
    scenario, under = _found(Store(store_path), wanted, preset, run_id)
    bar = terminal.ProgressBar("replaying")
    try:
        made = carry_out(scenario, under, keep_text=keep_text, budget=budget, on_replay=bar.update)
    finally:
        bar.close()
    if output is not None:
        write_scenarios(output, [made.data])
        _prove(output, under, made)
    else:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "one.yaml"
            write_scenarios(file, [made.data])
            _prove(file, under, made)
    if as_json:
        terminal.json_line(_figures(made, under, output))
    elif output is None:
        terminal.write(yaml_of(made.data))
    _report(made, under, output)


def _check(output: Path | None, *, force: bool) -> None:
    if output is None:
        return
    if output.suffix not in _YAML:
        raise HarnessError(f"minimise: --output: must end in .yaml, found {str(output)!r}")
    if output.exists() and not force:
        raise HarnessError(f"minimise: --output: {output} exists; --force writes over it")
    if not output.parent.is_dir():
        raise HarnessError(f"minimise: --output: folder {output.parent} does not exist")


def _found(
    store: Store, wanted: str, preset: str | None, run_id: str | None
) -> tuple[Scenario, Preset]:
    """The recording and the preset: of a file as named, of an episode as it was."""
    file = wanted.partition("::")[0]
    if file.endswith(SUFFIXES) and Path(file).is_file():
        if run_id is not None:
            raise HarnessError("minimise: a scenario file is replayed; leave out --run")
        scenario = load_one(wanted)
        if preset is None:
            raise HarnessError(
                f"minimise: {wanted}: --preset: is required for a file; {scenario.id} has "
                f"expectations of: {', '.join(scenario.expect) or 'none'}"
            )
        return scenario, load_preset(preset)
    name = Path(preset).stem if preset is not None and preset.endswith(".toml") else preset
    row = one_episode(store, wanted, run_id, name)
    if row["observe"]:
        raise HarnessError(
            f"minimise: episode {row['episode_id']} was only observed, nothing ended it; replay it "
            "under a preset that acts, from its file: harness minimise FILE::"
            f"{row['scenario']} --preset NAME"
        )
    found = originals(store, [row]).get(row["content_hash"])
    if found is None:
        raise HarnessError(
            f"minimise: {row['scenario']}: its recording is not where run {row['run_id']} found "
            "it, or has changed since; name the file: harness minimise FILE::"
            f"{row['scenario']} --preset {row['preset']}"
        )
    under = preset_of(store, row, preset)
    again = replayed(found, under)
    then = (row["exit_reason"], row["exit_iteration"])
    if (again.exit_reason.value, again.exit_iteration) != then:
        raise HarnessError(
            f"minimise: episode {row['episode_id']} ended with {then[0]} in iteration {then[1]}, "
            f"but its recording now ends with {again.exit_reason.value} in {again.exit_iteration}; "
            "what a live model added is exported first: harness export --to scenarios"
        )
    return found, under


def _prove(file: Path, under: Preset, made: Minimised) -> None:
    """Read the file as anybody will, and replay it."""
    scenario = load_one(file)
    episode = replayed(scenario, under)
    expected = scenario.expect[under.name]
    if ending_of(episode) != made.ending or not expect.holds(expected, episode):
        raise HarnessError(
            f"minimise: {file}: as it was written it ends differently: {episode.message}"
        )


def _figures(made: Minimised, under: Preset, output: Path | None) -> dict[str, Any]:
    ending = made.ending
    return {
        "scenario": made.data["id"], "preset": under.name, "exit_reason": ending.reason.value,
        "exit_group": ending.group, "exit_guard": ending.guard, "replay": ending.replay,
        "iteration": made.iteration,
        **{f"{part}_before": getattr(made.before, part) for part in ("steps", "calls", "bytes")},
        **{f"{part}_after": getattr(made.after, part) for part in ("steps", "calls", "bytes")},
        "replays": made.replays, "minimal": made.minimal, "replaced": dict(made.replaced),
        "left": list(made.left), "output": None if output is None else str(output),
        "data": made.data,
    }  # fmt: skip


def _report(made: Minimised, under: Preset, output: Path | None) -> None:
    """To standard error, so that the YAML can be piped."""
    before, after, ending = made.before, made.after, made.ending
    console = terminal.err()
    console.print(
        f"{terminal.counted(before.steps, 'step')} -> {after.steps:,}, "
        f"{terminal.counted(before.calls, 'call')} -> {after.calls:,}, "
        f"{terminal.counted(before.bytes, 'byte')} -> {after.bytes:,}; "
        f"{terminal.counted(made.replays, 'replay')}"
    )
    guard = f" by {terminal.plain(ending.guard)}" if ending.guard else ""
    console.print(
        f"ends with {ending.reason.value}{guard} in iteration {made.iteration} under "
        f"{terminal.plain(under.name)}, as before"
    )
    if made.replaced:
        counted = ", ".join(f"{kind} {n}" for kind, n in made.replaced.items())
        console.print(f"personal details replaced: {counted}; names in running text are not found")
    if made.left:
        console.print(
            f"warning: left as they are, because replacing them changes the ending: "
            f"{', '.join(made.left)}"
        )
    if ending.replay == "diverged":
        console.print(
            "warning: the replay leaves its recording before it ends (diverged), as it did before"
        )
    if not made.minimal:
        console.print("warning: the budget was spent, so it may not be the shortest; see --budget")
    if output is not None:
        console.print(f"next: pytest {terminal.plain(str(output))}")
