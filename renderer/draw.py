"""Storm itself: one engine, one framebuffer, one image after another."""

from __future__ import annotations

from OpenGL import GL
from pxr import CameraUtil, Gf, Tf, Usd, UsdImagingGL

from renderer.errors import AssetError, EnvironmentFault
from renderer.framebuffer import Framebuffer
from renderer.pixels import FinalImage, background_linear, finish
from renderer.profile import LoadedProfile
from renderer.protocol import Camera, PassName
from renderer.rig import Rig, camera_matrices


def _parameters(loaded: LoadedProfile, time_code: Usd.TimeCode) -> UsdImagingGL.RenderParams:
    params = UsdImagingGL.RenderParams()
    params.frame = time_code
    params.complexity = loaded.profile.engine.complexity
    # Storm's own image is premultiplied and laid over the framebuffer, which holds the background.
    params.clearColor = Gf.Vec4f(0)
    params.colorCorrectionMode = "disabled"
    params.enableSceneLights = True
    params.enableUsdDrawModes = False
    params.showGuides = params.showProxy = False
    params.showRender = True
    params.cullStyle = UsdImagingGL.CullStyle.CULL_STYLE_NOTHING
    return params


class Painter:
    """Draws a neutralised stage under a profile. One instance a process: it owns the GL state."""

    def __init__(
        self, stage: Usd.Stage, loaded: LoadedProfile, meters_per_unit: float, time_code: Usd.TimeCode
    ) -> None:
        image = loaded.profile.image
        self._stage, self._loaded, self._meters_per_unit = stage, loaded, meters_per_unit
        self._rig = Rig(stage, loaded)
        self._framebuffer = Framebuffer(image.width, image.height)
        self._params = _parameters(loaded, time_code)
        self._engine = UsdImagingGL.Engine()
        if not self._engine.SetRendererPlugin(loaded.profile.engine.renderer_id):
            raise EnvironmentFault(
                "storm_unavailable",
                f"The profile's renderer {loaded.profile.engine.renderer_id} cannot be started.",
                "Run set-up again; `render-judge doctor` says what is missing.",
            )
        # Without a named AOV Storm presents a single sample, and every edge is a staircase.
        if (
            not self._engine.SetRendererAov("color")
            or GL.glGetIntegerv(GL.GL_MAX_SAMPLES) < loaded.profile.engine.samples
        ):
            raise EnvironmentFault(
                "no_multisampling",
                f"The driver does not draw {loaded.profile.engine.samples} samples a pixel.",
                "Use a driver with multisampling.",
            )
        # Exposure belongs to the profile, not to a camera of the submission's.
        self._engine.SetRendererSetting("enableExposureCompensation", False)
        # The environment lights; the ground behind the subject is the profile's plain colour.
        self._engine.SetRendererSetting("domeLightCameraVisibility", False)
        self._engine.SetRenderBufferSize(Gf.Vec2i(image.width, image.height))
        self._engine.SetFraming(CameraUtil.Framing(Gf.Rect2i(Gf.Vec2i(0, 0), image.width, image.height)))
        self.draw_errors: list[str] = []

    @property
    def renderer_id(self) -> str:
        """The id that the engine answers with, not the one that it was asked for."""
        return str(self._engine.GetCurrentRendererId())

    def frame(self, camera: Camera, pass_name: PassName) -> FinalImage:
        """Draws one image. Raises :class:`AssetError` where Storm never converges."""
        profile = self._loaded.profile
        image = profile.image
        self._rig.turn(camera.azimuth_degrees)
        view, projection = camera_matrices(camera, self._stage, self._meters_per_unit, image.width / image.height)
        self._engine.SetCameraState(view, projection)
        self._params.enableSceneMaterials = pass_name == "beauty"
        self._framebuffer.clear(*background_linear(profile.look))
        for _ in range(profile.engine.max_passes):
            try:
                self._engine.Render(self._stage.GetPseudoRoot(), self._params)
            except Tf.ErrorException as error:
                self.draw_errors.append(str(error)[:500])
            if self._engine.IsConverged():
                return finish(self._framebuffer.read(), profile.look, image.bit_depth)
        raise AssetError(
            "never_converges",
            f"Storm had not finished view {camera.name} after {profile.engine.max_passes} passes.",
            "Simplify the asset's materials and textures.",
        )
