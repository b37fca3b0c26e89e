"""Members of a ZIP archive, also of one that broke off before its directory was written."""

from __future__ import annotations

import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from harness.errors import ImportFormatError
from harness.importers._base import Place
from harness.importers._intake import Intake

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: Largest member that is unpacked. A hostile archive must not be able to fill the memory.
MAX_MEMBER_BYTES = 512 * 2**20
_LOCAL = struct.Struct("<4sHHHHHIIIHH")  # APPNOTE.TXT 4.3.7
_SIGNATURE = b"PK\x03\x04"
_DEFLATED, _ZSTANDARD = 8, 93


def members(path: Path, prefix: str, intake: Intake) -> Iterator[tuple[Place, bytes]]:
    """Each member whose name begins with ``prefix``, unpacked, in the order of the archive.

    Members are written one behind the other and the directory last, so that an archive that broke
    off still has the members before that; they are read by their own headers.

    Args:
        path: The archive.
        prefix: Beginning of the names.
        intake: Learns which members are lost.

    Raises:
        ImportFormatError: The file cannot be read.
    """
    try:
        with path.open("rb") as file:
            intake.total_bytes += path.stat().st_size
            for name, method, size, start, length in _directory(path, file, intake):
                intake.read_bytes = max(intake.read_bytes, start + length)
                if not name.startswith(prefix):
                    continue
                place = Place(path, name)
                try:
                    yield place, _unpacked(file, place, method, size, start, length)
                except ImportFormatError as error:
                    intake.note(error)
    except OSError as error:
        raise ImportFormatError(f"{path}: cannot be read: {error.strerror}") from error


_Entry = tuple[str, int, int, int, int]


def _directory(path: Path, file: IO[bytes], intake: Intake) -> Iterator[_Entry]:
    """Name, method, size, and where the packed bytes are, of each member."""
    try:
        listed = zipfile.ZipFile(file).infolist()
    except (zipfile.BadZipFile, NotImplementedError) as error:
        intake.note(Place(path, "directory").error(f"the archive broke off: {error}"))
        yield from _by_headers(path, file, intake)
        return
    for info in listed:
        file.seek(info.header_offset)
        head = file.read(_LOCAL.size)
        if len(head) < _LOCAL.size or not head.startswith(_SIGNATURE):
            intake.note(Place(path, info.filename).error("its header is damaged"))
            continue
        *_, names, extra = _LOCAL.unpack(head)
        start = info.header_offset + _LOCAL.size + names + extra
        yield info.filename, info.compress_type, info.file_size, start, info.compress_size


def _by_headers(path: Path, file: IO[bytes], intake: Intake) -> Iterator[_Entry]:
    at, end = 0, path.stat().st_size
    while True:
        file.seek(at)
        head = file.read(_LOCAL.size)
        if len(head) < _LOCAL.size or not head.startswith(_SIGNATURE):
            return
        _, _, flags, method, *_, packed, size, names, extra = _LOCAL.unpack(head)
        name = file.read(names).decode("utf-8", "replace")
        start = at + _LOCAL.size + names + extra
        if flags & 8 or packed == 0xFFFFFFFF:
            place = Place(path, name)
            intake.note(place.error("its length stands in the lost directory; so do the rest"))
            return
        if start + packed > end:
            intake.note(Place(path, name).error("the archive breaks off within it"))
            return
        yield name, method, size, start, packed
        at = start + packed


def _unpacked(
    file: IO[bytes], place: Place, method: int, size: int, start: int, length: int
) -> bytes:
    if max(size, length) > MAX_MEMBER_BYTES:
        raise place.error(f"a member may hold at most {MAX_MEMBER_BYTES} bytes, found {size}")
    file.seek(start)
    packed = file.read(length)
    try:
        if method == _DEFLATED:
            return _whole(zlib.decompressobj(-zlib.MAX_WBITS), packed, place)
        if method == _ZSTANDARD:
            return _whole(zstd.ZstdDecompressor(), packed, place)
    except (zlib.error, zstd.ZstdError, EOFError) as error:
        raise place.error(f"cannot be unpacked: {error}") from error
    if method != zipfile.ZIP_STORED:
        raise place.error(f"is packed by method {method}; choices: stored, deflate, zstandard")
    return packed


def _whole(unpacker: Any, packed: bytes, place: Place) -> bytes:
    data: bytes = unpacker.decompress(packed, MAX_MEMBER_BYTES)
    if not unpacker.eof:
        raise place.error("cannot be unpacked: it breaks off, or holds too much")
    return data
