"""The examples written anew, once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.authoring.publish import publish


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the authoring code writes now."""
    folder = tmp_path_factory.mktemp("examples")
    publish(folder)
    return folder
