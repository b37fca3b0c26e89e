"""`harness record`: all that it tells of a run, as JSON and in words."""

from __future__ import annotations

import json
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

from tests.cli.test_record import REPLIES, TALKS, run
from tests.openai_server import KEY, say, serving

LOOKS = """
import json, os, urllib.error, urllib.request
base = os.environ["OPENAI_BASE_URL"]
for path, body in (("/models", None), ("/embeddings", b"{}"), ("/files", None)):
    try:
        urllib.request.urlopen(base + path, body).read()
    except urllib.error.HTTPError:
        pass
"""
NONE: dict[str, Any] = {
    "exit_code": 0, "requests": 0, "calls": 0, "recorded": 0, "retried": 0, "answered": 0,
    "episodes": {}, "drifted": [], "missed": [], "lost": 0, "cause": None, "others": {},
    "refused": {}, "secrets": 0,
}  # fmt: skip
ALONE = "no model was asked: 3 requests came through the proxy, none of a kind that is recorded"


def test_all_that_is_told(here: Path) -> None:
    """In full, as scripts read it, and in words where no model was asked."""
    asked = {"exit_code": 0, "requests": 5, "calls": 2}
    refused = {"POST /v1/embeddings": 1, "GET /v1/files": 1}
    others = {"POST /v1/embeddings": 1}
    cases = [
        ("all", LOOKS + TALKS,
         {**asked, "recorded": 2, "episodes": {"prefix": 1}, "others": others}),
        ("none", LOOKS + TALKS, {**asked, "answered": 2, "refused": refused}),
        ("all", LOOKS, {"exit_code": 2, "requests": 3, "others": others}),
        ("none", LOOKS, {"exit_code": 2, "requests": 3, "refused": refused}),
    ]  # fmt: skip
    for mode, program, expected in cases:
        command = ["-o", "a.jsonl", "--mode", mode, "--", sys.executable, "-c", program, "Open."]
        for extra in ([], ["--json"]):
            replies = [] if mode == "none" else [say(raw={"data": []})]
            with serving(*replies, *REPLIES) as server:
                done = run(*extra, *command, OPENAI_BASE_URL=server.url, OPENAI_API_KEY=KEY)
            if not extra:
                assert (f"harness: {ALONE}" in done.stderr) is ("calls" not in expected)
        found = json.loads(done.stdout.splitlines()[-1])
        assert found == {"output": "a.jsonl", "mode": mode, **NONE, **expected}


def test_a_program_that_does_not_wait_and_ends(here: Path) -> None:
    leaves = textwrap.dedent(
        """
        import os, urllib.request
        url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        try:
            urllib.request.urlopen(url, b'{"model": "m", "messages": []}', timeout=0.3)
        except TimeoutError:
            pass
        """
    )
    let = threading.Event()
    with serving(script=lambda _: say("Late.") if let.wait(60) else {}) as server:
        done = run("--", sys.executable, "-c", leaves, OPENAI_BASE_URL=server.url)
        let.set()
    told = "recorded 1 episode, 1 call -> recording.jsonl; put together: 1 by shared history"
    assert (done.returncode, done.stderr) == (0, f"harness: {told}\n")


def test_how_many_secrets_were_taken_out(here: Path) -> None:
    """Each once, however often it is said or written again."""
    said = f"Log in with {KEY}."
    script = [say(f"With {KEY}?", *REPLIES[0]["calls"]), say("It is open.")]
    told = ("recorded 1 episode, 2 calls -> recording.jsonl; put together: 1 by shared history",
            "1 secret taken out of what was written")  # fmt: skip
    with serving(*script) as server:
        done = run("--", sys.executable, "-c", TALKS, said, OPENAI_BASE_URL=server.url,
                   OPENAI_API_KEY=KEY)  # fmt: skip
    assert done.stderr.splitlines() == [f"harness: {line}" for line in told]
    assert KEY not in Path("recording.jsonl").read_text()
