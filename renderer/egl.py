"""A current desktop OpenGL context without a display, by EGL.

CPU: Mesa's surfaceless platform, and llvmpipe must answer. GPU: EGL's device platform, and no
software renderer may answer. A silent fall-back would change pixels, so both are checked.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from renderer.errors import EnvironmentFault
from renderer.protocol import Device

_SURFACELESS_MESA, _DEVICE_EXT, _OPENGL_API = 0x31DD, 0x313F, 0x30A2
_NONE = 0x3038
# The compatibility bit: HgiGL reports an invalid enum on every draw under a core profile.
_CONTEXT = (0x3098, 4, 0x30FB, 5, 0x30FD, 2, _NONE)
_CONFIG = (0x3033, 1, 0x3040, 8, 0x3024, 8, 0x3023, 8, 0x3022, 8, 0x3025, 24, _NONE)
_PBUFFER = (0x3057, 16, 0x3056, 16, _NONE)
_SOFTWARE = ("llvmpipe", "softpipe", "swrast", "software")
_REMEDY = "Install Mesa's EGL and DRI libraries (libegl1, libgl1, libegl-mesa0, libgl1-mesa-dri)."


class Driver(NamedTuple):
    """What the driver says of itself."""

    vendor: str
    renderer: str
    version: str


def _fault(message: str, remedy: str = _REMEDY) -> EnvironmentFault:
    return EnvironmentFault("gl_unavailable", message, remedy)


def _library() -> tuple[Any, Any]:
    try:
        egl = ctypes.CDLL("libEGL.so.1", mode=ctypes.RTLD_GLOBAL)
        gl = ctypes.CDLL("libGL.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise _fault(f"OpenGL without a display is not available: {error}.") from error
    pointer, integer, unsigned = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "eglGetPlatformDisplay": (pointer, [unsigned, pointer, pointer]),
        "eglInitialize": (unsigned, [pointer, pointer, pointer]),
        "eglChooseConfig": (unsigned, [pointer, pointer, pointer, integer, pointer]),
        "eglCreateContext": (pointer, [pointer, pointer, pointer, pointer]),
        "eglCreatePbufferSurface": (pointer, [pointer, pointer, pointer]),
        "eglMakeCurrent": (unsigned, [pointer, pointer, pointer, pointer]),
        "eglBindAPI": (unsigned, [unsigned]),
        "eglGetProcAddress": (pointer, [ctypes.c_char_p]),
        "eglGetError": (integer, []),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(egl, name)
        function.restype, function.argtypes = result, arguments
    gl.glGetString.restype, gl.glGetString.argtypes = ctypes.c_char_p, [unsigned]
    return egl, gl


def _displays(egl: Any, device: Device) -> list[int | None]:
    """Displays to try, in order: the surfaceless one, or one a device."""
    if device == "cpu":
        return [egl.eglGetPlatformDisplay(_SURFACELESS_MESA, None, None)]
    address = egl.eglGetProcAddress(b"eglQueryDevicesEXT")
    if not address:
        raise _fault("EGL cannot list GPU devices here.", "Install the GPU vendor's EGL library.")
    query = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(address)
    found = ctypes.c_int()
    devices = (ctypes.c_void_p * 64)()
    if not query(64, devices, ctypes.byref(found)) or not found.value:
        raise _fault("EGL finds no GPU device here.", "Give the sandbox a GPU, or render with --device cpu.")
    return [egl.eglGetPlatformDisplay(_DEVICE_EXT, devices[index], None) for index in range(found.value)]


def _make_current(egl: Any, gl: Any, display: int | None) -> Driver | None:
    if not display or not egl.eglInitialize(display, None, None):
        return None
    egl.eglBindAPI(_OPENGL_API)
    config, count = ctypes.c_void_p(), ctypes.c_int()
    if not egl.eglChooseConfig(
        display, (ctypes.c_int * len(_CONFIG))(*_CONFIG), ctypes.byref(config), 1, ctypes.byref(count)
    ):
        return None
    context = egl.eglCreateContext(display, config, None, (ctypes.c_int * len(_CONTEXT))(*_CONTEXT))
    surface = egl.eglCreatePbufferSurface(display, config, (ctypes.c_int * len(_PBUFFER))(*_PBUFFER))
    if not context or not surface or not egl.eglMakeCurrent(display, surface, surface, context):
        return None
    vendor, renderer, version = (
        (gl.glGetString(name) or b"").decode("utf-8", "replace") for name in (0x1F00, 0x1F01, 0x1F02)
    )
    return Driver(vendor, renderer, version)


def make_context(device: Device) -> Driver:
    """Makes a context current in this thread. Raises :class:`EnvironmentFault` where it cannot."""
    egl, gl = _library()
    for display in _displays(egl, device):
        driver = _make_current(egl, gl, display)
        if driver is None:
            continue
        software = any(word in driver.renderer.lower() for word in _SOFTWARE)
        if device == "cpu" and "llvmpipe" not in driver.renderer.lower():
            raise _fault(f"Mesa's llvmpipe was asked for and {driver.renderer!r} answered.")
        if device == "cpu" or not software:
            return driver
    if device == "gpu":
        raise _fault("No GPU answered; only software renderers did.", "Check the driver, or use --device cpu.")
    raise _fault(f"EGL gives no desktop OpenGL 4.5 context (EGL error {egl.eglGetError():#x}).")
