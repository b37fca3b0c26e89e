"""The store file: opening, refusing, sharing, asking, and surviving a killed writer."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from harness.errors import StoreError
from harness.store.database import SCHEMA_VERSION, Store
from tests.stored import refusal

COUNT = "SELECT count(*) AS n FROM runs"
ADD = "INSERT INTO runs VALUES (?, 1, '0', 'complete', '{}')"


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "store.duckdb", wait_s=5)
    made.create()
    return made


@contextmanager
def process(code, *args):
    """Another Python that has said one line; killed at the end."""
    command = [sys.executable, "-c", code, *map(str, args)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout.readline() == "ready\n"
            yield running
        finally:
            running.kill()


# -- opening ---------------------------------------------------------------------------------


def test_a_store_of_the_same_version_takes_in_what_is_new(store):
    """One that an older harness has made lacks a table, has another view, and allows less."""
    store.execute("DROP TABLE baselines")
    store.execute("CREATE OR REPLACE VIEW exits AS SELECT 1 AS one")
    store.execute("ALTER TABLE calls ALTER COLUMN with_args SET NOT NULL")
    store.execute("UPDATE store_meta SET value = 'older' WHERE key = 'schema'")
    store.create()
    nullable = "SELECT is_nullable AS n FROM duckdb_columns() WHERE column_name = 'with_args'"
    assert store.rows(nullable) == [{"n": True}]
    assert store.rows("FROM baselines") == store.rows("FROM exits") == []


def test_a_store_that_exists_is_left_as_it_is(store):
    store.execute(ADD, ["one"])
    store.create()
    assert store.rows("SELECT run_id FROM runs") == [{"run_id": "one"}]


def another_version(path):
    Store(path).create()
    Store(path).execute("UPDATE store_meta SET value = '99'")


def without_version(path):
    Store(path).create()
    Store(path).execute("DELETE FROM store_meta")


def other_duckdb(path):
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE mine (n INTEGER)")


def sqlite(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE runs (n INTEGER)")
    connection.commit()
    connection.close()


def truncated(path):
    Store(path).create()
    path.write_bytes(path.read_bytes()[:5000])


NO_STORE = {
    "another schema version": (
        another_version,
        f"has schema version 99, this harness reads {SCHEMA_VERSION}",
    ),
    "no schema version": (without_version, "has schema version unknown"),
    "some other DuckDB file": (other_duckdb, "is a DuckDB file, but no harness store"),
    "an SQLite file": (sqlite, "is not a DuckDB file"),
    "an empty file": (Path.touch, "is not a DuckDB file"),
    "a text": (lambda path: path.write_text("id: reflection/plateau\n"), "is not a DuckDB file"),
    "a broken file": (truncated, "cannot be opened"),
    "a folder": (Path.mkdir, "is a folder; name a file"),
}


@pytest.mark.parametrize("case", NO_STORE)
@pytest.mark.parametrize("verb", ["create", "rows", "ask", "frame"])
def test_what_is_no_store_is_refused(case, verb, tmp_path):
    make, words = NO_STORE[case]
    path = tmp_path / "some.duckdb"
    make(path)
    opened = Store(path, wait_s=0.1)
    message = refusal(opened.create if verb == "create" else lambda: getattr(opened, verb)(COUNT))
    assert message.startswith(f"store {path}: ")
    assert words in message


def test_a_store_that_is_missing_can_be_made_but_not_read(tmp_path):
    missing = Store(tmp_path / "none.duckdb")
    assert "does not exist; make one with: harness run" in refusal(lambda: missing.rows(COUNT))
    nowhere = Store(tmp_path / "no" / "none.duckdb")
    assert f"folder {tmp_path / 'no'} does not exist" in refusal(nowhere.create)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def locked_up():
    """A store in a folder that this user may read and not write."""
    folder = Path(tempfile.mkdtemp())
    store = Store(folder / "store.duckdb", wait_s=0.1)
    store.create()
    Path(f"{store.path}.lock").unlink(missing_ok=True)
    store.path.chmod(0o444)
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield store
    if root:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_store_that_may_only_be_read(locked_up):
    assert locked_up.rows(COUNT) == [{"n": 0}]
    assert "cannot be written" in refusal(locked_up.create)
    assert "cannot be written" in refusal(lambda: locked_up.execute(ADD, ["one"]))


# -- several processes -----------------------------------------------------------------------

HOLD = """
import sys, duckdb, time
held = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "reads")
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("verb", ["create", "rows", "ask", "execute"])
def test_a_file_that_is_held_for_writing_is_waited_for_and_named(verb, store):
    waiting = Store(store.path, wait_s=0.2)
    do = waiting.create if verb == "create" else lambda: getattr(waiting, verb)(COUNT)
    with process(HOLD, store.path, "writes"):
        begun = time.monotonic()
        assert refusal(do) == (
            f"store {store.path}: another process has held it for 0.2 s; close that program, or "
            "choose another file with --store"
        )
        assert 0.2 <= time.monotonic() - begun < 3
    do()


