"""Evidence for the scored judge's tests, loaded once: it cannot be changed."""

from __future__ import annotations

import pytest

from receipt.evidence import TrustedRenderEvidence
from tests.judge import scored_kit


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> TrustedRenderEvidence:
    """Two cameras, two passes; a fixture, and labelled as one by its receipt."""
    return scored_kit.load(tmp_path_factory.mktemp("evidence"))


@pytest.fixture(scope="session")
def unlabelled(tmp_path_factory: pytest.TempPathFactory) -> TrustedRenderEvidence:
    """The same without the label, for the tests of what the label does."""
    return scored_kit.load(tmp_path_factory.mktemp("unlabelled"), fixture=False)
