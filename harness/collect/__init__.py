"""A receiver of OTLP traces that turns them into recordings as they arrive.

::

    with collecting("recordings.jsonl") as found:
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = found.url
        run_my_instrumented_agent()
    print(found.collector.counts)
"""

from __future__ import annotations

from harness.collect.collector import Collector, Counts
from harness.collect.receiver import Collecting, collecting

__all__ = ["Collecting", "Collector", "Counts", "collecting"]
