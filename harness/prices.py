"""What a reply cost, in integer pico-USD; the one importer of genai-prices.

A model that the price list does not know has an unknown cost: neither zero nor above a limit.
Set ``HARNESS_PRICES`` to a TOML file to add or override prices::

    [models."house-model-7b"]     # USD per million tokens
    input = 0.20
    cache_read = 0.05             # left out: as input
    cache_write = 0.20            # left out: as input
    output = 0.60
"""

from __future__ import annotations

import os
import tomllib
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path

from harness.errors import HarnessError
from harness.trace import Usage

PICO_PER_USD = 10**12
#: Prices are those of this moment, so that a replay costs the same tomorrow.
PRICE_DATE = datetime(2026, 11, 1, 12, tzinfo=UTC)
#: Above it a price is a mistake.
MAX_PRICE = 1_000_000
_KEYS = ("input", "cache_read", "cache_write", "output")


def usd(pico: int | None) -> float | None:
    """Pico-USD as USD, for display."""
    return None if pico is None else pico / PICO_PER_USD


def cost(model: str | None, usage: Usage | None) -> int | None:
    """Cost of one reply.

    Args:
        model: Name of the model as the provider reports it.
        usage: Its tokens.

    Returns:
        Integer pico-USD, or ``None`` where model, price or usage is unknown.

    Raises:
        HarnessError: ``HARNESS_PRICES`` names a file that cannot be used.
    """
    if model is None or usage is None:
        return None
    return _cost(model, usage)


@lru_cache(maxsize=65_536)
def _cost(model: str, usage: Usage) -> int | None:
    own = _overrides().get(model)
    if own is not None:
        pico_per_token = {key: round(price * 1_000_000) for key, price in own.items()}
        return (
            usage.input * pico_per_token["input"]
            + usage.cache_read * pico_per_token.get("cache_read", pico_per_token["input"])
            + usage.cache_write * pico_per_token.get("cache_write", pico_per_token["input"])
            + usage.output_all * pico_per_token["output"]
        )
    if model in _unpriced:
        return None
    from genai_prices import Usage as PricedUsage
    from genai_prices import calc_price

    try:
        price = calc_price(
            PricedUsage(
                input_tokens=usage.input_all,
                cache_read_tokens=usage.cache_read,
                cache_write_tokens=usage.cache_write,
                output_tokens=usage.output_all,
            ),
            model_ref=model,
            genai_request_timestamp=PRICE_DATE,
        )
    except LookupError:
        _unpriced.add(model)
        return None
    return int((Decimal(price.total_price) * PICO_PER_USD).to_integral_value())


#: Models found to have no price; asking again would search the whole list each time.
_unpriced: set[str] = set()


@cache
def _overrides() -> dict[str, dict[str, float]]:
    name = os.environ.get("HARNESS_PRICES")
    if not name:
        return {}
    try:
        data = tomllib.loads(Path(name).read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HarnessError(f"HARNESS_PRICES={name}: cannot be read as prices: {error}") from error
    models = data.get("models")
    if not isinstance(models, dict):
        raise HarnessError(f"HARNESS_PRICES={name}: needs tables [models.NAME], found {models!r}")
    return {str(model): _checked(name, model, prices) for model, prices in models.items()}


def _checked(name: str, model: str, prices: object) -> dict[str, float]:
    """Prices of one model, if they are some."""
    rule = (
        "needs input and output, and may have cache_read and cache_write: USD per million tokens, "
        f"0 to {MAX_PRICE:,}"
    )
    good = (
        isinstance(prices, dict)
        and set(prices) <= set(_KEYS)
        and {"input", "output"} <= set(prices)
        and all(
            isinstance(p, int | float) and not isinstance(p, bool) and 0 <= p <= MAX_PRICE
            for p in prices.values()
        )
    )
    if not good:
        raise HarnessError(f"HARNESS_PRICES={name}: model {model!r} {rule}; found {prices!r:.120}")
    found: dict[str, float] = prices  # type: ignore[assignment]  # just checked
    return dict(found)
