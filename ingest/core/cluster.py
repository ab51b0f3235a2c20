"""Other machines that read and embed, where the settings name a Dask scheduler (`ocr.executor`).

Their workers need this very version of Recollect and of its models (`ingest.reading.remote`). What they are
given leaves this machine as it is: Dask knows no password, so the way there has to be a private one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from importlib import import_module
from typing import Any

from store.core.errors import SettingsError

log = logging.getLogger(__name__)

OPEN_AGAIN_S = 60.0
_OPEN_WITHIN_S = 5
_COUNT_EVERY_S = 10.0
_RETRIES = 1


class Cluster:
    """Opened with its first use, and again a while after it was lost. Threads may share it."""

    on_problem: Callable[[str], None] = staticmethod(lambda sentence: None)
    """Told in a sentence why it is not used."""

    def __init__(self, executor: str) -> None:
        """`executor` is ``dask://HOST:PORT``. Raises `SettingsError` for anything else."""
        self.name = executor
        scheme, _, self._address = executor.partition("://")
        if scheme != "dask" or not self._address.rpartition(":")[2].isdecimal():
            raise SettingsError(f"ocr.executor is local or dask://HOST:PORT, not {executor!r}")
        self._lock = threading.Lock()
        self._client: Any = None
        self._next_open_s = 0.0
        self._threads, self._count_due_s = 0, 0.0

    def executor(self) -> Executor | None:
        """What runs functions there, or None while it cannot be used."""
        with self._lock:
            if self._client is not None and self._client.status != "running":
                self._let_go("it has gone")
            if self._client is None and time.monotonic() >= self._next_open_s:
                self._open()
            if self._client is None:
                return None
            executor: Executor = self._client.get_executor(retries=_RETRIES, pure=True)
            return executor

    @property
    def threads(self) -> int:
        """How many functions run there at the same time; 0 while it cannot be used."""
        with self._lock:
            if self._client is None:
                return 0
            if time.monotonic() >= self._count_due_s:
                self._count_due_s = time.monotonic() + _COUNT_EVERY_S
                self._threads = sum(self._client.nthreads().values())
            return self._threads

    def lose(self, problem: str) -> None:
        """Work here for a while."""
        with self._lock:
            self._let_go(problem)

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close(timeout=1)
            self._client = None

    def _open(self) -> None:
        try:
            client: Any = import_module("distributed").Client
            self._client = client(f"tcp://{self._address}", timeout=_OPEN_WITHIN_S, set_as_default=False)
        except ImportError:
            self._let_go("it needs `pip install recollect[cluster]`")
        except (OSError, TimeoutError) as error:
            self._let_go(f"{type(error).__name__}: {error}")
        else:
            self._count_due_s = 0.0
            log.info("%s reads and embeds, too", self._address)

    def _let_go(self, problem: str) -> None:
        log.warning("the cluster at %s is not used: %s", self._address, problem)
        self.on_problem(f"the cluster at {self._address} is not used: {problem}"[:300])
        if self._client is not None:
            self._client.close(timeout=1)
        self._client = None
        self._next_open_s = time.monotonic() + OPEN_AGAIN_S
