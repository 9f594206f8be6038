"""Entry point inside the sandbox: ``python -I -B .../renderer/__main__.py --site DIR --profiles DIR``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def _arguments() -> tuple[Path, Path]:
    parser = argparse.ArgumentParser(prog="renderer", description="Draws one job. Started by a sandbox backend.")
    parser.add_argument("--site", type=Path, required=True, help="folder with Storm and its Python packages")
    parser.add_argument("--profiles", type=Path, required=True, help="folder with the profiles")
    options = parser.parse_args()
    return options.site, options.profiles


if __name__ == "__main__":
    site, profiles = _arguments()
    storm = site / "bpy" / "5.2" / "python" / "lib" / "python3.13" / "site-packages"
    # Storm's own pxr first; the package bpy itself is never imported.
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(storm), str(site)]
    from renderer.worker import main

    sys.exit(main(site, profiles))
