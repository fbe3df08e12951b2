"""The check-up of the machine: versions, devices, optional parts, and how fast matrices multiply."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from isoglot.core.config import build_config
from isoglot.core.devices import choose_device, list_devices
from isoglot.core.errors import ConfigError
from isoglot.core.files import write_json
from isoglot.core.parts import PARTS, version_of, versions
from isoglot.core.peak import PeakConfig, measure_peak
from isoglot.core.progress import SILENT, Progress
from isoglot.core.recipe import load_recipe
from isoglot.core.run import out_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def check_up(
    *,
    command: str,
    measure: str | None,
    settings: Sequence[str],
    out: Path | None,
    device: str,
    seed: int,
    models: Sequence[Mapping[str, Any]] = (),
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """The facts about this machine, as JSON holds them.

    Args:
        command: What the user typed, for the run record.
        measure: A recipe for measuring the matrix peak; None does not measure.
        settings: ``key=value`` changes to the recipe.
        out: A folder that gets ``doctor.json`` and the run record.
        device: The device to choose and measure.
        seed: The seed of the random matrices.
        models: The encoders that come with the package, as :func:`isoglot.model.load.embedded` tells of them.
        progress: Shows how far the measuring is.
    """
    if measure is None and settings:
        raise ConfigError(f"--set {settings[0]} changes no recipe here", remedy="add --measure quick")
    recipe = None if measure is None else load_recipe(measure, room="core")
    config = None if recipe is None else build_config(PeakConfig, recipe=recipe, settings=settings)
    chosen = choose_device(device)
    record = (
        nullcontext() if out is None else out_folder(out, command=command, seed=seed, config=config, device=str(chosen))
    )
    with record as run:
        peaks = [] if config is None else measure_peak(config, chosen, seed=seed, progress=progress)
        parts = [
            {"extra": part.extra, "install": part.install}
            | {"libraries": {library: version_of(library) for library in part.libraries}}
            for part in PARTS
        ]
        check = {
            "versions": versions(),
            "devices": [asdict(found) for found in list_devices()],
            "device": str(chosen),
            "peak": [asdict(peak) for peak in peaks],
            "parts": parts,
            "models": [dict(model) for model in models],
        }
        if run is not None:
            write_json(run.folder / "doctor.json", check)
    return check
