"""Exports that hold too little: which of the same source would do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import ImportFormatError
from harness.importers import detect, recordings

LANGFUSE = "export the observations as JSON or JSON Lines"
LANGSMITH = "export the runs as JSON Lines"
TRACE = {"id": "t", "timestamp": "2026-01-01", "name": "a", "userId": None, "sessionId": None}
SNAKE = {"id": "t", "timestamp": "2026-01-01", "user_id": None, "session_id": None}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "id,type,name,startTime,traceId\n1,SPAN,a,2026,t\n",
         f"is a CSV file of Langfuse; {LANGFUSE}"),
        ("a.csv", '\ufeff"id","timestamp","userId","sessionId"\r\n1,2026,,\r\n',
         f"is a CSV file of Langfuse; {LANGFUSE}"),
        ("a.csv", "id,name,run_type,inputs,outputs\n1,a,llm,{},{}\n",
         f"is a CSV file of LangSmith; {LANGSMITH}"),
        ("a.csv", "id,name\n1,a\n", "is text that no importer knows"),
        ("a.json", json.dumps([TRACE]), "holds traces of Langfuse without their obs"),
        ("a.jsonl", json.dumps(SNAKE), "holds traces of Langfuse without their obs"),
        ("a.json", json.dumps([{"id": "t", "type": "SPAN", "traceId": "t"}]),
         "is a JSON list that no importer knows"),
    ],
)  # fmt: skip
def test_what_to_export_instead(tmp_path: Path, name: str, content: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ImportFormatError) as caught:
        detect(path)
    assert str(caught.value).startswith(f"{path}: {words}")


@pytest.mark.parametrize(
    ("name", "header", "words"),
    [
        ("langfuse", "id,type,traceId", f"is a CSV file of Langfuse; {LANGFUSE}"),
        ("langsmith", "id,run_type,inputs", f"is a CSV file of LangSmith; {LANGSMITH}"),
    ],
)
def test_the_same_where_the_importer_is_named(
    tmp_path: Path, name: str, header: str, words: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n1,2,3\n")
    with pytest.raises(ImportFormatError) as caught:
        list(recordings(name, path))
    assert str(caught.value).startswith(f"{path}: {words}")
