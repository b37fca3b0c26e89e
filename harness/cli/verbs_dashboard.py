"""The verb ``dashboard``: its arguments and help; the work is done elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.app import DEFAULT_STORE, JsonOption, StoreOption, app


@app.command()
def dashboard(
    store: StoreOption = DEFAULT_STORE,
    port: Annotated[
        int | None,
        typer.Option(
            help="Port to listen on. Left out: 8501, or the next one that is free.",
            show_default=False,
            min=1,
            max=65535,
        ),
    ] = None,
    address: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Whoever can reach it can read all that is recorded."
        ),
    ] = "127.0.0.1",
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open a browser window.")
    ] = True,
    json: JsonOption = False,
) -> None:
    """Look at the store in a browser: what ended the loops, why, and what other thresholds give.

    Runs until Ctrl-C. It listens on this machine only and sends nothing out; a
    run can write to the store meanwhile, and the pages follow it.

    \b
    Examples:
      harness dashboard
      harness dashboard --store nightly.duckdb --port 9000 --no-browser
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import dashboard

    dashboard.serve(store, port=port, address=address, browser=browser, as_json=json)
