"""A store whose every recorded text attacks whoever shows it."""

from __future__ import annotations

import json
from pathlib import Path

from harness.preset import load_presets
from harness.run import run
from harness.store.database import Store

ATTACKS = (
    "<script>window.hit=1;fetch('http://evil.example/a')</script>",
    '<img src=x onerror="window.hit=2">',
    '"><svg onload=window.hit=3>',
    "[click](javascript:window.hit=4)",
    "![pixel](http://evil.example/b.png)",
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example/c\x07link\x1b]8;;\x07",
    "\u202egnp.exe\u2066",
    "</style></title></svg><iframe src='http://evil.example/d'></iframe>",
    "{{ 7 * 7 }} {% raw %} `code` | pipe | $x^2$ @everyone #1 <!-- ",
    "</code></details>\n\n# A heading\n\n<a href='http://evil.example/e'>here</a>",
)
LONG = "<b>" + "x" * 5_000_000


def store_of(folder: Path) -> Store:
    """One scenario an attack, each under a preset that attacks by its name too."""
    lines = []
    for at, attack in enumerate(ATTACKS):
        steps = [
            {
                "reply": {"text": f"{attack} {n} {LONG if at == 0 and n == 2 else ''}",
                          "model": attack, "ms": 5},
                "output": attack, "feedback": attack, "score": 0.5,
                "calls": [{"tool": attack, "args": {attack: attack}, "result": attack}],
            }
            for n in range(4)
        ]  # fmt: skip
        lines.append({
            "schema": "harness/scenario@1", "id": f"{attack}/{at}", "goal": attack,
            "title": attack, "tags": [attack], "steps": steps,
            "truth": {"verdict": "continue", "why": attack},
        })  # fmt: skip
    path = folder / "hostile.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    store = Store(folder / "hostile.duckdb")
    run([path], load_presets(["balanced", "reflection"]), store, run_id="<script>run</script>")
    # No file can have such a name; whoever writes into the store can.
    for table, column in (("episodes", "preset"), ("llm_calls", "role"), ("guard_series", "guard"),
                          ("episodes", "message"), ("episodes", "exit_reason")):  # fmt: skip
        store.execute(
            f"UPDATE {table} SET {column} = {column} || ' ' || ? WHERE {column} NOT LIKE 'max%'",
            [ATTACKS[0] + ATTACKS[7]],
        )
    return store
