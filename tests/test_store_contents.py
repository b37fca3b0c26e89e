"""What a store answers to queries, and what its tables hold."""

from __future__ import annotations

import pytest

from harness.preset import load_presets
from harness.run import run
from harness.store.database import Store
from harness.store.rows import EPISODE_TABLES, SHARED_TABLES, Rows
from harness.store.schema import arrow_schemas, describe_schema, to_arrow
from tests.examples import call, scenario, step
from tests.stored import ODD, jsonl, refusal


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "store.duckdb")
    made.create()
    return made


# -- asking ----------------------------------------------------------------------------------

READS = [
    "SELECT run_id FROM runs", "FROM runs SELECT run_id", "WITH r AS (FROM runs) FROM r",
    "DESCRIBE runs", "SHOW TABLES", "SUMMARIZE runs", "EXPLAIN SELECT 1", "VALUES (1)",
    "SELECT 'DROP; TABLE' -- ; DROP",
]  # fmt: skip
REFUSED = {
    "SELECT 1; SELECT 2": "takes one statement, found 2",
    "": "takes one statement, found 0",
    "SELECT 1; DROP TABLE runs": "takes one statement, found 2",
    "DROP TABLE runs": "type DROP",
    "INSERT INTO runs VALUES (1)": "type INSERT",
    "DELETE FROM runs": "type DELETE",
    "CREATE TEMP TABLE t AS SELECT 1": "type CREATE",
    "ATTACH 'other.duckdb'": "type ATTACH",
    "COPY runs TO 'runs.csv'": "type COPY",
    "EXPORT DATABASE 'folder'": "type EXPORT",
    "INSTALL httpfs": "type LOAD",
    "LOAD httpfs": "type LOAD",
    "PRAGMA database_list": "type PRAGMA",
    "SET enable_external_access = true": "type SET",
    "EXPLAIN ANALYZE DELETE FROM runs": "read-only mode",
    "SELEC 1": "syntax error",
    "FROM read_csv('/etc/passwd')": "Permission Error",
    "SELECT * FROM read_text('/etc/passwd')": "Permission Error",
    "SELECT * FROM glob('/etc/*')": "Permission Error",
    "FROM '/etc/passwd.csv'": "Permission Error",
    "FROM read_csv('https://example.org/a.csv')": "Permission Error",
}


@pytest.mark.parametrize("sql", READS)
def test_what_reads_is_answered(sql, store):
    store.execute("INSERT INTO runs VALUES ('one', 1, '0', 'complete', '{}')")
    columns, rows = store.ask(sql)
    assert len(columns) == len(rows[0])


@pytest.mark.parametrize("sql", REFUSED)
def test_what_changes_or_leaves_the_store_is_refused(sql, store):
    message = refusal(lambda: store.ask(sql))
    assert message.startswith("sql: ")
    assert REFUSED[sql] in message


def test_an_answer_may_be_cut_short(store):
    assert store.ask("FROM range(9) t(n)", limit=2) == (["n"], [(0,), (1,)])


# -- tables ----------------------------------------------------------------------------------


def test_every_table_and_view_says_what_it_is():
    described = {name: (kind, comment) for name, kind, comment, _ in describe_schema()}
    assert {kind for kind, _ in described.values()} == {"table", "view"}
    assert [name for name, (_, comment) in described.items() if not comment] == []
    assert {*EPISODE_TABLES, *SHARED_TABLES, "signals", "conditions", "exits"} <= set(described)


def test_arrow_schemas_are_those_of_the_tables(store):
    for name, schema in arrow_schemas().items():
        columns = store.rows(f"DESCRIBE {name}")
        assert [row["column_name"] for row in columns] == schema.names


def stored(tmp_path, *scenarios):
    store = Store(tmp_path / "texts.duckdb")
    file = jsonl(tmp_path / "texts.jsonl", *scenarios)
    run([file], load_presets(["observe", "fast"]), store, run_id="one")
    return store


def test_each_text_is_kept_once(tmp_path):
    store = stored(tmp_path, ODD, scenario(ODD.model_dump()["steps"][:1], id="odd/two"))
    texts = [row["text"] for row in store.rows("SELECT text FROM messages ORDER BY text")]
    assert texts == ["", "Go on.", "a b", "no rule", "text", '{"cmd":"ls"}', '{"cmd":"make"}',
                     '{"path":"a"}', "{}"]  # fmt: skip
    assert store.rows(
        "SELECT count(*) AS n FROM calls c JOIN messages m ON m.hash = c.args_hash"
    ) == store.rows("SELECT count(*) AS n FROM calls")


def test_fingerprints_of_what_was_not_captured_are_null(tmp_path):
    calls = [call("sh"), call("sh", {"cmd": "ls"}), call("sh", {"cmd": "ls"}, "a b")]
    store = stored(tmp_path, scenario([step(*calls)], content_captured=False))
    assert store.ask(
        "SELECT DISTINCT n, action IS NULL, with_args IS NULL, with_result IS NULL,"
        " normalised IS NULL FROM calls ORDER BY n"
    )[1] == [(1, False, True, True, True), (2, False, False, True, True),
             (3, False, False, False, False)]  # fmt: skip


HOSTILE = ["\ud83d cut in half", "nul \0 inside", "'; DROP TABLE runs; --", "\x1b[2J<script>", "😀"]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_can_be_kept(text, tmp_path):
    line = scenario([step(call("t", {"x": "TEXT"}, "TEXT"), text="TEXT")]).model_dump_json(
        by_alias=True, exclude_defaults=True
    )
    escaped = "".join(f"\\u{ord(c):04x}" if ord(c) < 65536 else c for c in text)
    store = stored(tmp_path, line.replace("TEXT", escaped))
    kept = text.replace("\ud83d", "\ufffd")
    assert store.ask("SELECT DISTINCT text FROM messages JOIN iterations ON hash = reply_hash") == (
        ["text"], [(kept,)])  # fmt: skip


def test_a_number_that_no_column_can_hold_is_named():
    rows = Rows()
    rows.tables["lessons"].append(("run", "episode", 2**40, *5 * (None,)))
    message = refusal(lambda: to_arrow(rows))
    assert message == f"store: lessons.iteration: {2**40} is too large for int32"


def test_no_rows_make_no_tables():
    assert to_arrow(Rows()) == {}
