"""Values, ids and times as OTLP has them, taken out with care."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from harness.importers._base import Place, shown
from harness.importers._spans.span import Status

#: Brackets within brackets in an attribute; a scenario takes no more.
MAX_DEPTH = 100

_HEX = re.compile(r"[0-9a-fA-F]+")
_LARGEST = 2**63


def status_of(code: Any) -> Status:
    """A status code, as a number or a name."""
    word = str(code).rpartition("_")[2].rpartition(".")[2].lower()
    return "error" if word in ("2", "error") else "ok" if word in ("1", "ok") else "unset"


def attributes_of(spot: Place, raw: Any) -> dict[str, Any]:
    """Attributes as a plain object, from OTLP's list of keys and values or from an object.

    Raises:
        ImportFormatError: They are neither.
    """
    if isinstance(raw, dict):
        return {key: _shallow(spot, item) for key, item in raw.items()}
    if raw is not None and not isinstance(raw, list):
        raise spot.error(f"key 'attributes' must be a list or an object, found {shown(raw)}")
    try:
        found = _pairs(spot, raw or [])
    except RecursionError:
        raise spot.error("an attribute is nested too deeply") from None
    return {key: _shallow(spot, value) for key, value in found.items()}


def _shallow(spot: Place, value: Any) -> Any:
    """Refuse what later recursion could not take."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            below
            for item in level
            if isinstance(item, dict | list)
            for below in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return value
    raise spot.error(f"an attribute is nested more than {MAX_DEPTH} levels deep")


def any_value(spot: Place, raw: Any) -> Any:
    """A value of an attribute without its type.

    Raises:
        ImportFormatError: It is nested too deeply.
    """
    try:
        return _shallow(spot, _any(spot, raw))
    except RecursionError:
        raise spot.error("an attribute is nested too deeply") from None


def _any(spot: Place, raw: Any) -> Any:
    if not isinstance(raw, dict):
        return raw
    # An empty object is a value that was not set.
    # Phoenix writes all kinds, of which one is not null.
    set_to = [(key, value) for key, value in raw.items() if value is not None]
    (key, value), *_ = set_to or [("", None)]
    match key.replace("_", "").lower():
        case "intvalue":
            return int(value) if isinstance(value, str) and _whole(value) else value
        case "arrayvalue":
            return [_any(spot, item) for item in list_in(spot, value or {}, "values")]
        case "kvlistvalue":
            return _pairs(spot, list_in(spot, value or {}, "values"))
        case "bytesvalue" if isinstance(value, bytes):
            return base64.b64encode(value).decode()
        case _:
            return value


def _pairs(spot: Place, items: list[Any]) -> dict[str, Any]:
    found = {}
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("key"), str):
            raise spot.error(f"an attribute needs a 'key' and a 'value', found {shown(item)}")
        found[item["key"]] = _any(spot, item.get("value"))
    return found


def _whole(text: str) -> bool:
    return len(text) < 20 and text.removeprefix("-").isdecimal()


def value_in(raw: Any, *keys: str) -> Any:
    """The value under the first of the keys that is there."""
    if isinstance(raw, dict):
        for key in keys:
            if key in raw:
                return raw[key]
    return None


def list_in(place: Place, raw: Any, *keys: str) -> list[Any]:
    """The list under the first of the keys that is there; empty where none is.

    Raises:
        ImportFormatError: It is no list.
    """
    found = value_in(raw, *keys)
    if found is None:
        found = []
    if not isinstance(raw, dict) or not isinstance(found, list):
        raise place.error(f"key {keys[0]!r} must be a list of objects, found {shown(found or raw)}")
    return found


def id_in(spot: Place, raw: Any, *keys: str) -> str:
    """An id in hexadecimal; empty where there is none."""
    value = value_in(raw, *keys)
    if isinstance(value, bytes):
        return value.hex()
    if value is None:
        return ""
    if not isinstance(value, str):
        raise spot.error(f"key {keys[0]!r} must be a text, found {shown(value)}")
    if _HEX.fullmatch(value):
        return "" if not value.strip("0") else value.lower()
    # The JSON that protobuf itself writes has bytes in base64: 8 bytes in 12 letters, 16 in 24.
    if len(value) in (12, 24):
        try:
            return base64.b64decode(value, validate=True).hex()
        except binascii.Error:
            pass
    return value


def time_in(spot: Place, raw: Any, *keys: str) -> int | None:
    """A time in ns; 0 is none."""
    value = value_in(raw, *keys)
    if isinstance(value, str) and _whole(value):
        value = int(value)
    if value is None or value == 0:
        return None
    if type(value) is not int or not 0 < value < _LARGEST:
        raise spot.error(f"key {keys[0]!r} must be ns since 1970, found {shown(value)}")
    return value
