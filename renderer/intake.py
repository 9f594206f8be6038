"""Reads the files and the job from stdin and lays the files into the sandbox's own directory."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from pydantic import ValidationError

from renderer.errors import RendererError
from renderer.protocol import MAX_JOB_BYTES, MAX_PATH_BYTES, Job

_CHUNK = 1 << 20


def _breach(message: str) -> RendererError:
    return RendererError("protocol_breach", message, "Use matching versions on both sides.", "infrastructure")


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise _breach("The stream of files ended early.")
    return data


def read_job(stream: BinaryIO, into: Path) -> Job:
    """Writes every file below ``into`` (an existing empty directory) and returns the job.

    Raises :class:`RendererError` (infrastructure) on anything that is not the protocol: the other
    end is the trusted side, so a bad stream is never the candidate's fault.
    """
    for _ in range(int.from_bytes(_exactly(stream, 4), "big")):
        length = int.from_bytes(_exactly(stream, 2), "big")
        if not 0 < length <= MAX_PATH_BYTES:
            raise _breach("A file's path has an impossible length.")
        relative = PurePosixPath(_exactly(stream, length).decode("utf-8"))
        if relative.is_absolute() or ".." in relative.parts:
            raise _breach("A file's path leaves the folder.")
        target = into / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        left = int.from_bytes(_exactly(stream, 8), "big")
        try:
            with target.open("xb") as file:
                while left:
                    left -= file.write(_exactly(stream, min(left, _CHUNK)))
        except OSError as error:
            raise RendererError(
                "sandbox_full",
                f"The sandbox cannot hold the files: {os.strerror(error.errno or 0)}.",
                "Give the profile's sandbox more room.",
                "infrastructure",
            ) from error
    length = int.from_bytes(_exactly(stream, 4), "big")
    if length > MAX_JOB_BYTES:
        raise _breach("The job is longer than the protocol allows.")
    try:
        return Job.model_validate_json(_exactly(stream, length))
    except ValidationError as error:
        raise _breach(f"The job is not valid: {error.error_count()} errors.") from error
