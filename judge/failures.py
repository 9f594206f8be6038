"""How a client names its failure, so that a record says more than that there was one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from judge.ports import ProviderResponse

FAILURES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "provider_timeout": "The provider did not answer in time.",
        "provider_error": "The provider failed.",
        "provider_unreachable": "The provider could not be reached, or the connection broke.",
        "provider_unavailable": "The provider reports a fault of its own.",
        "provider_rate_limited": "The provider asks for fewer calls.",
        "provider_credentials": "The provider did not accept the credentials.",
        "provider_rejected": "The provider rejected the request.",
        "provider_malformed": "The provider's answer has not the form of its protocol.",
        "reply_too_big": "The provider's answer is too big.",
        "reply_refused": "The model refused to answer.",
        "reply_truncated": "The model's reply was cut off at its limit of tokens.",
    }
)
"""The closed list of what a client may name, with the words of the record."""


class ProviderFailure(Exception):
    """Raised by a client's ``complete``. ``code`` is one of :data:`FAILURES`; any other counts as ``provider_error``.

    ``known`` is what the provider did tell, usage above all: a failed call may have been charged. Its reply is
    not used. No words of the provider's go into a record: they may hold addresses and keys.
    """

    def __init__(self, code: str, known: ProviderResponse | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.known = known
