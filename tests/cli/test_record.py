"""`harness record`: any program, its exit code, signals, and what is said afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from harness.cli.secrets import findings_in
from tests.openai_server import KEY, call, say, serving

ROOT = Path(__file__).parents[2]
#: Knows no client library; any other language would do the same.
PROGRAM = textwrap.dedent(
    """
    import json, os, sys, urllib.request
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    talk = [{"role": "user", "content": sys.argv[1]}]
    while True:
        body = json.dumps({"model": "m", "messages": talk}).encode()
        head = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
        with urllib.request.urlopen(urllib.request.Request(url, body, head)) as answer:
            message = json.load(answer)["choices"][0]["message"]
        talk.append(message)
        calls = message.get("tool_calls") or []
        print(message["content"], [c["function"]["arguments"] for c in calls])
        if not calls:
            sys.exit(3)
        talk += [{"role": "tool", "tool_call_id": c["id"], "content": "seen"} for c in calls]
    """
)
REPLIES = (say("I look.", call("look", '{"at":"door"}', "c1")), say("It is open."))
TALKS = PROGRAM.replace("sys.exit(3)", "sys.exit(0)")
SAID = 'I look. [\'{"at":"door"}\']\nIt is open. []\n'


def command_of(*arguments: str, **environment: str) -> tuple[list[str], dict[str, Any]]:
    own = {k: v for k, v in os.environ.items()
           if not k.startswith(("OPENAI_", "ANTHROPIC_", "HARNESS_"))}  # fmt: skip
    return [sys.executable, "-m", "harness.cli", "record", *arguments], {
        "env": {**own, "PYTHONPATH": str(ROOT), **environment}, "text": True,
    }  # fmt: skip


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command, options = command_of(*arguments, **environment)
    return subprocess.run(command, **options, capture_output=True, check=False)


def test_a_program_is_recorded_and_runs_again_without_its_provider(here: Path) -> None:
    asked = ("--", sys.executable, "-c", PROGRAM, "Open the door.")
    with serving(*REPLIES) as server:
        live = run(*asked, OPENAI_BASE_URL=server.url, OPENAI_API_KEY=KEY)
    told = "recorded 1 episode, 2 calls -> recording.jsonl; put together: 1 by shared history"
    assert (live.returncode, live.stdout, live.stderr) == (3, SAID, f"harness: {told}\n")
    # No key and no address: neither is needed any more.
    again = run("--mode", "none", *asked)
    assert (again.returncode, again.stdout, again.stderr) == (
        3, SAID, "harness: answered 2 calls from recording.jsonl\n",
    )  # fmt: skip
    other = run("--mode", "none", "--json", "--", sys.executable, "-c", PROGRAM, "Open the window.")
    told = json.loads(other.stdout.splitlines()[-1])
    assert (other.returncode, told["exit_code"], told["calls"], told["answered"]) == (1, 1, 1, 0)
    assert "differs from character 10 on" in told["missed"][0]


def test_a_program_that_hides_a_miss_does_not_succeed(here: Path) -> None:
    (here / "a.yaml").write_text(
        "schema: harness/scenario@1\nid: a/b\ngoal: Go.\nsteps: [{reply: {text: Hi.}}]\n"
    )
    hides = "try:\n    exec(sys.stdin.read())\nexcept Exception:\n    print('never mind')"
    command, options = command_of(
        "-o",
        "a.yaml",
        "--mode",
        "none",
        "--",
        sys.executable,
        "-c",
        f"import sys\n{hides}",
        "Stop.",
    )
    done = subprocess.run(command, input=PROGRAM, capture_output=True, check=False, **options)
    assert (done.returncode, done.stdout) == (2, "never mind\n")
    assert done.stderr.splitlines()[0] == "harness: miss: 1 request not recorded"


def test_the_programs_own_arguments_are_left_alone(here: Path) -> None:
    shows = "import sys; print(sys.argv[1:])"
    done = run("--", sys.executable, "-c", shows, "--debug", "--", "--mode", "none")
    assert (done.returncode, done.stdout) == (2, "['--debug', '--', '--mode', 'none']\n")


NOTHING = (
    "harness: nothing came through the proxy: the program asked no model there; does its client "
    "read OPENAI_BASE_URL or ANTHROPIC_BASE_URL?\n"
)


@pytest.mark.parametrize("mode", ["all", "none", "once", "new_episodes"])
@pytest.mark.parametrize(("ends", "code"), [(0, 2), (3, 3)])
def test_a_program_that_goes_past_the_proxy_is_not_measured(
    here: Path, mode: str, ends: int, code: int
) -> None:
    (here / "a.jsonl").write_text(
        '{"schema":"harness/scenario@1","id":"a/b","goal":"Go.","steps":[{"reply":{"text":"Hi."}}]}\n'
    )
    past = f"import sys; sys.exit({ends})"
    done = run("-o", "a.jsonl", "--mode", mode, "--", sys.executable, "-c", past)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", NOTHING)


def test_a_program_that_looks_around_first_is_answered_without_a_provider(here: Path) -> None:
    looks = textwrap.dedent(
        """
        import json, os, sys, urllib.request
        with urllib.request.urlopen(os.environ["OPENAI_BASE_URL"] + "/models") as answer:
            print([model["id"] for model in json.load(answer)["data"]])
        """
    )
    talks = PROGRAM.replace("sys.exit(3)", "sys.exit(0)")
    with serving(*REPLIES) as server:
        run("--", sys.executable, "-c", talks, "Open the door.",
            OPENAI_BASE_URL=server.url, OPENAI_API_KEY=KEY)  # fmt: skip
    again = run("--mode", "none", "--", sys.executable, "-c", looks + talks, "Open the door.")
    assert (again.returncode, again.stdout, again.stderr) == (
        0, f"['m']\n{SAID}", "harness: answered 2 calls from recording.jsonl\n",
    )  # fmt: skip


def test_what_could_not_be_written_is_no_success(here: Path) -> None:
    breaks = "import pathlib; pathlib.Path('file').write_text('no folder')\n"
    with serving(*REPLIES) as server:
        program = breaks + TALKS
        done = run(
            "-o", "file/a.jsonl", "--", sys.executable, "-c", program, "Open the door.",
            OPENAI_BASE_URL=server.url, OPENAI_API_KEY=KEY,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, SAID)
    assert "recorded" not in done.stderr.replace("could not be recorded", "")
    assert "harness: warning: 2 calls could not be recorded: FileExistsError: " in done.stderr


def test_a_folder_is_no_recording(here: Path) -> None:
    (here / "a.jsonl").mkdir()
    done = run("-o", "a.jsonl", "--", sys.executable, "-c", "print('ran')")
    assert (done.returncode, done.stdout, done.stderr) == (
        2, "", "harness: recording a.jsonl: is a folder; name a file\n",
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs POSIX signals")
@pytest.mark.parametrize(
    ("name", "to_all", "handled", "code"),
    [
        ("SIGINT", True, True, 7),  # Ctrl-C: the terminal sends it to everything in front
        ("SIGTERM", False, True, 7),
        ("SIGHUP", False, True, 7),
        ("SIGTERM", False, False, 128 + 15),
    ],
)
def test_signals_reach_the_program(
    here: Path, name: str, to_all: bool, handled: bool, code: int
) -> None:
    number = int(getattr(signal, name))
    takes = f"signal.signal({number}, lambda *_: sys.exit(7))" if handled else ""
    waits = f"import signal, sys, time\n{takes}\nprint('ready', flush=True)\ntime.sleep(60)"
    command, options = command_of("--", sys.executable, "-c", waits)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **options
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        if to_all:
            os.killpg(child.pid, number)
        else:
            child.send_signal(number)
        child.communicate(timeout=60)
    assert child.returncode == code


def test_a_signal_while_the_program_starts_reaches_it(here: Path) -> None:
    starts = textwrap.dedent(
        """
        import os, signal, subprocess, sys
        from harness.cli.child import run_child

        class Popen(subprocess.Popen):
            def __init__(self, *arguments, **options):
                super().__init__(*arguments, **options)
                os.kill(os.getpid(), signal.SIGTERM)  # it runs, and nobody knows it yet

        subprocess.Popen = Popen
        sleeps = [sys.executable, "-S", "-c", "import time; time.sleep(20)"]
        sys.exit(run_child("record", sleeps, os.environ))
        """
    )
    done = subprocess.run([sys.executable, "-c", starts], cwd=ROOT, check=False)
    assert done.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "record: missing argument"),
        (["--", "no-such-program"], "cannot run no-such-program: No such file"),
        (["--mode", "nine", "--", "true"], "record: mode: found 'nine'"),
        (["--mode", "none", "--", "true"], "recording.jsonl: there is none, and mode none never"),
        (["-o", "a.txt", "--", "true"], "recording a.txt: its name must end in .jsonl"),
        (["--upstream", "host:1", "--", "true"], "address of openai must be http:// or https://"),
        (["--secrets", "no.toml", "--", "true"], "secrets no.toml: cannot be read"),
    ],
)
def test_refusals(here: Path, harness: Any, arguments: list[str], words: str) -> None:
    assert words in harness("record", *arguments).refusal()


def test_secrets_in_files_are_listed_and_never_shown(here: Path, harness: Any) -> None:
    secret = "gh" + "p_" + "a1B2" * 9
    lines = [{"id": "a/b", "steps": [{"reply": {"text": f"x {secret}"}}]}, {"id": secret}]
    (here / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (here / "b.yaml").write_text(f"\nid: c\ngoal: {secret}\n")
    (here / "c.txt").write_text("nothing")
    found = harness("validate", "--secrets", ".", "c.txt")
    assert (found.code, found.err) == (1, "3 secrets in 3 files\n")
    assert found.out == (
        "a.jsonl:1: a/b: github at steps[0].reply.text\na.jsonl:2: github at id\nb.yaml:3: github\n"
    )
    told = harness("validate", "--secrets", "a.jsonl", "--json")
    assert told.lines[0] == {
        "path": "a.jsonl", "line": 1, "rule": "github", "id": "a/b", "at": "steps[0].reply.text",
    }  # fmt: skip
    assert harness("validate", "--secrets", "c.txt").code == 0
    assert "nowhere does not exist" in harness("validate", "--secrets", "nowhere").refusal()
    (here / "empty").mkdir()
    assert "no files in empty" in harness("validate", "--secrets", "empty").refusal()


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("a.jsonl", b'\xef\xbb\xbf{"id": "a"}\r\n\n{"text": "%s"}', [3]),
        ("b.txt", b"\xef\xbb\xbfone\r\n%s\n", [2]),
    ],
)
def test_looking_for_secrets_tells_how_far_it_is(
    here: Path, name: str, content: bytes, lines: list[int]
) -> None:
    (here / name).write_bytes(content % (b"gh" + b"p_" + b"a1B2" * 9))
    parts = list(findings_in(here / name))
    assert sum(size for size, _ in parts) == (here / name).stat().st_size
    assert [each.line for _, found in parts for each in found] == lines
