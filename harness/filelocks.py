"""Locks between processes; the one importer of filelock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

from filelock import FileLock, Timeout

from harness.errors import HarnessError


class ProcessLock:
    """A lock that one holds at a time, over processes and threads; it ends with its process.

    Who holds it may take it again.

    Args:
        path: Its own file, beside what it guards.
        wait_s: How long to wait for somebody else.
        stays: Whether its file is left there when nobody holds it.
        poll_s: How often to look whether it is free.
    """

    def __init__(
        self, path: str | Path, *, wait_s: float, stays: bool = True, poll_s: float = 0.05
    ) -> None:
        self._path = Path(path)
        self._wait_s = wait_s
        self._stays = stays
        self._lock = FileLock(path, poll_interval=poll_s)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it inside the block.

        Raises:
            TimeoutError: Somebody else holds it for too long.
            OSError: Its file cannot be made.
        """
        self._acquire()
        try:
            yield
        finally:
            if not self._stays and self._lock.lock_counter == 1:
                # Still held: who waits for a file that is no longer there tries a new one. Windows
                # removes nothing that is open, and filelock does it there by itself.
                with suppress(PermissionError):
                    self._path.unlink(missing_ok=True)
            self._lock.release()

    def _acquire(self) -> None:
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            # filelock takes a file that cannot be made for one that somebody is just removing.
            if not self._path.exists():
                check_folder(self._path.parent)
        else:
            return
        try:
            self._lock.acquire(timeout=self._wait_s)
        except Timeout:
            raise TimeoutError(
                f"{self._path}: held by another process for {self._wait_s:g} s"
            ) from None


def check_folder(folder: Path) -> None:
    """Make sure that files can be made in a folder; nothing is left there.

    Raises:
        OSError: They cannot.
    """
    with TemporaryFile(dir=folder):
        pass


@contextmanager
def alone(path: Path, lock: str, refusal: str) -> Iterator[None]:
    """Hold a file inside the block, so that no second process writes it; nobody waits.

    Args:
        path: The file; a link is the file that it leads to.
        lock: Name of the lock's file beside it.
        refusal: Told where somebody else holds it.

    Raises:
        HarnessError: Somebody else does.
        OSError: The file of the lock cannot be made.
    """
    own = ProcessLock(path.resolve().with_name(lock), wait_s=0, stays=False)
    with ExitStack() as held:
        try:
            held.enter_context(own.held())
        except TimeoutError:
            raise HarnessError(refusal) from None
        yield
