"""Commands of mini-swe-agent: fenced in a message, answered by the next."""

from __future__ import annotations

import re
from typing import Any

TOOL = "bash"
#: How a command begins; the second is the newer way, beside which the first is only text.
_FENCES = (re.compile(r"```mswea_bash_command\s*\n"), re.compile(r"```bash\s*\n"))
_CLOSING = "\n```"
_RESULT = re.compile(r"<returncode>(-?\d{1,10})</returncode>\s*(.*)", re.DOTALL)


def call_of(text: str) -> dict[str, Any]:
    """The call of a message; it counts as failed until an answer says otherwise."""
    commands = next(filter(None, (_fenced(text, fence) for fence in _FENCES)), [])
    args = {"command": commands[0]} if len(commands) == 1 else {"unparsed": commands}
    return {"tool": TOOL, "args": args, "ok": False}


def _fenced(text: str, fence: re.Pattern[str]) -> list[str]:
    """What stands in each closed fence; in linear time, whatever the text."""
    found: list[str] = []
    at = 0
    while (start := fence.search(text, at)) and (end := text.find(_CLOSING, start.end())) >= 0:
        found.append(text[start.end() : end].strip())
        at = end + len(_CLOSING)
    return found


def answer(call: dict[str, Any], content: str) -> None:
    """Give a call what the user message after it says."""
    match = _RESULT.fullmatch(content) if "command" in call["args"] else None
    if match is None:
        call["result"] = content
    else:
        code = int(match[1])
        call |= {"result": _output(match[2]), "exit_code": code, "ok": code == 0}


def _output(body: str) -> str:
    """A command's output without the tags around it; a long one has its middle cut out."""
    whole, closed, after = body.rpartition("</output>")
    if closed and not after.strip() and whole.startswith("<output>"):
        return whole.removeprefix("<output>").removeprefix("\n")
    _, _, rest = body.partition("<output_head>\n")
    head, _, rest = rest.partition("\n</output_head>\n<elided_chars>\n")
    cut, _, rest = rest.partition("\n</elided_chars>\n<output_tail>\n")
    tail, closed, _ = rest.rpartition("\n</output_tail>")
    return f"{head}\n[{cut}]\n{tail}" if closed else body
