"""A chart as a static picture inside a document: no script, no link, the same bytes each time."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from harness.text import inert

_SVG = "http://www.w3.org/2000/svg"
#: What a picture may consist of; all else is left out, whoever put it there.
_ELEMENTS = frozenset({"svg", "g", "path", "text", "rect", "line", "circle", "defs", "clipPath",
                       "tspan"})  # fmt: skip
_ATTRIBUTES = frozenset({
    "class", "clip-path", "cx", "cy", "d", "dy", "dx", "fill", "fill-opacity", "font-family",
    "font-size", "font-style", "font-weight", "height", "id", "opacity", "r", "rx", "ry", "stroke",
    "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "stroke-opacity",
    "stroke-width", "text-anchor", "transform", "viewBox", "width", "x", "x1", "x2", "y", "y1",
    "y2",
})  # fmt: skip
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE = re.compile(r"^url\(#([\w-]+)\)$")


def svg(chart: Any, name: str, title: str) -> str:
    """The chart as SVG for the inside of an HTML page.

    Args:
        chart: An altair chart; its letters take the page's colour.
        name: Begins every id, so that two pictures of a page do not mix.
        title: Read out in place of the picture.
    """
    import vl_convert

    # Numbers of the chart's own making only: no data is fetched, no font is looked for.
    drawn = vl_convert.vegalite_to_svg(chart.to_dict(), allowed_base_urls=[])
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(drawn)  # noqa: S314 - made two lines above, without entities
    _clean(root, name)
    root.set("role", "img")
    root.set("aria-label", inert(title[:300]))
    return ElementTree.tostring(root, encoding="unicode").replace(f' xmlns="{_SVG}"', "", 1)


def _clean(element: ElementTree.Element, name: str) -> None:
    for key, value in list(element.attrib.items()):
        del element.attrib[key]
        reference = _REFERENCE.match(value)
        if key not in _ATTRIBUTES or (key == "class" and element.tag != f"{{{_SVG}}}svg"):
            continue
        if key == "id":
            kept = f"{name}-{value}"
        elif reference:
            kept = f"url(#{name}-{reference[1]})"
        elif "url(" in value or "://" in value:
            continue
        else:
            kept = value
        # Two decimals are a hundredth of a pixel.
        element.set(key, _NUMBER.sub(lambda found: f"{float(found[0]):.2f}", kept))
    for child in list(element):
        if _kind(child) in _ELEMENTS:
            _clean(child, name)
        else:
            element.remove(child)


def _kind(element: ElementTree.Element) -> str:
    tag = element.tag
    return tag.removeprefix(f"{{{_SVG}}}") if isinstance(tag, str) else ""