def test_a_file_that_is_held_for_reading_can_be_read(store):
    waiting = Store(store.path, wait_s=0.2)
    with process(HOLD, store.path, "reads"):
        assert waiting.rows(COUNT) == [{"n": 0}]
        assert "another process has held it" in refusal(lambda: waiting.execute(ADD, ["one"]))


WRITE = """
import sys, time
from harness.store.database import SCHEMA_VERSION, Store
from tests.stored import refusal
store = Store(sys.argv[1])
print("ready", flush=True)
for n in range(int(sys.argv[3])):
    store.execute("INSERT INTO runs VALUES (?, 1, '0', 'complete', '{}')", [f"{sys.argv[2]}-{n}"])
    time.sleep(0.02)
"""


def test_readers_and_writers_wait_for_each_other(store):
    seen = []
    with process(WRITE, store.path, "a", 15) as first, process(WRITE, store.path, "b", 15) as other:
        while first.poll() is None or other.poll() is None:
            seen.append(store.rows(COUNT)[0]["n"])
    assert (first.returncode, other.returncode) == (0, 0)
    assert store.rows(COUNT) == [{"n": 30}]
    assert seen == sorted(seen)
    assert len(seen) > 1


def test_threads_may_read_ask_and_write_at_once(store):
    failed = []

    def repeat(do):
        try:
            for _ in range(10):
                do()
        except StoreError as error:
            failed.append(str(error))

    doing = (
        lambda: store.rows(COUNT),
        lambda: store.ask(COUNT),
        lambda: store.execute(
            "INSERT INTO runs SELECT count(*)::VARCHAR, 1, '0', 'complete', '{}' FROM runs"
        ),
    )
    threads = [threading.Thread(target=repeat, args=(do,)) for do in doing]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (failed, store.rows(COUNT)) == ([], [{"n": 10}])


KILLED = """
import sys, time
from harness.store.database import SCHEMA_VERSION, Store
from tests.stored import refusal
store = Store(sys.argv[1])
store.execute("INSERT INTO runs VALUES ('kept', 1, '0', 'complete', '{}')")
with store._writing() as connection:
    connection.execute("BEGIN")
    connection.execute("INSERT INTO runs VALUES ('lost', 1, '0', 'complete', '{}')")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_killed_writer_loses_only_what_was_not_committed(store):
    with process(KILLED, store.path):
        pass
    assert store.ask("SELECT run_id FROM runs") == (["run_id"], [("kept",)])
    store.execute(ADD, ["next"])
    assert store.rows(COUNT) == [{"n": 2}]


FULL = """
import resource, sys
from pathlib import Path
from harness.store.database import SCHEMA_VERSION, Store
from tests.stored import refusal
store = Store(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (store.path.stat().st_size + 4096,) * 2)
print("ready", flush=True)
try:
    store.execute("INSERT INTO messages SELECT n, repeat(md5(n::VARCHAR), 99) "
                  "FROM range(50000) t(n)")
except Exception as error:
    print(type(error).__name__, error, flush=True)
"""


def test_a_file_that_cannot_grow_keeps_what_it_has(store):
    """As on a full disk: here the limit is the process's own."""
    store.execute(ADD, ["kept"])
    with process(FULL, store.path) as running:
        said = running.stdout.read()
    assert said.startswith(f"StoreError store {store.path}: ")
    assert said.count("\n") == 1
    assert store.rows("SELECT run_id, (SELECT count(*) FROM messages) AS n FROM runs") == [
        {"run_id": "kept", "n": 0}
    ]
