"""Personal details are replaced before a recording becomes a test that is shared.

The rules are data (``data/personal.toml``): e-mail addresses, hosts and queries of URLs, telephone
numbers, network addresses, user names in home folders, UUIDs, card and account numbers that pass
their checksum, and names where a key or a header says that there is one. Names in running text are
not found. Equal values get equal replacements of a like form, different ones different ones,
numbered in the order in which they appear, so that a loop which repeats itself still does, and the
same recording gives the same file.
"""

from __future__ import annotations

from harness.personal.placeholders import renumbered
from harness.personal.replacing import Personal

__all__ = ["Personal", "renumbered"]
