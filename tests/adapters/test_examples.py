"""The examples of docs/adapters.md run as they stand, against a scripted server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from tests.openai_server import KEY, call, say, serving

PAGE = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
(PRINTED,) = re.findall(r"^`(spin after .*)`\.$", PAGE, re.MULTILINE)
#: Our server speaks the older of OpenAI's two protocols, and nobody takes the traces.
OLDER = "import agents\nagents.set_default_openai_api('chat_completions')\n"
CASES = [
    (("langgraph", "langchain_openai"), ""),
    (("agents",), OLDER),
    (("pydantic_ai",), ""),
]


@pytest.mark.parametrize(
    ("example", "needs", "before"),
    [(example, *case) for example, case in zip(EXAMPLES, CASES, strict=True)],
    ids=[needs[0] for needs, _ in CASES],
)
def test_example(example: str, needs: tuple[str, ...], before: str, tmp_path: Path) -> None:
    for name in needs:
        pytest.importorskip(name)
    (tmp_path / "example.py").write_text(before + example)
    ids = count()
    with serving(
        script=lambda _: say("I read it.", call("read", {"path": "notes.txt"}, f"c{next(ids)}"))
    ) as server:
        told = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url,
                "OPENAI_AGENTS_DISABLE_TRACING": "1"}  # fmt: skip
        done = subprocess.run(
            [sys.executable, "example.py"], cwd=tmp_path, env={**os.environ, **told},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, PRINTED, "")
    assert len(server.requests) == 3
