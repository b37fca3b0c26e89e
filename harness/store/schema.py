"""The schema as SQL, and rows as Arrow tables of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import duckdb
import pyarrow as pa

from harness.errors import HarnessError
from harness.fingerprint import digest
from harness.store.rows import EPISODE_TABLES, SHARED_TABLES, Rows


@cache
def schema_sql() -> str:
    """The commented schema: tables, then views."""
    folder = files("harness.store")
    return "\n".join(folder.joinpath(f"{n}.sql").read_text("utf-8") for n in ("schema", "views"))


@cache
def schema_digest() -> str:
    """Tells one state of the schema from another within a version."""
    return digest("schema", schema_sql())


@cache
def arrow_schemas() -> dict[str, pa.Schema]:
    """Arrow schema of each table, read off the SQL schema so that it is written once."""
    with duckdb.connect(":memory:") as connection:
        connection.execute(schema_sql())
        return {
            name: connection.sql(f"FROM {name} LIMIT 0").to_arrow_table().schema
            for name in (*EPISODE_TABLES, *SHARED_TABLES)
        }


def to_arrow(rows: Rows) -> dict[str, pa.Table]:
    """Rows as Arrow tables, empty ones left out.

    Raises:
        HarnessError: A number that no column can hold.
    """
    tables = dict(rows.tables)
    tables["messages"] = list(rows.texts.items())
    return {
        name: _table(name, arrow_schemas()[name], content)
        for name, content in tables.items()
        if content
    }


def _table(name: str, schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table(
        [_array(name, kind, column) for column, kind in zip(columns, schema, strict=True)],
        schema=schema,
    )


def _array(table: str, column: pa.Field, values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values, column.type)
    except (pa.ArrowInvalid, OverflowError):
        largest = max((v for v in values if isinstance(v, int)), key=abs, default=None)
        raise HarnessError(
            f"store: {table}.{column.name}: {largest} is too large for {column.type}"
        ) from None


def describe_schema() -> list[tuple[str, str, str, list[tuple[str, str, str]]]]:
    """Tables and views with their comments: name, kind, comment, (column, type, comment)."""
    with duckdb.connect(":memory:") as connection:
        connection.execute(schema_sql())
        objects = connection.execute(
            "SELECT table_name, 'table', comment FROM duckdb_tables() UNION ALL "
            "SELECT view_name, 'view', comment FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
        columns = connection.execute(
            "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() "
            "WHERE NOT internal ORDER BY table_name, column_index"
        ).fetchall()
    order = re.findall(r"^CREATE .*?(\w+) (?:\(|AS)$", schema_sql(), re.MULTILINE)
    objects.sort(key=lambda row: order.index(row[0]))
    return [
        (name, kind, comment or "", [(c, t, note or "") for table, c, t, note in columns
                                     if table == name])
        for name, kind, comment in objects
    ]  # fmt: skip
