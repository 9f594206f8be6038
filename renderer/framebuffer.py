"""The framebuffer that Storm presents into: RGBA16F and DEPTH32F, read back as the very bits stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL

from renderer.errors import EnvironmentFault


class Framebuffer:
    """An own framebuffer object of a fixed size in pixels, bound while it lives."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, GL.glGenFramebuffers(1))
        for attachment, internal, external in (
            (GL.GL_COLOR_ATTACHMENT0, GL.GL_RGBA16F, GL.GL_RGBA),
            (GL.GL_DEPTH_ATTACHMENT, GL.GL_DEPTH_COMPONENT32F, GL.GL_DEPTH_COMPONENT),
        ):
            texture = GL.glGenTextures(1)
            GL.glBindTexture(GL.GL_TEXTURE_2D, texture)
            GL.glTexImage2D(GL.GL_TEXTURE_2D, 0, internal, width, height, 0, external, GL.GL_FLOAT, None)
            GL.glFramebufferTexture2D(GL.GL_FRAMEBUFFER, attachment, GL.GL_TEXTURE_2D, texture, 0)
        if GL.glCheckFramebufferStatus(GL.GL_FRAMEBUFFER) != GL.GL_FRAMEBUFFER_COMPLETE:
            raise EnvironmentFault(
                "gl_unavailable", "The driver cannot draw into half floats.", "Use a driver with OpenGL 4.5."
            )

    def clear(self, red: float, green: float, blue: float) -> None:
        """Clears colour, alpha (to 0) and depth; a depth that was not cleared gives a blank frame."""
        GL.glViewport(0, 0, self.width, self.height)
        GL.glClearColor(red, green, blue, 0.0)
        GL.glClear(GL.GL_COLOR_BUFFER_BIT | GL.GL_DEPTH_BUFFER_BIT)

    def read(self) -> NDArray[np.uint16]:
        """Half-float bits, shape (height, width, 4), bottom row first."""
        GL.glPixelStorei(GL.GL_PACK_ALIGNMENT, 1)
        raw = GL.glReadPixels(0, 0, self.width, self.height, GL.GL_RGBA, GL.GL_HALF_FLOAT)
        return np.frombuffer(raw, np.uint16).reshape(self.height, self.width, 4)
