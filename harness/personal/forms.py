"""What a rule of personal details names: checks of a value, and forms of its replacement."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address

#: Addresses set aside for documentation (RFC 5737).
_DOCUMENTED = ("192.0.2.", "198.51.100.", "203.0.113.")


def _is_iban(value: str) -> bool:
    """Modulo 97 over the rotated number is 1 (ISO 13616)."""
    plain = value.replace(" ", "")
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


def _is_card(value: str) -> bool:
    """Luhn's checksum, of a number that does not begin with 0, or with 1 as times in digits do."""
    digits = [int(char) for char in value if char.isdigit()]
    doubled = [2 * digit - 9 * (digit > 4) for digit in digits[-2::-2]]
    return digits[0] > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_address(value: str) -> bool:
    """A network address that may belong to somebody."""
    address = _address(value)
    if address is None or address.is_loopback or address.is_unspecified:
        return False
    if isinstance(address, IPv4Address) and address.is_reserved:
        return False
    return not (value.startswith(_DOCUMENTED) or value.lower().startswith("2001:db8:"))


def _address(value: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(value)
    except ValueError:
        return None


def _digits(value: str, number: int) -> str:
    """The same form, all digits 0 but for the number at the end; letters stay."""
    count = sum(char.isdigit() for char in value)
    left = iter(str(number).rjust(count, "0")[-count:])
    return "".join(next(left) if char.isdigit() else char for char in value)


def _uuid(value: str, number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def _documented(value: str, number: int) -> str:
    """An address for documentation; of the short ones there are 762, then come reserved ones."""
    if ":" in value:
        return f"2001:db8::{number:x}"
    if number > 3 * 254:
        return str(IPv4Address("240.0.0.0") + number)
    block, host = divmod(number - 1, 254)
    return f"{_DOCUMENTED[block]}{host + 1}"


CHECKS: dict[str, Callable[[str], bool]] = {
    "iban": _is_iban,
    "card": _is_card,
    "ip": _is_address,
}
SHAPES: dict[str, Callable[[str, int], str]] = {
    "digits": _digits,
    "uuid": _uuid,
    "ip": _documented,
}
