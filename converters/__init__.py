"""Converters: a Hugging Face checkpoint in, an openmed-mlx artifact out – streamed, checked, written whole or not at all.

Packaged as `openmed_mlx_eval.converters`. Imports are absolute where they leave this folder, because it stands
beside the package in the repository and inside it when installed.
"""

from .conversion import Conversion, Options, Proof, convert

__all__ = ["Conversion", "Options", "Proof", "convert"]
