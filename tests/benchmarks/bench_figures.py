"""What dashboard and report ask of a large store: ``python -m tests.benchmarks.bench_figures``.

200,000 episodes and 2,000,000 iterations. Prints the time of each figure, and the memory of the
process that asked for all of them. The aim is 2 s for a page and 1 GiB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.figures.large import make_large

MEASURE = """
import json, sys, time
from harness import figures
from harness.figures import Chosen
from harness.figures.cheapest import cheapest
from harness.store.database import Store

store, chosen, taken = Store(sys.argv[1]), Chosen(runs=("large",)), {}
def timed(name, ask):
    begin = time.perf_counter()
    found = ask()
    taken[name] = time.perf_counter() - begin
    return found
for name in ("exits", "trend", "totals", "matrix", "differing", "episodes", "count", "lengths",
             "guards", "mechanisms", "decided", "roles"):
    timed(name, lambda: getattr(figures, name)(store, chosen))
for name in ("runs", "choices", "lessons", "data"):
    timed(name, lambda: getattr(figures, name)(store))
timed("paired", lambda: figures.paired(store, chosen, "observe"))
timed("cheapest", lambda: cheapest(store, chosen))
one = figures.episodes(store, chosen, limit=1)["episode_id"][0]
timed("episode", lambda: figures.episode(store, one))
# Not getrusage: its highest mark begins with that of the process that started this one.
status = open("/proc/self/status").read()
memory = int(status.partition("VmHWM:")[2].split()[0]) * 1024
print(json.dumps({"seconds": taken, "bytes": memory}))
"""


def measured(store: Path) -> dict[str, Any]:
    """Seconds by figure, and peak memory in bytes, of a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, store],
        check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "large.duckdb"
        make_large(store)
        found = measured(store)
    for name, seconds in sorted(found["seconds"].items(), key=lambda item: -item[1]):
        print(f"{name:12} {seconds:.2f} s")
    print(f"peak memory {found['bytes'] / 2**30:.2f} GiB (aim 1)")


if __name__ == "__main__":
    main()
