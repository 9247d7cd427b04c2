"""What the benchmarks take from the command line: numbers and paths that are none end with a line of argparse's, exit 2."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path


def at_least(least: int) -> Callable[[str], int]:
    """A `type` for argparse: whole numbers from `least` on."""

    def number(said: str) -> int:
        if not said.isascii() or not said.isdigit() or int(said) < least:
            raise ArgumentTypeError(f"give a whole number of at least {least}")
        return int(said)

    return number


def existing(said: str) -> str:
    """A `type` for argparse: the path of a file or folder that is there."""
    if not Path(said).exists():
        raise ArgumentTypeError("no such file or folder")
    return said


def shapes(said: str) -> list[tuple[int, int]]:
    """A `type` for argparse: `8x128,2x512` as [(8, 128), (2, 512)]."""
    number = at_least(1)
    try:
        return [(number(first), number(second)) for first, second in (one.split("x") for one in said.split(","))]
    except (ArgumentTypeError, ValueError):
        raise ArgumentTypeError("give texts x tokens, such as 8x128,2x512") from None
