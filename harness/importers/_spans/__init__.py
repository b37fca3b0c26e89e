"""Traces of any instrumentation, as one tree of model calls and executions, as recordings."""
