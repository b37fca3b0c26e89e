"""Recorded texts that attack whoever shows them."""

from __future__ import annotations

import json

EVIL = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> <svg onload=alert(1)> "
    "[a](javascript:alert(1)) ![b](http://192.0.2.1/b.png) http://192.0.2.1/ "
    "<iframe src=http://192.0.2.1/></iframe> "
    "<style>*{display:none}</style> :material/delete: :red[x] $\\href{javascript:alert(1)}{x}$ "
    "\x1b[31mRED\x1b]0;title\x07 \u202eRTL\u2066 \u2028 '; DROP TABLE runs;-- {{7*7}} {0} %s "
    '"] + alert(1) + ["  datum.x  =cmd|calc  # head  `code`  ```\nfence'
)
LONG = "<b>" + "A" * 5_000_000

_STEP = {
    "user": EVIL,
    "reply": {"text": EVIL, "model": EVIL[:80], "finish_reason": EVIL, "usage": {"input": 1}},
    "calls": [{"tool": EVIL[:90], "args": {EVIL: EVIL}, "result": EVIL, "ok": False, "ms": 1}],
    "output": EVIL,
    "plan": EVIL,
    "feedback": EVIL,
    "judge": EVIL,
    "score": 0.5,
}
#: Once, because near repetition compares texts letter by letter.
_LONG_STEP = {**_STEP, "output": LONG, "calls": [{"tool": "read", "args": None, "result": LONG}]}
_HEAD = {
    "schema": "harness/scenario@1", "id": EVIL[:290], "title": EVIL, "goal": EVIL, "source": EVIL,
    "tags": [EVIL[:90]], "tools": [EVIL[:90]], "steps": [_STEP] * 3 + [_LONG_STEP],
    "recorded": {"outcome": EVIL},
    "truth": {"verdict": "stop", "reasons": ["stagnation"], "why": EVIL},
}  # fmt: skip
SCENARIO = json.dumps(_HEAD) + "\n" + json.dumps(_HEAD | {"id": "=1+1", "tools": None}) + "\n"
_NAME = json.dumps("<img src=x onerror=alert(1)> [b](javascript:alert(1))")
PRESET = f"""
schema = "harness/preset@1"
title = {_NAME}
[guards]
{_NAME} = {{ kind = "spin", threshold = 3, on = "text" }}
max_rounds = 5
"""
