"""The values the runtime's options may have. Apart from what acts on them, so that `--help` imports no numpy."""

from __future__ import annotations

ENGINES = ("auto", "mlx", "numpy")
DEVICES = ("auto", "metal", "cuda", "cpu")
DTYPES = ("auto", "float32", "float16", "bfloat16")
AGGREGATIONS = ("simple", "first", "average", "max", "viterbi")
