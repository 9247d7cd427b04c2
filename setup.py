"""What pyproject.toml cannot say: models_manifest.json stands at the top of the repository and is installed in the package."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

MANIFEST = "models_manifest.json"


class BuildWithManifest(build_py):
    """An editable install reads the file where it stands."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            self.copy_file(MANIFEST, self._built())

    def _built(self) -> str:
        return str(Path(self.build_lib) / "openmed_mlx_eval" / MANIFEST)

    def get_outputs(self, include_bytecode: int = 1) -> list[str]:
        own = [] if self.editable_mode else [self._built()]
        return [*super().get_outputs(include_bytecode), *own]

    def get_source_files(self) -> list[str]:
        """What an sdist takes along."""
        return [*super().get_source_files(), MANIFEST]


setup(cmdclass={"build_py": BuildWithManifest})
