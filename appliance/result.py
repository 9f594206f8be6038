"""What an episode comes to: one object for machines, one table for people, one exit code."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from appliance.errors import EXIT_FINISHED, EXIT_OF_FAULT, EXIT_USAGE, ApplianceError, Fault


@dataclass(frozen=True)
class EpisodeResult:
    """``status`` is ``finished`` when a verdict came out, ``not_run`` included; else ``failed``."""

    status: Literal["finished", "failed"]
    fault: Fault | None
    reason: str | None
    """Stable reason of the fault, or of a verdict without a score."""
    message: str | None = None
    remedy: str | None = None
    receipt: str | None = None
    receipt_sha256: str | None = None
    verdict: dict[str, Any] | None = None
    report: str | None = None
    warnings: tuple[str, ...] = field(default_factory=tuple)

    @property
    def exit_code(self) -> int:
        """0 finished, 2 usage, 3 candidate, 4 infrastructure, 5 provider."""
        if self.status == "finished":
            return EXIT_FINISHED
        return EXIT_USAGE if self.fault is None else EXIT_OF_FAULT[self.fault]

    def to_json(self) -> str:
        """One JSON object, ASCII, so that no terminal or log is misled by what is in it."""
        return json.dumps({**self.__dict__, "warnings": list(self.warnings)}, indent=2, ensure_ascii=True)


def failed(error: ApplianceError, warnings: tuple[str, ...] = ()) -> EpisodeResult:
    """The result of an episode that ended in a named error: no verdict, no receipt."""
    return EpisodeResult("failed", error.fault, error.code, error.message, error.remedy, warnings=warnings)
