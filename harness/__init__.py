"""Guards for LLM agent loops: replay, record every signal, compare, tune."""

from __future__ import annotations

__version__ = "0.1.0"
