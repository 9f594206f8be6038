"""The class of machine that pixels may depend on: recorded, so that equal classes can be told."""

from __future__ import annotations

import platform
from pathlib import Path

from renderer.protocol import Hello


def cpu_model() -> str:
    """The processor as the kernel names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def machine_class(hello: Hello) -> dict[str, str]:
    """Processor, architecture, and the driver as it named itself inside the sandbox."""
    return {
        "cpu": cpu_model()[:200],
        "architecture": platform.machine(),
        "gl_vendor": hello.gl_vendor[:200],
        "gl_renderer": hello.gl_renderer[:200],
        "gl_version": hello.gl_version[:200],
    }


def runtime_versions(hello: Hello) -> dict[str, str]:
    """Versions of what drew, as read back inside the sandbox."""
    return {"openusd": hello.usd_version, "python": hello.python, "numpy": hello.numpy}
