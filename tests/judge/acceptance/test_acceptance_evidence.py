"""Clause "Evidence port": what is believed, what is refused, and what an unavailable image means."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image

from judge.acceptance import (
    AvailableEvidence,
    EvaluatorRequest,
    JudgeError,
    UnavailableEvidence,
    create_judge,
    hash_image_bytes,
)
from tests.judge.acceptance.acceptance_kit import (
    BACK,
    FRONT,
    IMAGES,
    TRUTH,
    Access,
    Inspector,
    Json,
    available,
    judge,
    picture,
    request_json,
    sha256,
    unavailable,
)


def _front(**changes: Any) -> Json:
    return available("front-1") | changes


def _metadata(**changes: Any) -> Json:
    return available("front-1", **changes)


def _without(name: str, within: str | None = None) -> Json:
    answer = available("front-1")
    del (answer[within] if within else answer)[name]
    return answer


LIES: list[tuple[str, object, str]] = [
    # the answer's own shape
    ("no answer", None, "answer"),
    ("bytes alone", FRONT, "answer"),
    ("no status", _without("status"), "status"),
    ("status unknown", _front(status="maybe"), "status"),
    ("no bytes", _without("bytes"), "bytes"),
    ("bytes as text", _front(bytes="iVBORw0KGgo="), "bytes"),
    ("bytes empty", _front(bytes=b""), "bytes"),
    ("a Python name", _without("contentHash") | {"content_hash": sha256(FRONT)}, "contentHash"),
    ("unknown field", _front(url="https://example.org"), "url"),
    ("unavailable without a reason", {k: v for k, v in unavailable("front-1").items() if k != "reason"}, "reason"),
    ("unavailable with bytes", unavailable("front-1") | {"bytes": FRONT}, "bytes"),
    # identity
    ("another id", _front(id="back-1"), "id"),
    ("another hash", _front(contentHash=sha256(BACK)), "contentHash"),
    ("another unavailable id", unavailable("front-1") | {"id": "back-1"}, "id"),
    ("another unavailable hash", unavailable("front-1") | {"contentHash": sha256(BACK)}, "contentHash"),
    ("another image's bytes", _front(bytes=BACK), "bytes"),
    ("one byte more", _front(bytes=FRONT + b"\0"), "bytes"),
    # metadata: shape
    ("no metadata", _without("metadata"), "metadata"),
    ("metadata declared, not decoded", _metadata(source="declared"), "metadata.source"),
    ("no decoder", _without("decoder", "metadata"), "metadata.decoder"),
    ("decoder without a version", _metadata(decoder={"name": "x"}), "metadata.decoder.version"),
    ("decoder's version empty", _metadata(decoder={"name": "x", "version": ""}), "metadata.decoder.version"),
    ("width as text", _metadata(width="8"), "metadata.width"),
    ("width zero", _metadata(width=0), "metadata.width"),
    ("height fractional", _metadata(height=10.5), "metadata.height"),
    ("no height", _without("height", "metadata"), "metadata.height"),
    ("media type of a video", _metadata(mediaType="video/mp4"), "metadata.mediaType"),
    ("media type a file name", _metadata(mediaType="front.png"), "metadata.mediaType"),
    ("unknown metadata", _metadata(prompt="a red box"), "metadata.prompt"),
    # metadata: what the bytes themselves say
    ("width of the order, not of the bytes", _metadata(width=16), "metadata.width"),
    ("height of the order, not of the bytes", _metadata(height=20), "metadata.height"),
    ("sides exchanged", _metadata(width=10, height=8), "metadata.width"),
    ("another format", _metadata(mediaType="image/jpeg"), "metadata.mediaType"),
]


@pytest.mark.parametrize(("answer", "path"), [lie[1:] for lie in LIES], ids=[lie[0] for lie in LIES])
def test_invalid_evidence_is_a_technical_error_and_no_verdict(answer: object, path: str) -> None:
    inspector = Inspector()
    with pytest.raises(JudgeError) as caught:
        judge(access=Access(front_1=answer), inspector=inspector)
    assert (caught.value.code, caught.value.path) == ("invalid_evidence", path)  # type: ignore[attr-defined]
    assert "'front-1'" in caught.value.message
    assert inspector.calls == []


def test_corrupt_evidence_outranks_unavailable_evidence_and_a_failed_measurement() -> None:
    request = request_json()
    request["goal"]["deliverables"][0]["count"] = 2
    access = Access(truth=unavailable("truth"), back_1=available("back-1") | {"bytes": FRONT})
    with pytest.raises(JudgeError) as caught:
        judge(request, access)
    assert caught.value.code == "invalid_evidence"
    assert len(access.asked) == len(IMAGES)


def _with_front(data: bytes) -> tuple[Json, Callable[..., Json]]:
    """A request whose front image has these bytes, and answers for it."""
    request = request_json()
    request["outputs"][0]["contentHash"] = sha256(data)
    del request["goal"]["deliverables"][0]["width"], request["goal"]["deliverables"][0]["height"]

    def answer(**metadata: Any) -> Json:
        return _metadata(**metadata) | {"bytes": data, "contentHash": sha256(data)}

    return request, answer


@pytest.mark.parametrize(
    ("kind", "media_type"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("WEBP", "image/webp"),
        ("GIF", "image/gif"),
        ("BMP", "image/bmp"),
        ("TIFF", "image/tiff"),
    ],
)
def test_true_metadata_of_common_formats_are_believed(kind: str, media_type: str) -> None:
    request, answer = _with_front(picture(8, 10, kind=kind))
    assert judge(request, Access(front_1=answer(mediaType=media_type))).verdict == "pass"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF"])
def test_bytes_that_begin_as_an_image_and_break_off_are_invalid(kind: str) -> None:
    buffer = io.BytesIO()
    Image.effect_noise((64, 80), 90).save(buffer, kind)
    whole = buffer.getvalue()
    request, answer = _with_front(whole[: len(whole) * 3 // 4])
    with pytest.raises(JudgeError) as caught:
        judge(request, Access(front_1=answer(width=64, height=80, mediaType=f"image/{kind.lower()}")))
    assert (caught.value.code, caught.value.path) == ("invalid_evidence", "bytes")  # type: ignore[attr-defined]


def test_bytes_that_cannot_be_decoded_here_leave_the_hosts_word_standing() -> None:
    request, answer = _with_front(b"some format of next year")
    report = judge(request, Access(front_1=answer(width=4000, height=5000, mediaType="image/next")))
    assert report.verdict == "pass"


def test_a_picture_that_lies_on_its_side_may_be_measured_either_way() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    request, answer = _with_front(picture(8, 10, kind="JPEG", exif=exif))
    for width, height in ((8, 10), (10, 8)):
        access = Access(front_1=answer(width=width, height=height, mediaType="image/jpeg"))
        assert judge(request, access).verdict == "pass"
    with pytest.raises(JudgeError):
        judge(request, Access(front_1=answer(width=8, height=8, mediaType="image/jpeg")))


@pytest.mark.parametrize("image_id", list(IMAGES))
def test_anything_unavailable_means_no_evaluator_call_and_unknown(image_id: str) -> None:
    access, inspector = Access(), Inspector()
    access.answers[image_id] = unavailable(image_id)
    report = judge(access=access, inspector=inspector)
    assert report.verdict == "unknown"
    assert inspector.calls == []
    assert (report.criteria, report.evaluator, report.usage) == (None, None, None)
    record = next(item for item in report.evidence if item.id == image_id)
    assert (record.status, record.metadata, record.reason) == ("unavailable", None, "the bucket says it is gone")


def test_a_measurable_failure_decides_even_where_evidence_is_unavailable() -> None:
    request, inspector = request_json(), Inspector()
    request["goal"]["deliverables"][0]["width"] = 9
    assert judge(request, Access(truth=unavailable("truth")), inspector).verdict == "fail"
    assert inspector.calls == []


def test_a_size_of_an_unavailable_output_is_unknown_and_its_count_is_not() -> None:
    report = judge(access=Access(front_1=unavailable("front-1")))
    found = {(item.kind, item.output_id): item for item in report.measurable_checks}
    assert found["count", None].verdict == "pass"
    assert (found["width", "front-1"].verdict, found["width", "front-1"].problem) == ("unknown", "unavailable")


def test_every_image_is_asked_for_once_with_its_role() -> None:
    access = Access()
    judge(access=access)
    assert access.asked == [
        ("truth", "product_truth"),
        ("style", "style_reference"),
        ("front-1", "output"),
        ("back-1", "output"),
    ]


def test_models_serve_as_well_as_mappings() -> None:
    access = Access(
        front_1=AvailableEvidence.model_validate(available("front-1")),
        back_1=UnavailableEvidence.model_validate(unavailable("back-1")),
    )
    assert judge(access=access).verdict == "unknown"
    del access.answers["back-1"]
    access.answers["back-1"] = AvailableEvidence.model_validate(available("back-1"))
    assert judge(access=access).verdict == "pass"


def test_a_model_built_without_validation_is_not_believed() -> None:
    honest = AvailableEvidence.model_validate(available("front-1"))
    forged = honest.model_copy(update={"metadata": honest.metadata.model_copy(update={"width": -8})})
    with pytest.raises(JudgeError) as caught:
        judge(access=Access(front_1=forged))
    assert (caught.value.code, caught.value.path) == ("invalid_evidence", "metadata.width")  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_kind_of_buffer_is_copied(kind: Callable[[bytes], Any]) -> None:
    inspector = Inspector()
    assert judge(access=Access(front_1=_front(bytes=kind(FRONT))), inspector=inspector).verdict == "pass"
    handed = inspector.calls[0].evidence[2].bytes
    assert type(handed) is bytes
    assert handed == FRONT


def test_the_evaluator_sees_the_copy_whatever_becomes_of_the_hosts_buffer_before_it_looks() -> None:
    buffer, seen = bytearray(FRONT), []

    class Hasty(Inspector):
        async def evaluate(self, request: EvaluatorRequest, *, cancel: asyncio.Event) -> Any:
            buffer[:] = BACK
            seen.append(request.evidence[2].bytes)
            return await super().evaluate(request, cancel=cancel)

    with pytest.raises(JudgeError):
        judge(access=Access(front_1=_front(bytes=buffer)), inspector=Hasty())
    assert seen == [FRONT]


def test_a_buffer_that_changes_during_the_evaluation_is_a_technical_error_that_keeps_the_call() -> None:
    buffer = bytearray(FRONT)

    def overwrite(answer: Json) -> None:
        buffer[-1] ^= 1

    with pytest.raises(JudgeError) as caught:
        judge(access=Access(front_1=_front(bytes=buffer)), inspector=Inspector(edit=overwrite))
    assert (caught.value.code, caught.value.path) == ("invalid_evidence", "bytes")  # type: ignore[attr-defined]
    assert caught.value.call.usage.input_tokens == 1200  # type: ignore[attr-defined]


def test_an_evaluator_that_swaps_what_it_was_given_is_found_out() -> None:
    class Forger(Inspector):
        async def evaluate(self, request: EvaluatorRequest, *, cancel: asyncio.Event) -> Any:
            request.evidence[2].__dict__["bytes"] = BACK
            return await super().evaluate(request, cancel=cancel)

    with pytest.raises(JudgeError) as caught:
        judge(inspector=Forger())
    assert caught.value.code == "invalid_evidence"


def test_a_view_that_the_host_released_after_handing_it_over_is_no_change() -> None:
    view = memoryview(bytearray(FRONT))

    def release(answer: Json) -> None:
        view.release()

    assert judge(access=Access(front_1=_front(bytes=view)), inspector=Inspector(edit=release)).verdict == "pass"


def test_a_transport_failure_propagates_unchanged() -> None:
    failure = ConnectionResetError("the store hung up")
    with pytest.raises(ConnectionResetError) as caught:
        judge(access=Access(style=failure))
    assert caught.value is failure


def test_image_bytes_are_hashed_whatever_buffer_holds_them() -> None:
    assert (
        hash_image_bytes(TRUTH)
        == hash_image_bytes(bytearray(TRUTH))
        == hash_image_bytes(memoryview(TRUTH))
        == sha256(TRUTH)
    )


def test_the_judge_keeps_no_state_between_judgments() -> None:
    made = create_judge(evaluator=Inspector(), evidence_access=Access())

    async def twice() -> None:
        first, second = await asyncio.gather(made.judge(request_json()), made.judge(request_json()))
        assert first == second

    asyncio.run(twice())
