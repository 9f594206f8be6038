"""Threat 4: the trusted side survives any bytes, and recognises exactly the protocol."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderer.protocol import Done, Frame, Job, Refused, encode_header
from sandbox.errors import ProtocolBreach, StagingError
from sandbox.stream import LogTail, MessageReader, StreamLimits, outgoing
from tests.sandbox.samples import FACTS, HELLO, cameras, frame, good_stream, job, snapshot_of

CAMERAS = cameras("front")
REFUSED = Refused(code="no_geometry", message="Nothing.", remedy="Add some.", fault="candidate")
H, C, R, D = (encode_header(header) for header in (HELLO, CAMERAS, REFUSED, Done(facts=FACTS)))
F = encode_header(frame()) + bytes(12)


def read(
    data: bytes, step: int | None = None, limits: StreamLimits | None = None, asked: Job | None = None
) -> tuple[MessageReader, list[str]]:
    got: list[str] = []
    reader = MessageReader(lambda header, pixels: got.append(f"{header.view_id}:{len(pixels)}"), asked or job(), limits)
    for at in range(0, len(data), step or max(len(data), 1)):
        reader.feed(data[at : at + (step or len(data))])
    return reader, got


@pytest.mark.parametrize("step", [1, 3, 7, 4096])
def test_whole_run_is_read_in_pieces_of_any_size(step: int) -> None:
    reader, got = read(H + C + F + D, step)
    assert (reader.hello, reader.cameras, reader.ending) == (HELLO, CAMERAS, Done(facts=FACTS))
    assert got == ["front.beauty:12"]


def test_sixteen_bits_take_twice_the_bytes() -> None:
    pixels = bytes(range(24))
    got: list[bytes] = []
    reader = MessageReader(lambda header, data: got.append(data), job())
    reader.feed(H + C + encode_header(frame(bit_depth=16)) + pixels)
    assert got == [pixels]


def test_refusal_needs_no_hello() -> None:
    assert read(R)[0].ending == REFUSED


def test_nothing_is_lost_at_the_end_of_a_piece() -> None:
    reader, got = read((H + C + F)[:-1])
    assert not reader.finished
    assert got == []
    reader.feed(b"\0")
    assert got == ["front.beauty:12"]


BREACHES = {
    "no_header": (b"\0\0\0\0", "bad_header"),
    "huge_header": (b"\xff\xff\xff\xff", "bad_header"),
    "not_json": (b"\0\0\0\x03abc", "bad_header"),
    "not_utf8": (b"\0\0\0\x03\xff\xfe\xfd", "bad_header"),
    "deep_json": (b"\0\x01\0\0" + b"[" * 65536, "bad_header"),
    "unknown_kind": (b"\0\0\0\x10" + b'{"kind":"shell"}', "bad_header"),
    "unknown_field": (b"\0\0\0\x1c" + b'{"kind":"done","score":1.00}', "bad_header"),
    "frame_first": (F, "out_of_order"),
    "done_first": (D, "out_of_order"),
    "cameras_first": (C, "out_of_order"),
    "hello_twice": (H + H, "out_of_order"),
    "cameras_twice": (H + C + C, "out_of_order"),
    "frame_before_its_cameras": (H + F, "out_of_order"),
    "cameras_after_frames": (H + C + F + C, "out_of_order"),
    "view_twice": (H + C + F + F, "frame_repeated"),
    "view_of_no_camera": (H + C + encode_header(frame("top")), "frame_unexpected"),
    "more_after_the_end": (H + D + b"\0", "trailing_bytes"),
    "more_after_a_refusal": (R + H, "trailing_bytes"),
    "too_many_pixels": (H + C + F + bytes(4), "bad_header"),
}


@pytest.mark.parametrize("name", BREACHES)
def test_breach_has_its_own_code_and_is_the_candidates(name: str) -> None:
    data, code = BREACHES[name]
    with pytest.raises(ProtocolBreach) as caught:
        read(data)
    assert (caught.value.code, caught.value.fault) == (f"protocol_{code}", "candidate")


@pytest.mark.parametrize(
    ("limits", "data", "code"),
    [
        (StreamLimits(max_output_bytes=100), bytes(101), "output_flood"),
        (StreamLimits(max_messages=1), H + C, "output_flood"),
        (StreamLimits(max_frame_bytes=11), H + C + F, "frame_too_large"),
    ],
)
def test_output_flood_is_a_breach(limits: StreamLimits, data: bytes, code: str) -> None:
    with pytest.raises(ProtocolBreach) as caught:
        read(data, limits=limits)
    assert caught.value.code == f"protocol_{code}"


def test_cameras_of_the_job_bound_the_frames_whatever_the_renderer_announces() -> None:
    asked = job().model_copy(update={"cameras": cameras("front").cameras})
    top = encode_header(frame("top"))
    assert read(H + F + D, asked=asked)[1] == ["front.beauty:12"]
    for announced in (b"", encode_header(cameras("front", "top"))):
        with pytest.raises(ProtocolBreach) as caught:
            read(H + announced + top, asked=asked)
        assert caught.value.code == "protocol_frame_unexpected"


def test_announced_frame_takes_no_memory_before_its_bytes_come() -> None:
    header = encode_header(frame(side=8192, bit_depth=16))
    with pytest.raises(ProtocolBreach) as caught:
        read(H + C + header)
    assert caught.value.code == "protocol_frame_too_large"


@given(st.binary(max_size=400), st.integers(1, 50))
def test_reader_survives_any_bytes(data: bytes, step: int) -> None:
    try:
        reader, got = read(data, step)
    except ProtocolBreach as error:
        assert error.code.startswith("protocol_")
    else:
        assert got == []
        assert not reader.finished


@given(st.data())
def test_reader_survives_a_damaged_run(data: st.DataObject) -> None:
    run = bytearray(H + C + F + D)
    for _ in range(data.draw(st.integers(1, 4))):
        run[data.draw(st.integers(0, len(run) - 1))] = data.draw(st.integers(0, 255))
    try:
        _, got = read(bytes(run), 13)
    except ProtocolBreach:
        return
    assert len(got) <= 1


@given(st.integers(0, len(good_stream())))
def test_cut_run_never_counts_as_finished(length: int) -> None:
    whole = good_stream()
    assert read(whole[:length])[0].finished == (length == len(whole))


def test_what_a_frame_handler_raises_comes_through() -> None:
    def full(header: Frame, pixels: bytes) -> None:
        raise OSError(28, "no room")

    with pytest.raises(OSError, match="no room"):
        MessageReader(full, job()).feed(H + C + F)


def test_outgoing_is_what_the_renderer_reads(tmp_path: Path) -> None:
    files = {"a.usda": b"#usda 1.0\n", "tex/ü.png": bytes(3_000_000), "empty": b""}
    data = b"".join(outgoing(snapshot_of(tmp_path, files), job()))
    found, at = {}, 4
    for _ in range(int.from_bytes(data[:4], "big")):
        length = int.from_bytes(data[at : at + 2], "big")
        path = data[at + 2 : at + 2 + length].decode()
        at += 2 + length
        size = int.from_bytes(data[at : at + 8], "big")
        found[path] = data[at + 8 : at + 8 + size]
        at += 8 + size
    assert found == files
    assert int.from_bytes(data[at : at + 4], "big") == len(data) - at - 4
    assert Job.model_validate_json(data[at + 4 :]) == job()


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b"#"), lambda path: path.unlink()])
def test_damaged_copy_is_infrastructure(damage: object, tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, {"a.usda": b"#usda 1.0\n"})
    assert callable(damage)
    damage(tmp_path / "a.usda")
    with pytest.raises(StagingError) as caught:
        list(outgoing(snapshot, job()))
    assert (caught.value.code, caught.value.fault) == ("staging_failed", "infrastructure")


def test_log_keeps_its_end_without_control_characters() -> None:
    log = LogTail(StreamLimits(log_tail_bytes=16))
    log.feed(b"x" * 100)
    log.feed(b"ab\x1b[31m\r\n\xffcd\xe2\x80\xae")
    assert log.text() == "xab?[31m?\n\ufffdcd?"


def test_log_flood_is_a_breach() -> None:
    log = LogTail(StreamLimits(max_log_bytes=10))
    log.feed(bytes(10))
    with pytest.raises(ProtocolBreach) as caught:
        log.feed(b"x")
    assert caught.value.code == "protocol_log_flood"


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_log_survives_any_bytes(pieces: list[bytes]) -> None:
    log = LogTail(StreamLimits(log_tail_bytes=32))
    for piece in pieces:
        log.feed(piece)
    assert all(letter == "\n" or letter.isprintable() for letter in log.text())
