"""Parquet to rows, through pyarrow where it is installed. It knows no tags: what its rows mean is a reader's."""

from __future__ import annotations

import io
from typing import Any

from .draft import Fault
from .json_rows import json_value

MAGIC = b"PAR1"


def is_parquet(data: bytes) -> bool:
    return data.startswith(MAGIC)


def table_of(data: bytes) -> tuple[list[dict[str, Any]], Any]:
    """The rows of a Parquet file, and what Hugging Face's metadata says of its features, None without it.

    Raises Fault where pyarrow is not installed, or cannot read the file.
    """
    try:
        from pyarrow import parquet, types
    except ImportError:
        raise Fault("Parquet needs pyarrow, which is not installed", "pip install pyarrow, or convert to JSONL") from None
    try:
        table = parquet.read_table(io.BytesIO(data))
        said = (table.schema.metadata or {}).get(b"huggingface")
        # Times are no values of ours, and of nanoseconds pyarrow makes Python's only with pandas.
        rows = table.select([field.name for field in table.schema if not types.is_temporal(field.type)]).to_pylist()
    except Exception:  # pyarrow's own errors, which may quote the file
        raise Fault("the Parquet file is broken", "was its copy cut short?") from None
    return rows, json_value(said.decode("utf-8", "replace")) if said else None
