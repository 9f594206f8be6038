"""The two ends of the wire, without any I/O on the wire itself.

:func:`outgoing` yields what the sandbox reads on its stdin; :class:`MessageReader` takes whatever
came out of its stdout, in pieces of any size, and either recognises messages or raises
:class:`ProtocolBreach`. It survives any bytes, and what it holds is bounded by :class:`StreamLimits`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from renderer.protocol import (
    MAX_HEADER_BYTES,
    MAX_JOB_BYTES,
    MAX_MESSAGES,
    MAX_PATH_BYTES,
    Cameras,
    Done,
    Frame,
    Hello,
    Job,
    Refused,
    parse_header,
)
from sandbox.errors import ProtocolBreach, StagingError
from sandbox.snapshot import Snapshot, SnapshotFile

_CHUNK: Final = 1 << 20
OnFrame = Callable[[Frame, bytes], None]


@dataclass(frozen=True)
class StreamLimits:
    """How much of each kind one run may send; beyond it the stream is a breach."""

    max_messages: int = MAX_MESSAGES
    max_frame_bytes: int = 128 << 20
    max_output_bytes: int = 2 << 30
    max_log_bytes: int = 16 << 20
    log_tail_bytes: int = 8192


def outgoing(snapshot: Snapshot, job: Job) -> Iterator[bytes]:
    """The files and the job in pieces of at most a MiB. Raises :class:`StagingError` if the copy is damaged."""
    yield len(snapshot.files).to_bytes(4, "big")
    for file in snapshot.files:
        path = file.path.encode("utf-8")
        if not 0 < len(path) <= MAX_PATH_BYTES:
            raise StagingError("path_too_long", "A path does not fit the protocol.", "Lower the snapshot's limits.")
        yield len(path).to_bytes(2, "big") + path + file.size.to_bytes(8, "big")
        yield from _bytes_of(snapshot, file)
    body = job.model_dump_json().encode()
    if len(body) > MAX_JOB_BYTES:
        raise StagingError("job_too_long", "The job does not fit the protocol.", "Name fewer cameras.")
    yield len(body).to_bytes(4, "big") + body


def _bytes_of(snapshot: Snapshot, file: SnapshotFile) -> Iterator[bytes]:
    left = file.size
    try:
        with (snapshot.root / file.path).open("rb", buffering=0) as source:
            while left:
                chunk = source.read(min(_CHUNK, left))
                if not chunk:
                    break
                left -= len(chunk)
                yield chunk
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise StagingError(
            "staging_failed", f"The private copy cannot be read: {reason}.", "Try again.", retry=True
        ) from error
    if left:
        raise StagingError("staging_failed", "The private copy has become shorter.", "Try again.", retry=True)


class MessageReader:
    """Puts the messages of one run together; feed it until :attr:`finished`.

    Order is part of the protocol: at most one :class:`Hello` before everything but a :class:`Refused`,
    at most one :class:`Cameras` before the first frame, no view drawn twice, nothing after the end. A frame
    belongs to one of the cameras: those of ``job``, where it names them, else those that were sent. So the
    job bounds how many frames there can be.
    """

    def __init__(self, on_frame: OnFrame, job: Job, limits: StreamLimits | None = None) -> None:
        self.hello: Hello | None = None
        self.cameras: Cameras | None = None
        self.ending: Done | Refused | None = None
        self._on_frame = on_frame
        self._limits = StreamLimits() if limits is None else limits
        self._buffer = bytearray()
        self._frame: Frame | None = None
        self._views: set[str] = set()
        self._expected = None if job.cameras is None else {camera.name for camera in job.cameras}
        self._messages = 0
        self._received = 0

    @property
    def finished(self) -> bool:
        """Whether the last message has come."""
        return self.ending is not None

    def feed(self, data: bytes) -> None:
        """Takes the next bytes. Raises :class:`ProtocolBreach`; afterwards the reader is of no more use."""
        self._received += len(data)
        if self._received > self._limits.max_output_bytes:
            raise _breach("output_flood", f"The renderer sent more than {self._limits.max_output_bytes} bytes.")
        self._buffer += data
        while self._take():
            pass

    def _take(self) -> bool:
        if self.finished:
            if self._buffer:
                raise _breach("trailing_bytes", "The renderer went on after its last message.")
            return False
        if self._frame is not None:
            return self._take_pixels(self._frame)
        if len(self._buffer) < 4:
            return False
        size = int.from_bytes(self._buffer[:4], "big")
        if not 0 < size <= MAX_HEADER_BYTES:
            raise _breach("bad_header", "A header has an impossible length.")
        if len(self._buffer) < 4 + size:
            return False
        body = bytes(self._buffer[4 : 4 + size])
        del self._buffer[: 4 + size]
        self._accept(_parsed(body))
        return True

    def _take_pixels(self, frame: Frame) -> bool:
        size = frame.payload_bytes
        if len(self._buffer) < size:
            return False
        pixels = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        self._frame = None
        self._on_frame(frame, pixels)
        return True

    def _accept(self, header: Hello | Cameras | Frame | Refused | Done) -> None:
        self._messages += 1
        if self._messages > self._limits.max_messages:
            raise _breach("output_flood", "The renderer sent too many messages.")
        if isinstance(header, Refused):
            self.ending = header
        elif isinstance(header, Hello):
            if self.hello is not None:
                raise _breach("out_of_order", "The renderer introduced itself twice.")
            self.hello = header
        elif self.hello is None:
            raise _breach("out_of_order", "The renderer did not introduce itself.")
        elif isinstance(header, Cameras):
            if self.cameras is not None or self._views:
                raise _breach("out_of_order", "The renderer sent cameras at the wrong moment.")
            self.cameras = header
            if self._expected is None:
                self._expected = {camera.name for camera in header.cameras}
        elif isinstance(header, Frame):
            self._announce(header)
        else:
            self.ending = header

    def _announce(self, frame: Frame) -> None:
        if frame.view_id in self._views:
            raise _breach("frame_repeated", f"The renderer sent {frame.view_id} twice.")
        if self._expected is None:
            raise _breach("out_of_order", "The renderer sent a frame before its cameras.")
        if frame.view not in self._expected:
            raise _breach("frame_unexpected", f"The renderer sent {frame.view_id}, which no camera of the job shows.")
        self._views.add(frame.view_id)
        if frame.payload_bytes > self._limits.max_frame_bytes:
            raise _breach("frame_too_large", f"{frame.view_id} is larger than {self._limits.max_frame_bytes} bytes.")
        self._frame = frame


def _parsed(body: bytes) -> Hello | Cameras | Frame | Refused | Done:
    try:
        return parse_header(body)
    except (ValueError, RecursionError) as error:
        raise _breach("bad_header", "A header of the renderer is not valid.") from error


def _breach(code: str, message: str) -> ProtocolBreach:
    remedy = "Render a submission that is known to be good; if that fails too, build the renderer again."
    return ProtocolBreach(f"protocol_{code}", message, remedy)


class LogTail:
    """Keeps the last bytes of stderr, and counts the rest."""

    def __init__(self, limits: StreamLimits | None = None) -> None:
        self._limits = StreamLimits() if limits is None else limits
        self._tail = bytearray()
        self._received = 0

    def feed(self, data: bytes) -> None:
        """Takes the next bytes. Raises :class:`ProtocolBreach` on a flood."""
        self._received += len(data)
        self._tail += data[-self._limits.log_tail_bytes :]
        del self._tail[: -self._limits.log_tail_bytes]
        if self._received > self._limits.max_log_bytes:
            raise _breach("log_flood", f"The renderer logged more than {self._limits.max_log_bytes} bytes.")

    def text(self) -> str:
        """The tail as text that is safe to print: no control characters but line feeds."""
        text = self._tail.decode("utf-8", "replace")
        return "".join(letter if letter == "\n" or letter.isprintable() else "?" for letter in text)
