"""The importer of autoresearch logs."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.importers import _reading, recordings

FORMAT = "autoresearch"
Refused = Callable[[Path], str]
Log = Callable[..., Path]

HEADER = "commit\tval_bpb\tstatus\tdescription"
KERNELS = "experiment\tkernel_type\tthroughput_tflops\tcorrectness\tdescription"


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Write rows to a tab-separated file."""

    def write(*rows: str, name: str = "boil.tsv") -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        return path

    return write


def read(path: Path) -> list[dict[str, Any]]:
    return list(recordings(FORMAT, path))


def scores(recording: dict[str, Any]) -> list[float | None]:
    return [step.get("score") for step in recording["steps"]]


def test_a_log_becomes_one_step_a_row(log: Log) -> None:
    rows = ("a1\t1.5\tkeep\tbaseline", "a2\t0.000000\tcrash\tlarger kettle", "a3\t1.6\tdiscard\t")
    assert read(log(HEADER, *rows)) == [
        {
            "schema": "harness/scenario@1",
            "id": "autoresearch/boil",
            "title": "boil",
            "source": "autoresearch:boil.tsv",
            "goal": "Improve val_bpb (lower is better).",
            "direction": "lower",
            "tags": ["autoresearch", "val_bpb"],
            "steps": [
                {"plan": "keep: baseline", "score": 1.5},
                {"plan": "crash: larger kettle"},
                {"plan": "discard", "score": 1.6},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("value", "status", "score"),
    [
        ("1.5", "keep", 1.5),
        ("1.5", "discard", 1.5),
        ("-2", "keep", -2.0),
        ("0.000000", "keep", None),
        ("0.000000", "crash", None),
        ("3.2", "crash", None),
        ("3.2", "CRASH", None),
        ("3.2", "FAIL", None),
        ("", "keep", None),
        ("NaN", "keep", None),
        ("n/a", "timeout", None),
        ("1e3", "", 1000.0),
    ],
)
def test_a_crash_has_no_score(log: Log, value: str, status: str, score: float | None) -> None:
    (recording,) = read(log(HEADER, f"a\t{value}\t{status}\td"))
    assert scores(recording) == [score]


@pytest.mark.parametrize(
    ("metric", "way"),
    [
        ("val_bpb", "lower"),
        ("val_loss", "lower"),
        ("val_rmse", "lower"),
        ("throughput_tflops", "higher"),
    ],
)
def test_the_column_says_which_way_is_better(log: Log, metric: str, way: str) -> None:
    (recording,) = read(log(f"name\t{metric}\tdescription", "a\t2\tfirst"))
    assert (recording["direction"], scores(recording)) == (way, [2.0])
    assert recording["steps"][0]["plan"] == "first"


def test_each_kernel_is_a_recording_and_a_change_of_unit_has_no_scores(log: Log) -> None:
    rows = (
        "0\tboil\t10\tPASS\tfirst",
        "1\tserve\t90\tPASS\tbaseline",
        "2\tboil\t0\tFAIL\tno steam",
        "3\tserve\t4471\tPASS\t4471 tok/s in all",
        "4\tboil\t12\tREVERT\tsecond",
    )
    boil, serve = read(log(KERNELS, *rows))
    assert (boil["id"], boil["tags"]) == (
        "autoresearch/boil/boil",
        ["autoresearch", "throughput_tflops"],
    )
    assert scores(boil) == [10.0, None, 12.0]
    assert (serve["id"], serve["tags"][-1]) == ("autoresearch/boil/serve", "unscored:unit")
    assert scores(serve) == [None, None]
    assert boil["goal"] == "Improve throughput_tflops (higher is better) of boil."


def test_a_loss_may_talk_of_another_unit(log: Log) -> None:
    (recording,) = read(log(HEADER, "a\t1.5\tkeep\tnow 900 tok/s"))
    assert scores(recording) == [1.5]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "the file is empty; expected a header and tab-separated rows"),
        ([HEADER], "holds a header but no row"),
        (["commit\tbleu\tdescription"], "line 1: the header must have a column 'description' and"),
        (["val_bpb\tval_loss\tdescription"], "exactly one of the scores val_bpb, val_loss"),
        (["commit\tval_bpb"], "found 'commit', 'val_bpb'"),
        ([HEADER, "a\t1\tkeep"], "line 2: a row must have 4 tab-separated fields as the header"),
        ([HEADER, "a\t1\tkeep\td\te"], "has, found 5"),
        ([HEADER, "", "a\tlow\tkeep\td"], "line 3: column 'val_bpb' must be a finite number, "),
        ([HEADER, "a\tinf\tkeep\td"], "found 'inf'"),
        ([HEADER, "a\t1e999\tkeep\td"], "found '1e999'"),
        ([HEADER, "a\t1e13\tkeep\td"], "scenario.steps[0].score"),
    ],
)
def test_another_shape_is_refused(log: Log, refused: Refused, rows: list[str], words: str) -> None:
    assert words in refused(log(*rows))


def test_broken_files_are_refused(
    tmp_path: Path, log: Log, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "the folder holds no *.tsv file" in refused(tmp_path)
    path = log(HEADER)
    path.write_bytes(f"{HEADER}\n".encode() + b"a\t1\tkeep\t\xff\n")
    assert "line 2: not UTF-8: byte 9 is 0xff" in refused(path)
    monkeypatch.setattr(_reading, "MAX_LINE_BYTES", 60)
    assert "line 2: a line may hold at most 60 bytes" in refused(log(HEADER, "a" * 61))


def test_counts_of_the_logs(corpora: Path) -> None:
    folder = corpora / "autoresearch"
    found = read(folder)
    plain = {"karpathy_H100_mar8": (126, 1, "val_bpb"), "pr109_loop_results": (116, 0, "val_bpb"),
             "pr246_results": (39, 0, "val_rmse"), "pr442_results_all": (55, 0, "val_loss"),
             "trainrtx5070": (69, 7, "val_bpb")}  # fmt: skip
    for name, (rows, crashes, metric) in plain.items():
        with (folder / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
            source = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        (recording,) = (each for each in found if each["id"] == f"autoresearch/{name}")
        expected = [None if row["status"] == "crash" else float(row[metric]) for row in source]
        assert scores(recording) == expected
        assert (len(expected), expected.count(None)) == (rows, crashes)
        assert min(score for score in expected if score is not None) > 0
    kernels = [each for each in found if each["id"].startswith("autoresearch/autokernel5090/")]
    assert len(kernels) == len(found) - len(plain) == 18
    assert sum(len(each["steps"]) for each in kernels) == 126
    mixed = {each["id"].rsplit("/")[-1] for each in kernels if "unscored:unit" in each["tags"]}
    assert mixed == {"9b_serving", "e2e_serving", "infrastructure", "model_benchmark",
                     "nvfp4_matmul"}  # fmt: skip
    counts = {each["id"].rsplit("/")[-1]: sum("score" in s for s in each["steps"])
              for each in kernels}  # fmt: skip
    assert {name: n for name, n in counts.items() if n} == {
        "quantized_matmul_w4a16": 35, "dequantize_fused_gemm": 2, "softmax": 5,
        "rotary_embedding": 1, "layernorm": 1, "fused_mlp": 1, "reduce": 1,
    }  # fmt: skip
