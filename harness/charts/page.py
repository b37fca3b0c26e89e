"""A chart for a page that has headings of its own and gives each picture its width."""

from __future__ import annotations

from typing import Any

import altair as alt

#: Room for what stands around a plot, in pixels, where a height means the whole picture.
FRAME = 62


def for_page(picture: Any) -> tuple[list[Any], str]:
    """The pictures of a chart, each to be shown at the width of the page.

    Charts one below the other have a fixed width together; drawn singly they take any.

    Returns:
        The pictures without a title, and how to read them (the title's second line).
    """
    subtitle = getattr(picture.title, "subtitle", "")
    picture.title = alt.Undefined
    if isinstance(picture, alt.FacetChart):
        # As many panels side by side as a telephone has room for.
        picture.columns = 2
    made = []
    for part in getattr(picture, "vconcat", None) or [picture]:
        one = part.copy(deep=False)
        one.config = picture.config
        if isinstance(getattr(one, "height", None), int | float):
            one.height = one.height + FRAME
        made.append(one)
    return made, subtitle if isinstance(subtitle, str) else ""
