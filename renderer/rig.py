"""The profile's lights, laid into the session layer, and the frames of stage and rig.

The rig, not the asset, follows ``upAxis`` and ``metersPerUnit``: cameras and lights are carried from
the rig's frame (metres, +Y up) into the stage's own, so that no transform touches the asset.
"""

from __future__ import annotations

import math

from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux

from renderer.profile import LoadedProfile
from renderer.protocol import Camera

_Y_UP_FROM_Z_UP = Gf.Matrix4d(1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1)  # row vectors: z goes to y


def stage_rotation(stage: Usd.Stage) -> Gf.Matrix4d:
    """Rotation from the stage's frame to the rig's. An unknown up-axis is treated as Y, as USD does."""
    if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z:
        return Gf.Matrix4d(_Y_UP_FROM_Z_UP)
    return Gf.Matrix4d(1)


def rig_from_stage(stage: Usd.Stage, meters_per_unit: float) -> Gf.Matrix4d:
    """Matrix (row vectors) from stage units and axes to metres and +Y up."""
    return stage_rotation(stage) * Gf.Matrix4d().SetScale(meters_per_unit)


def camera_matrices(
    camera: Camera, stage: Usd.Stage, meters_per_unit: float, aspect: float
) -> tuple[Gf.Matrix4d, Gf.Matrix4d]:
    """View and projection matrix in stage units. Both stay rigid and exact whatever the unit is."""
    to_stage = rig_from_stage(stage, meters_per_unit).GetInverse()
    eye, target = (to_stage.Transform(Gf.Vec3d(*point)) for point in (camera.eye, camera.target))
    up = stage_rotation(stage).GetInverse().TransformDir(Gf.Vec3d(*camera.up))
    frustum = Gf.Frustum()
    near, far = camera.near_metres / meters_per_unit, camera.far_metres / meters_per_unit
    if camera.projection == "perspective":
        frustum.SetPerspective(camera.fov_degrees, aspect, near, far)
    else:
        half = camera.height_metres / meters_per_unit / 2
        window = Gf.Range2d(Gf.Vec2d(-half * aspect, -half), Gf.Vec2d(half * aspect, half))
        frustum = Gf.Frustum(Gf.Vec3d(0), Gf.Rotation(), window, Gf.Range1d(near, far), Gf.Frustum.Orthographic)
    return Gf.Matrix4d().SetLookAt(eye, target, up), frustum.ComputeProjectionMatrix()


def _free_path(stage: Usd.Stage) -> Sdf.Path:
    name = "RenderJudgeRig"
    while stage.GetPrimAtPath(f"/{name}"):
        name += "_"
    return Sdf.Path(f"/{name}")


class Rig:
    """The lights of a profile on one stage; :meth:`turn` points them for a view."""

    def __init__(self, stage: Usd.Stage, loaded: LoadedProfile) -> None:
        self._profile = loaded.profile
        self._to_stage = stage_rotation(stage).GetInverse()
        self._stage = stage
        root = _free_path(stage)
        with Usd.EditContext(stage, stage.GetSessionLayer()):
            self._root = UsdGeom.Xform.Define(stage, root)
            self._turn = self._root.AddTransformOp()
            for light in self._profile.lights:
                prim = UsdLux.DistantLight.Define(stage, root.AppendChild(light.name))
                prim.CreateIntensityAttr(light.intensity)
                prim.CreateAngleAttr(light.angle_degrees)
                prim.CreateColorAttr(Gf.Vec3f(*light.color))
                # A distant light shines along -Z; this places it at its azimuth and elevation.
                pitch = Gf.Matrix4d().SetRotate(Gf.Rotation(Gf.Vec3d.XAxis(), -light.elevation_degrees))
                yaw = Gf.Matrix4d().SetRotate(Gf.Rotation(Gf.Vec3d.YAxis(), light.azimuth_degrees))
                prim.AddTransformOp().Set(pitch * yaw)
            if self._profile.environment is not None:
                dome = UsdLux.DomeLight.Define(stage, root.AppendChild("environment"))
                dome.CreateTextureFileAttr(str(loaded.folder / self._profile.environment.file))
                dome.CreateTextureFormatAttr(UsdLux.Tokens.latlong)
                dome.CreateIntensityAttr(self._profile.environment.intensity)

    def turn(self, azimuth_degrees: float) -> None:
        """Turns all lights with the camera, so that each view is lit alike."""
        spin = Gf.Matrix4d().SetRotate(Gf.Rotation(Gf.Vec3d.YAxis(), math.fmod(azimuth_degrees, 360)))
        with Usd.EditContext(self._stage, self._stage.GetSessionLayer()):
            self._turn.Set(spin * self._to_stage)
