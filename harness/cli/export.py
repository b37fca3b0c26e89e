"""The verb ``export``: stored spans to a backend or a file, recordings into a scenario file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from harness.cli import terminal
from harness.errors import HarnessError
from harness.export import scenarios, spans
from harness.export.files import SUFFIXES, write_scenarios
from harness.export.rebuilt import LACKS
from harness.export.stored import Row, episodes
from harness.otlp import otlp_wanted
from harness.store.database import Store


def export(
    store_path: Path,
    wanted: list[str],
    target: str,
    output: Path | None,
    endpoint: str | None,
    presets: list[str],
    run_id: str | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Find the episodes and take them where they are wanted."""
    _check(target, output, endpoint, force=force)
    store = Store(store_path)
    found = episodes(store, wanted, run_id=run_id, presets=presets)
    if target == "otlp":
        _spans(store, found, output, endpoint, as_json=as_json)
    elif output is not None:
        _recordings(store, found, output, as_json=as_json)


def _check(target: str, output: Path | None, endpoint: str | None, *, force: bool) -> None:
    if target == "scenarios" and output is None:
        raise HarnessError("export: --to scenarios: needs a file: --output FILE.jsonl")
    if target == "scenarios" and endpoint is not None:
        raise HarnessError("export: --endpoint: is for spans, --to otlp")
    if output is None:
        if endpoint is None and not otlp_wanted():
            raise HarnessError(
                "export: --to otlp: nobody to send to; name a backend with --endpoint "
                "http://localhost:4318 or OTEL_EXPORTER_OTLP_ENDPOINT, or a file with --output"
            )
        return
    if endpoint is not None:
        raise HarnessError("export: --endpoint and --output exclude each other")
    suffixes = (".jsonl",) if target == "otlp" else SUFFIXES
    if output.suffix not in suffixes:
        raise HarnessError(
            f"export: --output: must end in {' or '.join(suffixes)}, found {str(output)!r}"
        )
    if output.is_dir():
        raise HarnessError(f"export: --output: {output} is a folder; name a file")
    if output.exists() and not force:
        raise HarnessError(f"export: --output: {output} exists; --force writes over it")
    if not output.parent.is_dir():
        raise HarnessError(f"export: --output: folder {output.parent} does not exist")


def _spans(
    store: Store, found: list[Row], output: Path | None, endpoint: str | None, *, as_json: bool
) -> None:
    bar = terminal.ProgressBar("exporting")
    advance: Callable[[int], None] = lambda done: bar.update(done, len(found))  # noqa: E731
    try:
        traced = spans.traces(store, found)
        if output is None:
            sent = spans.send(traced, endpoint, advance)
        else:
            sent = spans.write(output, traced, advance)
    finally:
        bar.close()
    if as_json:
        terminal.json_line({
            "episodes": sent.episodes, "spans": sent.spans, "confirmed": sent.confirmed,
            "lost": sent.lost, "output": None if output is None else str(output),
        })  # fmt: skip
    else:
        done = "confirmed by the backend" if output is None else f"-> {terminal.plain(str(output))}"
        terminal.out().print(
            f"{terminal.counted(sent.episodes, 'episode')}, "
            f"{terminal.counted(sent.spans, 'span')}; {sent.confirmed:,} {done}"
        )
    if sent.lost:
        raise HarnessError(
            f"export: {sent.lost:,} of {sent.spans:,} spans were not confirmed by the backend: "
            f"{sent.cause or 'no cause was told'}; the ids are the same each time, so that "
            "exporting again doubles nothing"
        )


def _recordings(store: Store, found: list[Row], output: Path, *, as_json: bool) -> None:
    made = scenarios.recordings(store, found)
    write_scenarios(output, [recording.data for recording in made])
    part = [recording for recording in made if not recording.whole]
    ends = Counter(recording.same_end for recording in part)
    clean = [recording for recording in made if recording.secrets]
    secrets = sum(recording.secrets for recording in clean)
    clean_ends = Counter(recording.same_end for recording in clean)
    if as_json:
        terminal.json_line({
            "recordings": len(made), "whole": len(made) - len(part), "rebuilt": len(part),
            "rebuilt_same_end": ends[True], "rebuilt_other_end": ends[False],
            "rebuilt_end_unknown": ends[None], "lacks": list(LACKS) if part else [],
            "secrets": secrets, "redacted": len(clean), "redacted_same_end": clean_ends[True],
            "redacted_other_end": clean_ends[False], "redacted_end_unknown": clean_ends[None],
            "output": str(output),
        })  # fmt: skip
        return
    console = terminal.out()
    console.print(f"{len(made)} recordings -> {terminal.plain(str(output))}")
    if part:
        console.print(
            f"{len(part)} of them are rebuilt from the store, because their files are gone or have "
            "changed; they end as before under every preset that was exported: "
            f"{ends[True]} yes, {ends[False]} no, {ends[None]} unknown"
        )
        console.print(f"what a store does not hold: {'; '.join(LACKS)}")
    if clean:
        console.print(
            f"secrets taken out: {secrets:,}, in {len(clean)} of them; these end as before: "
            f"{clean_ends[True]} yes, {clean_ends[False]} no, {clean_ends[None]} unknown"
        )
