"""Draw docs/run.svg from what ``harness run`` really prints: ``python docs/picture.py``."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent


def main() -> None:
    """Run the command in an empty folder and keep its colours."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["harness", "run", "--run", "first"],
            cwd=folder,
            env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": "80"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True)
    console.print(Text("$ harness run"))
    console.print(Text.from_ansi(done.stdout))
    drawing = console.export_svg(title="harness run")
    # Without the web fonts that rich names: a picture asks nobody for anything.
    drawing = re.sub(r"@font-face \{.*?\}", "", drawing, flags=re.DOTALL)
    (HERE / "run.svg").write_text("\n".join(line.rstrip() for line in drawing.splitlines()) + "\n")


if __name__ == "__main__":
    main()
