"""``render-judge doctor``: what is there, what is missing, and what to do about each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from appliance.code_hash import code_sha256
from appliance.episode import require_known_image
from appliance.errors import ApplianceError
from appliance.rendering import Plan, draw_self_test
from receipt.errors import ReceiptError
from receipt.keys import load_signer
from renderer.errors import RendererError
from renderer.profile import load_profile
from sandbox import BackendName, SandboxError, find_runtime, open_backend, self_check
from sandbox.runtime import source_folder


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; ``remedy`` is empty where it is well."""

    name: str
    well: bool
    detail: str
    remedy: str = ""


def examine(key: str | None) -> list[Finding]:
    """Looks at everything, never raises for what it finds."""
    findings = [_look("storm", _storm)]
    names: tuple[BackendName, ...] = ("process", "bubblewrap", "docker")
    findings += [_look(f"{name} sandbox", lambda name=name: _sandbox(name)) for name in names]  # type: ignore[misc]
    findings.append(_look("signing key", lambda: _key(key)))
    return findings


def _look(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, check())
    except (ApplianceError, SandboxError, ReceiptError, RendererError) as error:
        return Finding(name, False, error.message, error.remedy)


def _storm() -> str:
    runtime = find_runtime()
    where = f"interpreter {runtime.interpreter}" if runtime.interpreter else "a Debian root's own interpreter"
    return f"found, with {where}; code {code_sha256(source_folder(), 'studio-v1')[:16]}"


def _sandbox(name: BackendName) -> str:
    backend = open_backend(name)
    require_known_image(backend)
    loaded = load_profile(source_folder() / "profiles", "studio-v1")
    self_check(backend).require()
    hello = draw_self_test(Plan(backend, loaded, "cpu")).report.hello
    safety = "UNSAFE, for fixtures only" if name == "process" else f"keeps {len(backend.promises)} promises"
    return f"{safety}; draws with {hello.renderer_id} of OpenUSD {hello.usd_version} on {hello.gl_renderer}"


def _key(key: str | None) -> str:
    if key is None:
        raise ApplianceError(
            "key_missing", "none is configured.", "Run `render-judge keygen`, then set RENDER_JUDGE_KEY.", None
        )
    return f"usable, id {load_signer(key).public_key.keyid[:16]}"
