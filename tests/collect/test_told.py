"""What a user of the receiver is told when something is in the way."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from harness.collect import collecting
from harness.errors import HarnessError
from tests.collect.spans import lines
from tests.collect.test_command import AGENT, collect
from tests.collect.test_receiver import JSON, Open

#: Sends what it is given to the receiver, byte by byte as it is.
SENDS = """
import os, socket, sys, urllib.parse
place = urllib.parse.urlsplit(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])
with socket.create_connection((place.hostname, place.port)) as line:
    line.sendall(bytes.fromhex(sys.argv[1]))
    {after}
"""
ANSWERED = SENDS.format(after="line.recv(1000)")
#: Ends while the receiver waits for more of its request; it stays open, so nothing tells of it.
HELD = SENDS.format(after="import subprocess; subprocess.Popen(['sleep', '5'])")


def test_a_second_collector_does_not_double_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    taken = pytest.raises(HarnessError, match=r"a.jsonl is written by another collector")
    with collecting(path), taken, collecting(path):
        pass
    with collecting(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_the_file_is_the_same_file(tmp_path: Path) -> None:
    path, link = tmp_path / "a.jsonl", tmp_path / "here" / "link.jsonl"
    link.parent.mkdir()
    link.symlink_to(path)
    for one, other in ((path, link), (link, path)):
        taken = pytest.raises(HarnessError, match=r"a.jsonl is written by another collector")
        with collecting(one), taken, collecting(other):
            pass
    assert (list(link.parent.iterdir()), link.is_symlink()) == ([link], True)


def test_where_nothing_can_be_written_is_said_before_the_command_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    found = collect(tmp_path, "-o", "file/a.jsonl", child=["print('ran')"])
    assert (found.returncode, found.stdout) == (2, "")
    assert "file" in found.stderr


def test_a_command_behind_a_proxy_reaches_it(tmp_path: Path) -> None:
    nobody = "http://127.0.0.1:1"
    found = collect(tmp_path, "-o", "a.jsonl", child=[AGENT], HTTP_PROXY=nobody, http_proxy=nobody)
    assert (found.returncode, len(lines(tmp_path / "a.jsonl"))) == (0, 1)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "gRPC is not understood here: set OTEL_EXPORTER_OTLP",
        ),
        (b"POST /v2/spans HTTP/1.1\r\nhost: x\r\n\r\n", "nothing is known of POST /v2/spans"),
        (b"POST /v1/traces HTTP/1.1\r\nhost: x\r\n\r\n", "refused a request (415)"),
    ],
)
def test_what_was_refused_is_no_missing_instrumentation(
    tmp_path: Path, sent: bytes, words: str
) -> None:
    found = collect(tmp_path, child=[ANSWERED, sent.hex()])
    assert found.returncode == 2
    assert words in found.stderr
    assert "nothing was recorded: all that came was refused: 1 request" in found.stderr
    assert "instrumented" not in found.stderr


def test_which_items_were_not_taken(tmp_path: Path) -> None:
    made = Open(tmp_path / "a.jsonl")
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "no ids"}]}]}]}
    httpx2.post(f"{made.url}/v1/traces", json=body, headers=JSON)
    made.close()
    assert made.counts.rejected == 1
    assert made.said == ["not taken: request: OTLP, spans 1: needs a 'traceId' and a 'spanId'"]


def test_a_request_that_is_cut_off_at_the_end_leaves_no_traceback(tmp_path: Path) -> None:
    head = b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n"
    sent = head + b"content-type: application/json\r\n\r\n{"
    found = collect(tmp_path, child=[HELD, sent.hex()])
    assert "nothing was recorded" in found.stderr
    assert "Traceback" not in found.stderr
    assert "ERROR" not in found.stderr
