"""The interface's words: English in the pages, other languages as data beside this file."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import streamlit as st

#: By what they call themselves, which is also what stands in the address.
LANGUAGES = {"English": "en", "中文": "zh"}


@cache
def _words(language: str) -> dict[str, str]:
    file = Path(__file__).parent / f"words.{language}.toml"
    if not file.is_file():
        return {}
    found: dict[str, str] = tomllib.loads(file.read_text("utf-8"))["words"]
    return found


def language() -> str:
    """The language that was chosen."""
    return LANGUAGES.get(str(st.session_state.get("lang")), "en")


def t(text: str, **values: object) -> str:
    """A text in the chosen language, with values put in; English where nobody translated it."""
    return _words(language()).get(text, text).format(**values)
