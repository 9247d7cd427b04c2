"""The only place that writes result files: all of a run's files or none of them.

Files are written beside their places first and renamed when the last one is whole, so a full disk or Ctrl-C
leaves the folder as it was.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import EvaluationError, UsageError


class RunFolder:
    """The `--output` of a command: made when the run begins, so that a bad place is found before the work is done.

    A folder made for a run that then fails is taken away again, if nothing else is in it.
    """

    def __init__(self, path: str | Path) -> None:
        """Raises UsageError for a path that is not and cannot become a folder to write in."""
        if not os.fspath(path):
            raise UsageError("--output: the name is empty – give a folder")
        self.path = Path(path)
        self._made: list[Path] = []
        try:
            self._made = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except OSError as error:
            self.abandon()
            raise UsageError(f"--output: cannot write in that folder ({error.strerror}) – give another one") from None

    def abandon(self) -> None:
        """Take away the folders made for this run that are still empty."""
        for folder in self._made:
            with suppress(OSError):  # not empty, or never made
                folder.rmdir()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While it is held, no other process gets this folder. Raises UsageError where another one has it.

        The system lets go of it however a process ends. Where it cannot hold folders (Windows, some network drives),
        nothing is refused.
        """
        try:
            import fcntl

            handle = os.open(self.path, os.O_RDONLY)
        except (ImportError, OSError):
            yield
            return
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                taken = True
            except OSError:
                taken = False
            else:
                taken = False
            if taken:
                raise UsageError("--output: another run is at work in that folder – wait for it, or give another one")
            yield
        finally:
            os.close(handle)

    def write(self, files: Mapping[str, Iterable[str]]) -> None:
        """{name: pieces of text} written whole, or not at all. Raises EvaluationError where the disk does not let.

        Half a surrogate pair, which a label of a JSON file may hold and UTF-8 cannot, is written as JSON's \\ud800.
        """
        staged: dict[str, str] = {}
        for name in files:
            if (self.path / name).is_dir():  # found before the first file is renamed, so that none has to be taken back
                raise EvaluationError(f"--output: a folder stands where {name} should be written – move it away")
        try:
            for name, pieces in files.items():
                handle, staged[name] = tempfile.mkstemp(dir=self.path, prefix=".writing-")
                with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                    file.writelines(pieces)
                    file.flush()
                    os.fsync(file.fileno())
            for name in files:
                (self.path / name).parent.mkdir(exist_ok=True)  # .eval_results/
            umask = os.umask(0)
            os.umask(umask)
            for name, temporary in list(staged.items()):
                Path(temporary).chmod(0o666 & ~umask)  # mkstemp's 0600 is for secrets; these are for colleagues
                Path(temporary).replace(self.path / name)
                del staged[name]
        except OSError as error:
            raise EvaluationError(
                f"the results could not be written ({error.strerror}); none of them was, and what was there before is as it was"
            ) from None
        finally:
            for temporary in staged.values():
                with suppress(OSError):
                    Path(temporary).unlink()
