"""The verb ``tune``: its arguments and help; the work is done elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import DEFAULT_STORE, JsonOption, StoreOption, app


@app.command()
def tune(
    run: Annotated[
        str | None,
        typer.Argument(
            help="Run that was observed: harness run PATHS -p observe --run RUN", show_default=False
        ),
    ] = None,
    space: Annotated[
        Path | None,
        typer.Option(
            help="File of the presets to try; left out: the usual guards.",
            show_default=False,
            metavar="SPACE.toml",
        ),
    ] = None,
    observed: Annotated[
        str | None,
        typer.Option(help="Which observed preset, where the run has several.", metavar="PRESET"),
    ] = None,
    objective: Annotated[
        str, typer.Option(help="One of: cost, quality, utility.", metavar="WHAT")
    ] = "cost",
    max_false_stop: Annotated[
        float | None,
        typer.Option(
            help="Most false stops, as a share of judged episodes. Left out: 0.05 for cost "
            "without --max-lost, else any.",
            show_default=False,
        ),
    ] = None,
    max_lost: Annotated[
        float | None, typer.Option(help="Most quality lost, mean.", show_default=False)
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(help="Most cost of an episode, mean.", show_default=False, metavar="USD"),
    ] = None,
    value: Annotated[float, typer.Option(help="Utility: USD for one unit of score.")] = 1.0,
    price: Annotated[float, typer.Option(help="Utility: what one USD of cost counts.")] = 1.0,
    penalty: Annotated[float, typer.Option(help="Utility: USD for one false stop.")] = 0.0,
    current: Annotated[
        str | None,
        typer.Option(
            help="Preset to stand beside it. Left out: the space's, else balanced.",
            show_default=False,
            metavar="PRESET",
        ),
    ] = None,
    holdout: Annotated[float, typer.Option(help="Share of the tasks that is held out.")] = 0.5,
    splits: Annotated[int, typer.Option(help="Random splits into train and held-out.")] = 20,
    by: Annotated[
        str | None,
        typer.Option(
            help="Also one preset for each: family, workload (the scenario's id without its last "
            "part), model or tags; where there are enough tasks.",
            show_default=False,
            metavar="KEY",
        ),
    ] = None,
    max_censored: Annotated[
        float, typer.Option(help="Warn where more than this share is censored.")
    ] = 0.2,
    unit: Annotated[
        str | None,
        typer.Option(
            help="What is saved: cost, tokens or iterations. Left out: the first that is known in "
            "all episodes.",
            show_default=False,
            metavar="UNIT",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Preset file to write, with its evidence; one more for each group.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Markdown report to write.", show_default=False, metavar="FILE"),
    ] = None,
    calibrate: Annotated[
        str | None,
        typer.Option(
            help="Instead: the threshold of a GUARD, of all, or the strictness of a PRESET that "
            "keeps a limit on false stops.",
            show_default=False,
            metavar="WHAT",
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="With --calibrate: most false stops, as a share of good runs.")
    ] = 0.05,
    attribution: Annotated[
        str | None,
        typer.Option(
            help="Instead: what each guard of this preset saves and loses.",
            show_default=False,
            metavar="PRESET",
        ),
    ] = None,
    curves: Annotated[
        str | None,
        typer.Option(
            help="Instead: when loops end under this preset, by exit group.",
            show_default=False,
            metavar="PRESET",
        ),
    ] = None,
    classifiers: Annotated[
        str | None,
        typer.Option(
            help="Instead: rules that read texts against labels: a JSON Lines file, or bundled.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Choose thresholds from an observed run, and say what they are worth on other tasks.

    Exit code 0: measured; 2: it cannot be measured (nothing judged, too few
    tasks, ...).

    \b
    Examples:
      harness tune tuning -o mine.toml
      harness tune tuning --space space.toml --max-false-stop 0.02 --by family
      harness tune tuning --objective quality --budget 0.05 --report report.md
      harness tune tuning --calibrate all --alpha 0.05
    """  # noqa: D301 - \b keeps the lines of an example apart
    from harness.cli import evidence, tune
    from harness.errors import HarnessError

    asked = evidence.Asked(calibrate, attribution, curves, classifiers, alpha, observed)
    if evidence.answer(store, run, asked, as_json=json):
        return
    if run is None:
        raise HarnessError("tune: names no run; see: harness list runs")
    from harness.tune.choose import MAX_FALSE_STOP, Objective
    from harness.tune.study import Request

    usual = MAX_FALSE_STOP if objective == "cost" and max_lost is None else None
    limit = usual if max_false_stop is None else max_false_stop
    wanted = Objective(objective, limit, max_lost, budget, value, price, penalty)  # type: ignore[arg-type]
    request = Request(
        run, observed, space, wanted, current, holdout, splits, by, max_censored, unit  # type: ignore[arg-type]
    )  # fmt: skip
    tune.run_tune(store, request, output=output, report=report, as_json=json)
