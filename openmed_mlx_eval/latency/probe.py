"""What a fresh process runs: load a model, tag one text twice, and say when each phase had ended.

Started by `cold` with a ModelChoice as JSON for its argument; prints one line of JSON. Times are those of
`time.perf_counter`, which on Linux, macOS and Windows is one clock for all processes, so that the parent can put
its own two – before the start, after the end – around them. The text is this module's own: no corpus is read here.
"""

from __future__ import annotations

import time

STARTED = time.perf_counter()

import json  # noqa: E402  the clock first: what is imported from here on is part of a cold start
import sys  # noqa: E402

TEXT = "Seen on 12 March 2024 by Dr. Amy Quill for a lesion of the left lung; the right kidney was spared."


def main() -> None:
    """Measure sys.argv's last argument. An error is said on stdout too, with the exit code it would have had."""
    options = json.loads(sys.argv[-1])
    from ..errors import EvaluationError

    try:
        result = measured(options)
    except EvaluationError as error:
        result = {"error": str(error), "exit_code": error.exit_code}
    print(json.dumps(result), flush=True)


def measured(options: dict[str, object]) -> dict[str, object]:
    """ends: [[phase, time at its end], …] in order; beside it what was found and what was needed."""
    ends: list[tuple[str, float]] = [("start", STARTED)]

    def lap(phase: str) -> None:
        ends.append((phase, time.perf_counter()))

    from ..request import ModelChoice
    from ..runtime import classifier as _  # noqa: F401  so that loading it is not counted as loading the model

    lap("import")
    classifier = ModelChoice(**options).load(lap)  # type: ignore[arg-type]
    encoded = classifier.encoder.encode([TEXT])
    logits = classifier.forward(encoded)
    lap("first_forward")
    spans = classifier.decoder.spans(encoded[0], logits[0], classifier.encoder)
    lap("first_span")
    classifier.forward(encoded)
    lap("second_forward")
    from .memory import peak_device_mib, peak_rss_mib

    return {
        "ends": ends,
        "spans": len(spans),
        "tokens": len(encoded[0].ids),
        "engine": classifier.ops.name,
        "device": classifier.ops.device,
        "peak_rss_mib": peak_rss_mib(),
        "peak_device_mib": peak_device_mib(classifier.ops),
    }


if __name__ == "__main__":
    main()
