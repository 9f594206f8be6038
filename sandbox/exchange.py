"""Moves bytes both ways between the trusted side and a live sandbox, in one thread and without deadlock."""

from __future__ import annotations

import os
import selectors
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

_CHUNK: Final = 1 << 20
TICK_SECONDS: Final = 0.1


@dataclass(frozen=True)
class Channel:
    """Descriptors of one live sandbox. ``stdin`` may be one of ``sources`` too (a socket, used both ways)."""

    stdin: int
    close_stdin: Callable[[], None]
    sources: dict[int, Callable[[bytes], None]]
    """What takes the bytes that come from each descriptor."""


def exchange(channel: Channel, chunks: Iterator[bytes], go_on: Callable[[], bool]) -> None:
    """Writes all of ``chunks`` and hands on everything that comes back, until all sources have ended.

    ``go_on`` is asked about ten times a second and ends the exchange by False, or by what it raises;
    so does everything that a source's sink raises. A sandbox that stops reading is no error here: it
    may have refused already.
    """
    sending = _Sending(channel, chunks)
    with selectors.DefaultSelector() as selector:
        for source in channel.sources:
            os.set_blocking(source, False)
            selector.register(source, selectors.EVENT_READ)
        os.set_blocking(channel.stdin, False)
        _watch_writes(selector, channel, True)
        open_sources = set(channel.sources)
        while open_sources and go_on():
            for key, events in selector.select(TICK_SECONDS):
                if events & selectors.EVENT_WRITE and not sending.step():
                    _watch_writes(selector, channel, False)
                if events & selectors.EVENT_READ and not _receive(key.fd, channel.sources[key.fd]):
                    open_sources.discard(key.fd)
                    if channel.stdin == key.fd:
                        sending.over = True
                    selector.unregister(key.fd)


def _watch_writes(selector: selectors.BaseSelector, channel: Channel, wanted: bool) -> None:
    shared = channel.stdin in channel.sources
    if shared:
        selector.modify(channel.stdin, selectors.EVENT_READ | (selectors.EVENT_WRITE if wanted else 0))
    elif wanted:
        selector.register(channel.stdin, selectors.EVENT_WRITE)
    else:
        selector.unregister(channel.stdin)


def _receive(source: int, sink: Callable[[bytes], None]) -> bool:
    try:
        data = os.read(source, _CHUNK)
    except BlockingIOError:
        return True
    except OSError:
        # A connection that breaks ends like one that is closed; the worker's exit tells the rest.
        return False
    if data:
        sink(data)
    return bool(data)


class _Sending:
    """What is still to be written."""

    def __init__(self, channel: Channel, chunks: Iterator[bytes]) -> None:
        self._channel = channel
        self._chunks = chunks
        self._left = memoryview(b"")
        self.over = False

    def step(self) -> bool:
        """Writes as much as fits now. False once nothing is left to write, or nobody reads any more."""
        try:
            if not self.over:
                # One write a turn: the clock and the other direction get theirs in between.
                self._left = self._left or memoryview(next(self._chunks))
                self._left = self._left[os.write(self._channel.stdin, self._left) :]
                return True
        except BlockingIOError:
            return True
        except StopIteration:
            pass
        except OSError:
            # EPIPE or a reset connection: it reads no more, and its output says why.
            pass
        self.over = True
        self._channel.close_stdin()
        return False
