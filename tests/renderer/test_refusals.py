"""What is refused before or instead of being drawn, each by its own name, in one process that ends in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from renderer.profile import list_profiles, load_profile
from renderer.protocol import Job
from tests.storm import draw, run_renderer, wire

CUBE = 'def Xform "World" { def Cube "C" { double size = 1 } }\n'


def usda(body: str = CUBE, metadata: str = "") -> bytes:
    """A layer; braces get lines of their own, as the text format wants them."""
    spread = body.replace("{", "{\n").replace("}", "\n}\n")
    return f'#usda 1.0\n(\n    defaultPrim = "World"\n    {metadata}\n)\n{spread}'.encode()


NESTED = "".join('def Xform "a" {' for _ in range(600)) + "}" * 600
CYCLE = """def Xform "World" { def Sphere "Ball" { def PointInstancer "PI" {
    point3f[] positions = [(0,0,0)]
    int[] protoIndices = [0]
    rel prototypes = </World/Ball>
} } }
"""
TIMES = f"""int[] protoIndices = [{", ".join(["0"] * 100)}]
    point3f[] positions = [{", ".join(f"({i}, 0, 0)" for i in range(100))}]"""
MULTIPLIED = f"""def Xform "World" {{ def Sphere "Ball" {{ }}
    def PointInstancer "A" {{ {TIMES}
    rel prototypes = </World/Ball>
}} def PointInstancer "B" {{ {TIMES}
    rel prototypes = </World/A>
}} def PointInstancer "C" {{ {TIMES}
    rel prototypes = </World/B>
}} }}
"""
GUIDE = 'def Xform "World" { def Cube "C" { uniform token purpose = "guide" } }\n'
ESCAPE = """def Xform "World" {
    def "A" ( references = @/etc/hostname@ ) {}
    def "B" ( references = @../../up.usda@ ) {}
    def "C" ( payload = @https://example.invalid/x.usd@ ) {}
    def Cube "D" { }
}
"""
MANY = 'def Xform "World" {' + "".join(f'def Xform "x{i}" {{}}\n' for i in range(20_001)) + "}"


@pytest.mark.storm
@pytest.mark.parametrize(
    ("files", "code", "words"),
    [
        ({"a.usd": b"just some text"}, "not_usd", "USD header"),
        ({"a.usda": b"#usda 1.0\ndef ((("}, "unreadable_layer", "cannot read"),
        ({"a.usda": b"#usda 1.0\n"}, "empty_stage", "no prims"),
        ({"a.usda": usda('def Xform "World" { def Scope "S" {} }')}, "no_geometry", "no visible geometry"),
        ({"a.usda": usda(GUIDE)}, "no_geometry", "no visible geometry"),
        ({"a.usda": usda(NESTED)}, "too_deep", "512 levels"),
        ({"a.usda": usda(CYCLE)}, "instancer_cycle", "draws itself"),
        ({"a.usda": usda(MULTIPLIED)}, "too_many_instances", "200,000"),
        ({"a.usda": usda(metadata="metersPerUnit = 0")}, "bad_meters_per_unit", "metersPerUnit"),
        ({"a.usda": usda(metadata="metersPerUnit = -1")}, "bad_meters_per_unit", "metersPerUnit"),
        ({"a.usda": usda(ESCAPE)}, "unresolved_layer", "'/etc/hostname'"),
        ({"a.usda": usda(MANY)}, "too_many_prims", "20,000"),
        ({"a.usda": b"version https://git-lfs.github.com/spec/v1\n"}, "lfs_pointer", "LFS"),
    ],
    ids=lambda value: value if isinstance(value, str) and "_" in value else "",
)
def test_an_asset_that_cannot_be_shown_is_refused_by_name(files: dict[str, bytes], code: str, words: str) -> None:
    drawn = draw(files, next(iter(files)))
    assert drawn.exit_code == 0, drawn.log
    assert drawn.refused is not None, "it was drawn"
    assert (drawn.refused.code, drawn.refused.fault) == (code, "candidate")
    assert words in drawn.refused.message
    assert drawn.refused.remedy.endswith(".")
    assert drawn.frames == {}


@pytest.mark.storm
def test_threat_3_every_path_that_leads_outside_is_named() -> None:
    drawn = draw({"a.usda": usda(ESCAPE)}, "a.usda")
    assert drawn.refused is not None
    for path in ("/etc/hostname", "../../up.usda", "https://example.invalid/x.usd"):
        assert path in drawn.refused.message


@pytest.mark.storm
def test_threat_3_a_texture_outside_is_refused_and_not_read() -> None:
    """/dev/zero has no end: a render that read it would not come back."""
    body = """def Xform "World" {
        def Cube "C" ( prepend apiSchemas = ["MaterialBindingAPI"] ) {
            rel material:binding = </World/M>
        }
        def Material "M" {
            token outputs:surface.connect = </World/M/S.outputs:surface>
            def Shader "S" {
                uniform token info:id = "UsdPreviewSurface"
                color3f inputs:diffuseColor.connect = </World/M/T.outputs:rgb>
                token outputs:surface
            }
            def Shader "T" {
                uniform token info:id = "UsdUVTexture"
                asset inputs:file = @/dev/zero@
                float3 outputs:rgb
            }
        }
    }"""
    drawn = draw({"a.usda": usda(body)}, "a.usda")
    assert drawn.facts is not None, drawn.refused
    assert [(note.code, note.subject) for note in drawn.facts.notes][:1] == [("refused_file", "/dev/zero")]


def test_another_profile_under_the_same_id_is_refused() -> None:
    """The job names the profile's hash; the sandbox's own copy has to be that one."""
    job = Job(role="candidate", root_layer="a.usda", profile_id="tiny-v1", profile_sha256="0" * 64)
    done = run_renderer(wire({"a.usda": usda()}, job))
    assert b'"code":"profile_mismatch"' in done.stdout
    assert b'"fault":"infrastructure"' in done.stdout


def test_the_first_profile_is_frozen() -> None:
    """A changed profile needs a new id: receipts name it by this hash."""
    profiles = Path(__file__).resolve().parents[2] / "profiles"
    assert list_profiles(profiles) == ["studio-v1"]
    loaded = load_profile(profiles, "studio-v1")
    assert loaded.sha256 == "40b8528db8a2ef7561cd1ead9e8f90a78afd62d098abef8eccdd43541fc8bd2b"
    assert (loaded.profile.image.width, len(loaded.profile.views)) == (768, 6)
