"""Traces that others recorded, against counts that know nothing of the importer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.loop import run_episode
from harness.preset import load_preset
from harness.scenario import Scenario
from harness.turns import prepare
from tests.importers.otlp_requests import read


def _llm_spans(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in json.loads(path.read_text("utf-8")):
        for group in one["resourceSpans"]:
            for scope in group["scopeSpans"]:
                for raw in scope["spans"]:
                    about = {a["key"]: next(iter(a["value"].values())) for a in raw["attributes"]}
                    kind = about.get("openinference.span.kind")
                    if kind in ("LLM", "TOOL"):
                        yield f"{kind} {raw['name']}", about


@pytest.mark.parametrize(
    ("file", "repeated", "exit_reason"),
    [
        ("quo_tav_agent", "LLM ChatOpenAI", "agent_finished"),
        ("rag_earnings_agent", None, None),
        ("smol_deep_research_agent", None, "agent_finished"),
    ],
)
def test_agent_prism(
    corpora: Path, file: str, repeated: str | None, exit_reason: str | None
) -> None:
    """Every model call and tool of the file, once, with the tokens that the file adds up to."""
    path = corpora / "otel/openinference_otlp_agent_prism" / f"{file}.json"
    spans = [(kind, about) for kind, about in _llm_spans(path) if kind != repeated]
    kinds = Counter(kind.partition(" ")[0] for kind, _ in spans)
    asked = [k for _, about in spans for k in about if k.endswith(".tool_call.function.name")
             and k.startswith("llm.output")]  # fmt: skip
    tokens = Counter[str]()
    for _, about in spans:
        for name in ("prompt", "completion", "prompt_details.cache_read",
                     "completion_details.reasoning"):  # fmt: skip
            tokens[name] += int(about.get(f"llm.token_count.{name}", 0))
    (found,) = read(path)
    counts = Counter[str]()
    for step in found["steps"]:
        counts.update(step["reply"].get("usage", {}))
    assert (len(found["steps"]), found["recorded"].get("exit_reason")) == (
        kinds["LLM"],
        exit_reason,
    )
    calls = [call for step in found["steps"] for call in step.get("calls", ())]
    assert len(calls) == len(asked) >= kinds["TOOL"]
    assert sum("ms" in call for call in calls) == kinds["TOOL"]
    assert counts["input"] + counts["cache_read"] == tokens["prompt"]
    assert counts["output"] + counts["reasoning"] == tokens["completion"]
    assert counts["cache_read"] == tokens["prompt_details.cache_read"]
    assert counts["reasoning"] == tokens["completion_details.reasoning"]
    episode = run_episode(
        prepare(Scenario.model_validate(found)), load_preset("balanced").observed()
    )
    assert episode.exit_iteration == len(found["steps"])
