"""The judge's own look at the bytes: does the host's metadata say what they say?

Only where the bytes can be decoded here is anything known; a format that this decoder does not read
leaves the host's word standing. Formats that run other programs are never opened.
"""

from __future__ import annotations

import io
import warnings
from typing import Final

from PIL import Image

_MEDIA_TYPES: Final = {
    "PNG": frozenset({"image/png", "image/apng"}),
    "JPEG": frozenset({"image/jpeg", "image/jpg"}),
    "MPO": frozenset({"image/jpeg", "image/jpg"}),
    "WEBP": frozenset({"image/webp"}),
    "GIF": frozenset({"image/gif"}),
    "BMP": frozenset({"image/bmp", "image/x-ms-bmp"}),
    "TIFF": frozenset({"image/tiff"}),
    "AVIF": frozenset({"image/avif"}),
}
_OPENED: Final = tuple(name for name in _MEDIA_TYPES if name != "MPO")
_WHOLLY_READ: Final = frozenset({"PNG", "JPEG", "MPO", "WEBP", "GIF", "BMP"})
"""Formats of which no valid file is known that this decoder fails on: a failure means broken bytes."""
_MAX_PIXELS: Final = 1 << 26
"""Above this only the header is looked at."""
_ORIENTATION_TAG: Final = 0x0112
_TRANSPOSED: Final = frozenset({5, 6, 7, 8})


def contradiction(data: bytes, width: int, height: int, media_type: str) -> tuple[str, str] | None:
    """Path and reason of the first thing in which metadata contradict the bytes, or None.

    Width and height may be those of the stored pixels or, where the file says that they lie on their
    side, those of the upright picture: decoders do either.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            image = Image.open(io.BytesIO(data), formats=_OPENED)
        except Exception:  # noqa: BLE001 - decoders raise anything; bytes unread here are no finding
            return None
        with image:
            return _compare(image, width, height, media_type)


def _compare(image: Image.Image, width: int, height: int, media_type: str) -> tuple[str, str] | None:
    kind = image.format or ""
    if media_type not in _MEDIA_TYPES.get(kind, {media_type}):
        return "metadata.mediaType", f"is not that of the bytes ({kind})"
    sizes = [image.size]
    if _lies_on_its_side(image):
        sizes.append((image.height, image.width))
    if (width, height) not in sizes:
        name = "width" if all(width != size[0] for size in sizes) else "height"
        return f"metadata.{name}", f"is not that of the bytes ({image.width}x{image.height} pixels)"
    if kind in _WHOLLY_READ and image.width * image.height <= _MAX_PIXELS:
        try:
            image.load()
        except Exception:  # noqa: BLE001 - decoders raise anything for broken bytes
            return "bytes", f"are broken: they begin as {kind} and do not decode"
    return None


def _lies_on_its_side(image: Image.Image) -> bool:
    try:
        return image.getexif().get(_ORIENTATION_TAG) in _TRANSPOSED
    except Exception:  # noqa: BLE001 - a broken EXIF block says nothing
        return False
