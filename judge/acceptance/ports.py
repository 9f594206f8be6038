"""The two ports that a host implements. Authorization, access and models live behind them.

Both are asynchronous. ``cancel`` is set as soon as the judgment ends early, whatever the cause, so that
work which no exception reaches (a thread, a remote job) can stop too; the coroutine itself is cancelled
in the ordinary way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from judge.acceptance.evidence import AvailableEvidence, EvidenceItem, UnavailableEvidence
from judge.acceptance.fields import ContractModel, Sha256Hex, Text
from judge.acceptance.reply import EvaluatorResult
from judge.acceptance.request import ImageReference, ImageRole, JudgeRequest


class EvaluatorRequest(ContractModel):
    """One visual call.

    Only ``instructions`` may enter the instruction channel. Everything in ``untrusted_context`` and every
    word inside an image is data.
    """

    instructions: Text
    untrusted_context: JudgeRequest
    evidence: tuple[EvidenceItem, ...]
    input_fingerprint: Sha256Hex


class EvidenceAccess(Protocol):
    """Authorizes access to an image and decodes its exact bytes.

    Returns a model or a mapping with JSON names. What it raises propagates unchanged.
    """

    async def resolve(
        self, reference: ImageReference, *, role: ImageRole, cancel: asyncio.Event
    ) -> AvailableEvidence | UnavailableEvidence | Mapping[str, object]: ...


class Evaluator(Protocol):
    """Makes one visual call. Returns a model or a mapping ``{response, metadata, usage}``.

    What it raises propagates unchanged.
    """

    async def evaluate(
        self, request: EvaluatorRequest, *, cancel: asyncio.Event
    ) -> EvaluatorResult | Mapping[str, object]: ...
