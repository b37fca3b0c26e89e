"""What a session came to: exit reasons by preset, what changed, what was accepted.

Lives in the process that reports to the terminal; with pytest-xdist that is the controller, which
learns everything from the reports of its workers.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections import Counter
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.pytest_plugin.settings import BARE, Settings
from harness.text import inert

#: Changes listed in the summary; the rest is counted.
MOST = 20


class Summary:
    """Gathers reports; a plugin of its own.

    Args:
        settings: Of this session.
        config: Of this session.
    """

    def __init__(self, settings: Settings, config: pytest.Config) -> None:
        self._settings = settings
        self._config = config
        self._exits: dict[str, Counter[str]] = {}
        self._changes: list[dict[str, Any]] = []
        self._accepted: list[dict[str, Any]] = []
        self._notes: list[str] = []

    def pytest_sessionstart(self) -> None:
        """Refuse a run that is there already: it would become a mixture."""
        store = self._settings.store
        if store is None or not store.exists():
            return
        from harness.store.database import Store

        wanted = [self._settings.run_id]
        try:
            found = Store(store).rows("SELECT run_id FROM runs WHERE run_id = ?", wanted)
        except HarnessError as error:
            raise pytest.UsageError(f"harness: {error}") from None
        if found:
            raise pytest.UsageError(
                f"harness: store {store} has a run {wanted[0]!r} already; choose another "
                "--harness-run"
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in one report, from this process or a worker."""
        known = dict(report.user_properties)
        if report.when != "call" or "harness_preset" not in known:
            return
        counts = self._exits.setdefault(str(known["harness_preset"]), Counter())
        counts[str(known["harness_exit_reason"])] += 1
        if "harness_change" in known:
            change = json.loads(str(known["harness_change"]))
            self._changes.append(change)
            if "harness_accepted" in known or change["before"] == change["after"]:
                self._accepted.append(change)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """An accepted expectation is neither a pass nor a failure."""
        if report.when == "call" and ("harness_accepted", "yes") in [
            (name, value) for name, value in report.user_properties
        ]:
            return "accepted", "A", "ACCEPTED"
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write what was accepted, and close the run; what cannot be written is a failure."""
        if self._settings.mode in ("update", "new") and self._write(self._accepted):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        store = self._settings.store
        if store is not None and self._exits:
            from harness.run import complete
            from harness.store.database import Store

            complete(Store(store), self._settings.run_id)
            shown = os.path.relpath(store, self._config.invocation_params.dir)
            self._notes.append(f"run {self._settings.run_id} is in {shown}")

    def _write(self, proposals: list[dict[str, Any]]) -> list[str]:
        """Rewrite the files; what could not be written, one line each."""
        from harness.rewrite import Change, accept
        from harness.scenario import Expectation

        changes = [
            Change(
                path=found["path"],
                line=found["line"],
                scenario=found["scenario"],
                preset=found["preset"],
                before=found["before"] and Expectation.model_validate(found["before"]),
                after=Expectation.model_validate(found["after"]),
            )
            for found in proposals
        ]
        written, problems = accept(changes)
        files = sorted({self._short(change.path) for change in written})
        if files:
            plural = "s" if len(written) != 1 else ""
            self._notes.append(f"{len(written)} expectation{plural} written: {', '.join(files)}")
        self._notes += [f"not written: {problem}" for problem in problems]
        return problems

    def _short(self, path: str) -> str:
        return os.path.relpath(path, self._config.invocation_params.dir)

    def _open(self) -> list[dict[str, Any]]:
        """Changes that nobody has accepted yet."""
        return [change for change in self._changes if change not in self._accepted]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Exit reasons by preset, and what changed."""
        bare = self._config.stash.get(BARE, 0) if self._settings.mode == "check" else 0
        if not self._exits and not bare:
            return
        write = terminalreporter.write_line
        terminalreporter.ensure_newline()
        terminalreporter.section("harness")
        width = max(map(len, self._exits), default=0)
        for preset, counts in sorted(self._exits.items()):
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            words = ", ".join(f"{reason} {count}" for reason, count in ordered)
            head = f"{preset.ljust(width)}  {sum(counts.values())} ended: "
            columns = min(shutil.get_terminal_size().columns, 100)
            write(textwrap.fill(words, columns, initial_indent=head,
                                subsequent_indent=" " * (width + 2)))  # fmt: skip
        left = self._open()
        changed = [change for change in left if change["before"] is not None]
        if changed:
            write(f"changed: {len(changed)} end otherwise than expected")
            for change in changed[:MOST]:
                write(f"  {inert(change['sentence'])}")
            if len(changed) > MOST:
                write(f"  ... and {len(changed) - MOST} more")
        if left and self._settings.mode == "check":
            write("accept what was observed: pytest --harness-update (or --harness-review)")
        if bare:
            words = "scenarios expect" if bare > 1 else "scenario expects"
            how = "pytest --harness-preset NAME --harness-update-new-only"
            write(f"{bare} {words} nothing yet; add it with: {how}")
        for note in self._notes:
            write(note)
        self._annotate(changed)

    def _annotate(self, changed: list[dict[str, Any]]) -> None:
        from harness.github import annotation, running_there

        if not running_there():
            return
        for change in changed[:MOST]:
            sys.stderr.write(
                annotation(
                    "error",
                    change["sentence"],
                    title="A loop ends otherwise than expected",
                    file=self._short(change["path"]),
                    line=change["shown_line"],
                )
                + "\n"
            )

    def review(self) -> None:
        """Ask about each open change, and write those that are wanted.

        Runs when pytest has ended, so standard input and output are the user's own.
        """
        left = self._open()
        if not left:
            return
        write = sys.stdout.write
        write(f"\n{len(left)} to review: y accepts, n leaves it, a accepts all, q stops\n")
        wanted, everything = [], False
        for number, change in enumerate(left, 1):
            words = change["sentence"] or (
                f"{change['scenario']} under {change['preset']}: nothing expected yet, observed "
                f"{change['after']['exit_reason']} in iteration {change['after']['iteration']}"
            )
            write(f"\n{self._short(change['path'])}:{change['shown_line']}\n  {inert(words)}\n")
            question = f"  accept {number} of {len(left)}? [y/n/a/q] "
            answer = "y" if everything else self._ask(question)
            if answer == "q":
                break
            everything = everything or answer == "a"
            if answer in ("y", "a"):
                wanted.append(change)
        self._notes.clear()
        # Members of a family that are as expected have a say in what is written.
        self._write(wanted + self._accepted)
        write("\n" + "\n".join(self._notes or ["nothing written"]) + "\n")

    @staticmethod
    def _ask(question: str) -> str:
        while True:
            try:
                answer = input(question).strip().lower()[:1]
            except EOFError:
                return "q"
            if answer in ("y", "n", "a", "q"):
                return answer
