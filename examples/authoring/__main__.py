"""``python -m examples.authoring [FOLDER]`` writes the examples anew, into their own place by default."""

from __future__ import annotations

import sys
from pathlib import Path

from examples.authoring.publish import publish

if __name__ == "__main__":
    publish(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
