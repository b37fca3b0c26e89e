"""Opening files: unpacked where the name says so, counted for the progress bar."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from harness.errors import ImportFormatError
from harness.importers._intake import Intake

#: What reading a packed file raises where it breaks off or is damaged.
UNPACKING = (EOFError, gzip.BadGzipFile, zlib.error)
#: So much is read from the disk at once.
CHUNK_BYTES = 2**18


@contextmanager
def opened(path: Path, intake: Intake) -> Iterator[IO[bytes]]:
    """A file to read; one whose name ends in ``.gz`` is unpacked while it is read.

    Args:
        path: The file.
        intake: Learns how large it is and how much of it was read, as it is on the disk.

    Raises:
        ImportFormatError: It cannot be read, or where nobody inside took care of it, not unpacked.
    """
    refuse_endless(path)
    try:
        with path.open("rb", buffering=0) as file:
            intake.total_bytes += path.stat().st_size
            counted = io.BufferedReader(_Counted(file, intake), CHUNK_BYTES)
            packed = path.suffix == ".gz"
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=counted)) if packed else counted
    except UNPACKING as error:
        raise ImportFormatError(f"{path}: cannot be unpacked: {error}") from error
    except OSError as error:
        raise ImportFormatError(f"{path}: cannot be read: {error.strerror}") from error


def refuse_endless(path: Path) -> None:
    """Refuse what may never end or never begin, before anybody opens it.

    Raises:
        ImportFormatError: It is a pipe, a device or a socket.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ImportFormatError(f"{path}: is a pipe or a device; name a file")


class _Counted(io.RawIOBase):
    """A file that tells the intake how much of it was read."""

    def __init__(self, file: io.FileIO, intake: Intake) -> None:
        self._file = file
        self._intake = intake

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self._file.readinto(buffer) or 0
        self._intake.read_bytes += count
        return count
