"""Packs a .usdz: a zip without compression whose entries begin on 64 bytes, with one fixed date."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

_ALIGNMENT = 64
_LOCAL_HEADER = 30


def write_usdz(path: Path, files: Mapping[str, bytes]) -> None:
    """Writes the files in their order; the first is the root layer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as package:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            start = out.tell() + _LOCAL_HEADER + len(name.encode())
            # An extra field holds at least its own header of four bytes.
            gap = (-start - 4) % _ALIGNMENT
            entry.extra = b"\x86\x19" + gap.to_bytes(2, "little") + bytes(gap)
            package.writestr(entry, data)
