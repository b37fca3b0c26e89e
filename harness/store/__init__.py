"""Where every iteration is kept: a DuckDB file that users can query."""
