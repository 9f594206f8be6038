"""The stream of files: written where they belong, or refused as a breach."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderer.errors import RendererError
from renderer.intake import read_job
from renderer.protocol import Job
from tests.storm import wire

JOB = Job(role="candidate", root_layer="a.usda", profile_id="studio-v1", profile_sha256="0" * 64)


def test_files_land_where_their_paths_say(tmp_path: Path) -> None:
    files = {"a.usda": b"#usda 1.0\n", "deep/er/t.png": b"\x89PNG" * 100_000, "empty": b""}
    assert read_job(io.BytesIO(wire(files, JOB)), tmp_path) == JOB
    assert {
        path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    } == files


@pytest.mark.parametrize("name", ["/abs", "../up", "a/../../b"])
def test_a_path_that_leaves_the_folder_is_a_breach(tmp_path: Path, name: str) -> None:
    with pytest.raises(RendererError) as caught:
        read_job(io.BytesIO(wire({name: b"x"}, JOB)), tmp_path)
    assert (caught.value.code, caught.value.fault) == ("protocol_breach", "infrastructure")
    assert not list(tmp_path.iterdir())


@given(cut=st.integers(0, 10_000))
def test_a_stream_that_ends_early_is_a_breach(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    data = wire({"a.usda": b"#usda 1.0\n" * 20}, JOB)
    with pytest.raises(RendererError) as caught:
        read_job(io.BytesIO(data[: cut % len(data)]), tmp_path_factory.mktemp("in"))
    assert caught.value.code == "protocol_breach"
