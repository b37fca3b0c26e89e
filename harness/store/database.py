"""The DuckDB file: short connections, ordered writers, bounded retry; the one importer of duckdb.

One process may write or several may read. Writers queue on a lock file, since DuckDB's own lock
has no queue; readers take no lock and are let in between two writes. Nobody keeps a connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from harness.errors import StoreError
from harness.filelocks import ProcessLock
from harness.store.rows import EPISODE_TABLES, SHARED_TABLES
from harness.store.schema import schema_digest, schema_sql

if TYPE_CHECKING:
    import pandas as pd

Parameters = Sequence[Any] | Mapping[str, Any]
SCHEMA_VERSION = "2"
#: How long to wait for another process before giving up.
WAIT_S = 60.0
_NO_NETWORK = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
#: For queries that users write: nothing outside the file can be read, written or changed.
_SEALED = {**_NO_NETWORK, "enable_external_access": "false", "lock_configuration": "true"}


def _in_use(error: BaseException) -> bool:
    """Another process holds the file, or a thread of this one in another mode."""
    text = str(error)
    if isinstance(error, duckdb.IOException):
        return "Could not set lock" in text or "used by another process" in text
    return isinstance(error, duckdb.ConnectionException) and "different configuration" in text


class Store:
    """A store file.

    Args:
        path: The DuckDB file.
        wait_s: How long to wait while another process holds it.
    """

    def __init__(self, path: str | Path, *, wait_s: float = WAIT_S) -> None:
        self.path = Path(path)
        self._wait_s = wait_s
        self._lock = ProcessLock(f"{self.path}.lock", wait_s=wait_s)

    # -- opening ---------------------------------------------------------------------------

    def create(self) -> None:
        """Make the file with its tables if it does not exist; check its version if it does.

        Raises:
            StoreError: It cannot be made or opened, or has another schema version.
        """
        if not self.path.parent.is_dir():
            raise StoreError(f"store {self.path}: folder {self.path.parent} does not exist")
        with self._writing() as connection:
            tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
            if tables:
                self._check_version(connection)
                if self._schema_of(connection) == schema_digest():
                    return
            # Tables that are there stay; what is new within one version is added.
            connection.execute("BEGIN")
            connection.execute(schema_sql())
            connection.execute(
                "INSERT OR REPLACE INTO store_meta VALUES ('schema_version', ?), ('schema', ?)",
                [SCHEMA_VERSION, schema_digest()],
            )
            connection.execute("COMMIT")

    @staticmethod
    def _schema_of(connection: duckdb.DuckDBPyConnection) -> str | None:
        found = connection.execute("SELECT value FROM store_meta WHERE key = 'schema'").fetchone()
        return None if found is None else str(found[0])

    @contextmanager
    def _writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        try:
            with self._lock.held(), self._connected(False) as connection:
                yield connection
        except TimeoutError:
            raise StoreError(
                f"store {self.path}: another process has been writing for {self._wait_s:g} s; "
                "wait for it, or choose another file with --store"
            ) from None
        except OSError as error:
            raise StoreError(f"store {self.path}: cannot be written: {error}") from error

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other writers away, while the file itself is replaced; this object may write.

        Raises:
            StoreError: Another process has been writing for too long.
        """
        try:
            with self._lock.held():
                yield
        except TimeoutError:
            raise StoreError(f"store {self.path}: another process is writing; try again") from None

    @contextmanager
    def _connected(
        self, read_only: bool, config: Mapping[str, str] = _NO_NETWORK
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        self._sniff(read_only)
        try:
            connection = self._open(read_only, config)
        except duckdb.Error as error:
            if _in_use(error):
                raise StoreError(
                    f"store {self.path}: another process has held it for {self._wait_s:g} s; "
                    "close that program, or choose another file with --store"
                ) from None
            raise StoreError(f"store {self.path}: cannot be opened: {_line(error)}") from error
        try:
            yield connection
        except duckdb.Error as error:
            raise StoreError(f"store {self.path}: {_line(error)}") from error
        finally:
            connection.close()

    def _open(self, read_only: bool, config: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
        retrying = Retrying(
            stop=stop_after_delay(self._wait_s),
            wait=wait_random_exponential(multiplier=0.02, max=0.1),
            retry=retry_if_exception(_in_use),
            reraise=True,
        )
        return retrying(duckdb.connect, str(self.path), read_only=read_only, config=dict(config))

    def _sniff(self, must_exist: bool) -> None:
        """Refuse what is not a store before DuckDB guesses at its format."""
        if self.path.is_dir():
            raise StoreError(f"store {self.path}: is a folder; name a file")
        if not self.path.exists():
            if must_exist:
                raise StoreError(
                    f"store {self.path}: does not exist; make one with: harness run --store "
                    f"{self.path}"
                )
            return
        try:
            with self.path.open("rb") as file:
                head = file.read(12)
        except OSError as error:
            raise StoreError(f"store {self.path}: cannot be read: {error}") from error
        if head[8:12] != b"DUCK":
            raise StoreError(f"store {self.path}: is not a DuckDB file")

    def _check_version(self, connection: duckdb.DuckDBPyConnection) -> None:
        try:
            found = connection.execute(
                "SELECT value FROM store_meta WHERE key = 'schema_version'"
            ).fetchone()
        except duckdb.CatalogException:
            raise StoreError(
                f"store {self.path}: is a DuckDB file, but no harness store (no table store_meta)"
            ) from None
        if found is None or found[0] != SCHEMA_VERSION:
            raise StoreError(
                f"store {self.path}: has schema version {found[0] if found else 'unknown'}, this "
                f"harness reads {SCHEMA_VERSION}; choose another file with --store"
            )

    # -- writing ---------------------------------------------------------------------------

    def write(self, tables: Mapping[str, pa.Table], *, replace: bool = False) -> None:
        """Write one batch of episodes in one transaction.

        Args:
            tables: By name, as ``to_arrow`` gives them.
            replace: Delete what the store already holds of the batch's (run, scenario, preset,
                repetition) first, so that a resumed run doubles nothing.
        """
        with self._writing() as connection:
            connection.execute("BEGIN")
            if replace and "episodes" in tables:
                self._forget(connection, tables["episodes"])
            for name, table in tables.items():
                connection.register("batch", table)
                key = SHARED_TABLES.get(name)
                if name == "scenarios":
                    # Truth and title may have changed under the same content.
                    connection.execute(
                        "DELETE FROM scenarios WHERE content_hash IN "
                        "(SELECT content_hash FROM batch)"
                    )
                source = f"batch ANTI JOIN {name} USING ({key})" if key else "batch"
                connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM {source}")
                connection.unregister("batch")
            connection.execute("COMMIT")

    def _forget(self, connection: duckdb.DuckDBPyConnection, episodes: pa.Table) -> None:
        connection.register("batch", episodes)
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE stale AS SELECT e.episode_id FROM episodes e "
            "SEMI JOIN batch b USING (run_id, scenario, preset, repetition, observe)"
        )
        connection.unregister("batch")
        for name in EPISODE_TABLES:
            connection.execute(f"DELETE FROM {name} WHERE episode_id IN (FROM stale)")

    def execute(self, sql: str, parameters: Parameters = ()) -> None:
        """Run one statement of our own that changes the store."""
        with self._writing() as connection:
            connection.execute(sql, parameters or None)

    # -- reading ---------------------------------------------------------------------------

    def rows(self, sql: str, parameters: Parameters = ()) -> list[dict[str, Any]]:
        """Rows of a query of our own, as dictionaries."""
        with self._connected(True) as connection:
            self._check_version(connection)
            found = connection.execute(sql, parameters or None)
            columns = [column[0] for column in found.description or ()]
            return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]

    def table(self, sql: str, parameters: Parameters = ()) -> pa.Table:
        """A query of our own as an Arrow table."""
        with self._connected(True) as connection:
            self._check_version(connection)
            return connection.cursor().sql(sql, params=parameters or None).to_arrow_table()

    def frame(self, sql: str, parameters: Parameters = ()) -> pd.DataFrame:
        """A query of our own as a pandas frame."""
        with self._connected(True) as connection:
            self._check_version(connection)
            frame: pd.DataFrame = connection.execute(sql, parameters or None).df()
            return frame

    def ask(self, sql: str, *, limit: int | None = None) -> tuple[list[str], list[tuple[Any, ...]]]:
        """A query that a user wrote: read-only, sealed from files and network.

        Args:
            sql: One SELECT-like statement.
            limit: Fetch at most this many rows.

        Returns:
            Column names and rows.

        Raises:
            StoreError: More than one statement, a statement that changes something, or an error
                in the SQL.
        """
        try:
            statements = duckdb.extract_statements(sql)
        except duckdb.Error as error:
            raise StoreError(f"sql: {_line(error)}") from None
        if len(statements) != 1:
            raise StoreError(f"sql: takes one statement, found {len(statements)}")
        kind = statements[0].type
        if kind not in _READING:
            raise StoreError(
                f"sql: reads only, found a statement of type {kind.name}; "
                "choose from: SELECT, EXPLAIN, DESCRIBE, SHOW"
            )
        with self._connected(True, _SEALED) as connection:
            self._check_version(connection)
            try:
                found = connection.execute(sql)
                columns = [column[0] for column in found.description or ()]
                fetched = found.fetchall() if limit is None else found.fetchmany(limit)
            except duckdb.Error as error:
                raise StoreError(f"sql: {_line(error)}") from None
            return columns, fetched


_READING = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN})


def _line(error: BaseException) -> str:
    """An error of DuckDB in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3]) if lines else type(error).__name__
