"""One live container: attached to over its raw socket, counted by the engine, always removed."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import docker
import docker.errors
import requests

from sandbox.backend import Exit, Json, Sample
from sandbox.errors import BackendUnavailable, ProtocolBreach
from sandbox.exchange import Channel

_LOG: Final = logging.getLogger(__name__)
_POLL_SECONDS: Final = 0.02
_JOIN_SECONDS: Final = 5.0
_STDOUT: Final = 1
_STDERR: Final = 2
_MAX_PIECE: Final = 1 << 26


@contextlib.contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Turns whatever the engine's client raises into :class:`BackendUnavailable`."""
    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise BackendUnavailable(
            "image_missing", "The engine does not have the image that the lock names.", "Build it with `make image`."
        ) from error
    except docker.errors.APIError as error:
        words = str(error.explanation or error)[:300]
        raise BackendUnavailable(
            "engine_refused", f"The engine refused {doing}: {words!a}.", "Look at the engine's log.", retry=True
        ) from error
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError, ValueError) as error:
        raise BackendUnavailable(
            "engine_down",
            f"The container engine cannot be reached ({doing}).",
            "Start the engine, or point DOCKER_HOST at one.",
            retry=True,
        ) from error


class Demultiplexer:
    """Takes an attached stream apart: u8 stream, three zero bytes, u32 length, and so many bytes."""

    def __init__(self, out: Callable[[bytes], None], log: Callable[[bytes], None]) -> None:
        self._sinks = {_STDOUT: out, _STDERR: log}
        self._head = bytearray()
        self._sink = out
        self._left = 0

    def feed(self, data: bytes) -> None:
        """Takes the next bytes. Raises :class:`ProtocolBreach` on what no engine sends, and what a sink raises."""
        view = memoryview(data)
        while view:
            if self._left:
                piece = bytes(view[: self._left])
                view = view[len(piece) :]
                self._left -= len(piece)
                self._sink(piece)
                continue
            wanted = 8 - len(self._head)
            self._head += view[:wanted]
            view = view[wanted:]
            if len(self._head) == 8:
                self._open(bytes(self._head))
                self._head.clear()

    def _open(self, head: bytes) -> None:
        size = int.from_bytes(head[4:], "big")
        if head[0] not in self._sinks or head[1:4] != b"\0\0\0" or size > _MAX_PIECE:
            raise ProtocolBreach(
                "protocol_bad_stream",
                "The engine's attached stream is not what it should be.",
                "Look at the engine's version.",
                fault="infrastructure",
            )
        self._sink, self._left = self._sinks[head[0]], size


class Container:
    """A container that was created and is attached to before it starts, so that no byte is missed."""

    def __init__(self, api: docker.APIClient, options: dict[str, Any]) -> None:
        """Creates, attaches and starts; ``api`` becomes its own. Raises :class:`BackendUnavailable`."""
        self._api = api
        self._exit: Exit | None = None
        self._oom_kills: int | None = None
        self._sample = Sample(None, None, None)
        # An engine gathers its counters once a second and makes each question wait for that.
        self._counting = threading.Thread(target=self._count, name="sandbox-counters", daemon=True)
        self._attached: Any = None
        self._closed = False
        self._id = ""
        try:
            with engine_errors("to create a container"):
                self._id = str(api.create_container(**options)["Id"])
            with engine_errors("to start a container"):
                wanted = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
                self._attached = api.attach_socket(self._id, params=wanted)
                api.start(self._id)
            self._counting.start()
        except BaseException:
            self.close()
            raise

    @property
    def id(self) -> str:
        """The engine's name for it."""
        return self._id

    def channel(self, out: Callable[[bytes], None], log: Callable[[bytes], None]) -> Channel:
        """The attached socket, used both ways."""
        descriptor = int(self._attached.fileno())
        return Channel(descriptor, lambda: _half_close(descriptor), {descriptor: Demultiplexer(out, log).feed})

    def _count(self) -> None:
        """Keeps the engine's last word on CPU and memory, until the container has ended."""
        with contextlib.suppress(BackendUnavailable), engine_errors("to count"):
            for stats in self._api.stats(self._id, stream=True, decode=True):
                found = _counters(stats)
                if found.cpu_seconds is None:
                    return
                self._sample = found

    def sample(self) -> Sample:
        """The engine's counters as of a second ago at most; whether memory ran out is known after the end."""
        return Sample(self._sample.cpu_seconds, self._sample.memory_bytes, self._oom_kills)

    def wait(self, seconds: float) -> Exit | None:
        """How it ended, by the engine's word. Raises :class:`BackendUnavailable` if the engine has gone."""
        deadline = time.monotonic() + seconds
        while self._exit is None:
            with engine_errors("to ask how a container ended"):
                state = self._api.inspect_container(self._id)["State"]
            if state["Status"] in ("exited", "dead"):
                self._oom_kills = int(bool(state["OOMKilled"]))
                self._exit = _exit_of(int(state["ExitCode"]))
            elif time.monotonic() >= deadline:
                return None
            else:
                time.sleep(_POLL_SECONDS)
        return self._exit

    def kill(self) -> None:
        """Kills every process in it."""
        with contextlib.suppress(BackendUnavailable), engine_errors("to kill a container"):
            self._api.kill(self._id)

    def inspect(self) -> dict[str, Json]:
        """The engine's own description of it."""
        with engine_errors("to describe a container"):
            return dict(self._api.inspect_container(self._id))

    def close(self) -> None:
        """Removes it with its volumes. If the engine has gone, the next start reaps it by its label."""
        if self._closed:
            return
        self._closed = True
        if self._attached is not None:
            # The response that keeps another reference to the same connection, then the socket object.
            things: list[Any] = [getattr(self._attached, "_response", None), self._attached]
            for thing in things:
                with contextlib.suppress(OSError, ValueError, AttributeError):
                    thing.close()
        if self._id:
            remove_container(self._api, self._id)
        if self._counting.is_alive():
            self._counting.join(_JOIN_SECONDS)
        self._api.close()


def remove_container(api: docker.APIClient, identity: str) -> None:
    """Removes a container and its volumes; one that is gone already is fine."""
    try:
        with engine_errors("to remove a container"):
            api.remove_container(identity, force=True, v=True)
    except BackendUnavailable as error:
        if not isinstance(error.__cause__, docker.errors.NotFound):
            _LOG.warning("Container %s was left behind; the next start removes it: %s", identity[:12], error.message)


def _half_close(descriptor: int) -> None:
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as duplicate:
        duplicate.shutdown(socket.SHUT_WR)


def _exit_of(code: int) -> Exit:
    if 128 < code <= 128 + signal.SIGRTMAX:
        return Exit(None, code - 128)
    return Exit(code, None)


def _counters(stats: dict[str, Any]) -> Sample:
    cpu = stats.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage")
    memory = stats.get("memory_stats", {})
    used = memory.get("max_usage") or memory.get("usage")
    return Sample(cpu / 1e9 if cpu else None, used or None, None)
