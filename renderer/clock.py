"""Seconds by stage of the work, for people; no decision hangs on them."""

from __future__ import annotations

import time


class Clock:
    """Books wall time under names."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """Books the seconds since the last lap."""
        now = time.perf_counter()
        self.seconds[name] = round(self.seconds.get(name, 0.0) + now - self._last, 4)
        self._last = now
