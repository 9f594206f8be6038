"""One role's render: what is checked of a sandbox's answers, and whose fault a failure is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.errors import ApplianceError
from appliance.rendering import Asset, Plan, draw_self_test, render_role, take_asset
from renderer.profile import LoadedProfile, load_profile
from renderer.protocol import Budget, Camera, Cameras, Facts, Frame, Hello, Job
from sandbox import RunFailed, RunReport, Usage, open_backend
from sandbox.promises import Promise
from tests.appliance.cases import POST
from tests.backends import quickest
from tests.storm import TEST_PROFILES


@pytest.fixture
def loaded() -> LoadedProfile:
    return load_profile(TEST_PROFILES, "tiny-v1")


@pytest.fixture
def asset(tmp_path: Path) -> Asset:
    (tmp_path / "post.usda").write_text(POST)
    return take_asset(tmp_path / "post.usda", tmp_path / "staging", None)


@pytest.mark.storm
def test_the_self_test_draws(loaded: LoadedProfile) -> None:
    drawn = draw_self_test(Plan(open_backend(quickest(), profiles=TEST_PROFILES), loaded, "cpu"))
    assert max(drawn.coverage.values()) > 0.1


HELLO = Hello(
    usd_version="0.26.3",
    renderer_id="HdStormRendererPlugin",
    python="",
    gl_vendor="",
    gl_renderer="",
    gl_version="",
    numpy="",
)


def camera(name: str) -> Camera:
    return Camera(
        name=name,
        projection="perspective",
        eye=(0, 0, 5),
        target=(0, 0, 0),
        up=(0, 1, 0),
        fov_degrees=30,
        height_metres=0,
        near_metres=1,
        far_metres=9,
        azimuth_degrees=0,
    )


class Liar:
    """A backend that answers as a renderer that was taken over might; a test's own, and no sandbox."""

    name = "liar"
    promises: frozenset[Promise] = frozenset()

    def __init__(self, **lies: object) -> None:
        self.lies = lies
        self.runs = 0

    def describe(self) -> dict[str, object]:
        return {"backend": "liar"}

    def run(self, snapshot: object, job: Job, budget: Budget, on_frame: Callable[[Frame, bytes], None]) -> RunReport:
        self.runs += 1
        failure = self.lies.get("raises")
        if isinstance(failure, RunFailed) and self.runs <= int(str(self.lies.get("times", 99))):
            raise failure
        names = list(self.lies.get("names", ["front", "top"]))  # type: ignore[call-overload]
        size = int(str(self.lies.get("size", 160)))
        for pass_name in ("beauty", "clay"):
            for name in names:
                frame = Frame(
                    view=name,
                    pass_name="beauty" if pass_name == "beauty" else "clay",
                    width=size,
                    height=size,
                    bit_depth=8,
                    coverage=float(str(self.lies.get("coverage", 0.5))),
                )
                for _ in range(int(str(self.lies.get("repeat", 1)))):
                    on_frame(frame, bytes(frame.payload_bytes))
        sent = self.lies.get("cameras", tuple(camera(name) for name in names))
        cameras = None
        if sent is not None:
            cameras = Cameras(cameras=sent, bounds_min=(0, 0, 0), bounds_max=(1, 1, 1))  # type: ignore[arg-type]
        facts = Facts(
            meters_per_unit=1,
            up_axis="Y",
            size_metres=(1, 1, 1),
            prims=1,
            meshes=1,
            points=1,
            layers=1,
            textures=0,
            materials=0,
        )
        hello = HELLO.model_copy(update=self.lies.get("hello", {}))  # type: ignore[arg-type]
        return RunReport(hello, cameras, facts, Usage(1.0, 1.0, 1, ""))

    def probe(self, source: str, budget: Budget, stdin: bytes = b"") -> object:
        raise NotImplementedError


ASKED = (camera("front"), camera("top"))
MOVED = camera("top").model_copy(update={"eye": (0, 0, 1)})


def test_an_honest_answer_is_packed(loaded: LoadedProfile, asset: Asset) -> None:
    drawn = render_role(Plan(Liar(), loaded, "cpu"), asset, "candidate", ASKED)  # type: ignore[arg-type]
    assert list(drawn.pngs) == ["front.beauty", "top.beauty", "front.clay", "top.clay"]


@pytest.mark.parametrize(
    ("lies", "code", "fault"),
    [
        ({"size": 80}, "protocol_breach", "candidate"),
        ({"repeat": 2}, "protocol_breach", "candidate"),
        ({"names": ["front"]}, "protocol_breach", "candidate"),
        ({"names": ["top", "front"]}, "protocol_breach", "candidate"),
        ({"cameras": None}, "protocol_breach", "candidate"),
        (
            {"cameras": (camera("front"), camera("top").model_copy(update={"eye": (0, 0, 1)}))},
            "protocol_breach",
            "candidate",
        ),
        ({"hello": {"renderer_id": "Other"}}, "wrong_renderer", "infrastructure"),
        ({"hello": {"usd_version": "0.25.5"}}, "wrong_renderer", "infrastructure"),
    ],
)
def test_threat_4_an_answer_out_of_turn_is_refused(
    loaded: LoadedProfile, asset: Asset, lies: dict[str, object], code: str, fault: str
) -> None:
    with pytest.raises(ApplianceError) as caught:
        render_role(Plan(Liar(**lies), loaded, "cpu"), asset, "candidate", ASKED)  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.fault) == (code, fault)


def test_a_blank_reference_is_the_infrastructures_fault(loaded: LoadedProfile, asset: Asset) -> None:
    with pytest.raises(ApplianceError) as caught:
        render_role(Plan(Liar(coverage=0), loaded, "cpu"), asset, "reference", None)  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.fault) == ("reference_blank", "infrastructure")


def failure(fault: str, *, retry: bool = False, confirm: bool = False) -> RunFailed:
    return RunFailed("renderer_crashed", "It crashed.", "Mend it.", fault=fault, retry=retry, confirm=confirm)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lies", "role", "code", "fault", "runs"),
    [
        ({"raises": failure("candidate")}, "candidate", "renderer_crashed", "candidate", 1),
        ({"raises": failure("candidate")}, "reference", "reference_renderer_crashed", "infrastructure", 1),
        ({"raises": failure("infrastructure", retry=True)}, "candidate", "renderer_crashed", "infrastructure", 2),
        ({"raises": failure("candidate", confirm=True)}, "candidate", "renderer_broken", "infrastructure", 2),
        ({"raises": failure("candidate", confirm=True), "times": 1}, "candidate", "renderer_crashed", "candidate", 2),
    ],
)
def test_whose_fault_a_failed_run_is(
    loaded: LoadedProfile, asset: Asset, lies: dict[str, object], role: str, code: str, fault: str, runs: int
) -> None:
    backend = Liar(**lies)
    with pytest.raises(ApplianceError) as caught:
        render_role(Plan(backend, loaded, "cpu"), asset, role, ASKED if role == "candidate" else None)  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.fault, backend.runs) == (code, fault, runs)


def test_what_the_machine_did_once_is_tried_once_more(loaded: LoadedProfile, asset: Asset) -> None:
    backend = Liar(raises=failure("infrastructure", retry=True), times=1)
    assert render_role(Plan(backend, loaded, "cpu"), asset, "candidate", ASKED).pngs  # type: ignore[arg-type]
    assert backend.runs == 2
