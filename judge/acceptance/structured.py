"""Running a host's ports so that nothing outlives the judgment.

Whatever ends it early (the caller's task is cancelled, the caller's ``cancel`` is set, a port raises),
the other calls are cancelled and awaited first, and the cause is raised unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class CallScope:
    """The port calls of one judgment. ``stop`` is handed to the ports, ``cancel`` comes from the caller."""

    def __init__(self, cancel: asyncio.Event | None) -> None:
        self.stop = asyncio.Event()
        self._cancel = cancel if cancel is not None else asyncio.Event()

    def check(self) -> None:
        """:raises asyncio.CancelledError: the caller has cancelled."""
        if self._cancel.is_set():
            self.stop.set()
            raise asyncio.CancelledError

    async def run(self, calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Start all calls together; their results in order.

        :raises BaseException: the first failure, unchanged; :class:`asyncio.CancelledError` on cancellation.
        """
        self.check()
        tasks = [asyncio.ensure_future(_started(call)) for call in calls]
        watcher = asyncio.ensure_future(self._cancel.wait())
        pending: set[asyncio.Future[T]] = set(tasks)
        try:
            while pending:
                awaited: set[asyncio.Future[Any]] = {*pending, watcher}
                await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
                self.check()
                for task in tasks:
                    if task in pending and task.done():
                        pending.discard(task)
                        task.result()
            return [task.result() for task in tasks]
        except BaseException:
            self.stop.set()
            raise
        finally:
            watcher.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(watcher, *tasks, return_exceptions=True)


async def _started(call: Callable[[], Awaitable[T]]) -> T:
    """A port that raises before it returns an awaitable fails inside its own task like any other."""
    return await call()
