"""Facts about the machine: versions, devices, optional libraries and the measured matrix peak.

The peak is what the "share of the peak" in training logs refers to. A product of N × N matrices takes 2·N³ operations;
each size is repeated for some time and the fastest round counts.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from isoglot.core.config import Config, build_config, load_recipe
from isoglot.core.devices import choose_device, list_devices
from isoglot.core.errors import ConfigError, DeviceError
from isoglot.core.files import write_json
from isoglot.core.optional import PARTS, version_of, versions
from isoglot.core.progress import SILENT, Progress
from isoglot.core.rng import derive_seed
from isoglot.core.run import out_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import torch


class PeakConfig(Config):
    """Settings of the measurement of the matrix peak."""

    sizes: tuple[Annotated[int, Field(ge=64, le=65536)], ...] = Field((1024, 2048), min_length=1)
    """Side lengths of the square matrices, tried from small to large."""

    dtypes: tuple[Literal["float32", "bfloat16", "float16"], ...] = Field(("float32", "bfloat16"), min_length=1)
    """Number formats to measure."""

    seconds: float = Field(0.5, gt=0, le=600)
    """Time spent on each size and number format; a size whose single product would take longer is skipped."""


@dataclass(frozen=True, kw_only=True)
class Peak:
    """Fastest matrix product of a number format: its rate in TFLOP/s and the matrix size."""

    dtype: str
    tflops: float
    size: int


def measure_peak(config: PeakConfig, device: torch.device, *, seed: int = 0, progress: Progress = SILENT) -> list[Peak]:
    """Measure the matrix peak of a device for each number format, on random numbers (zeros would run faster)."""
    import torch

    generator = torch.Generator(device).manual_seed(derive_seed(seed, "peak"))
    peaks = []
    sizes = sorted(config.sizes)
    with progress.task("matrix peak", total=len(config.dtypes) * len(sizes), unit="sizes") as task:
        for name in config.dtypes:
            best = Peak(dtype=name, tflops=0.0, size=sizes[0])
            for size in sizes:
                expected = 2 * size**3 / (best.tflops * 1e12) if best.tflops else 0.0
                if expected <= config.seconds:
                    tflops = 2 * size**3 / _time_product(size, name, device, generator, config.seconds) / 1e12
                    best = max(best, Peak(dtype=name, tflops=tflops, size=size), key=lambda peak: peak.tflops)
                    task.note(f"{name} {tflops:.3g} TFLOP/s")
                task.advance()
            peaks.append(best)
    return peaks


def _time_product(size: int, dtype: str, device: torch.device, generator: torch.Generator, seconds: float) -> float:
    import torch

    try:
        a_NN = torch.randn(size, size, device=device, generator=generator).to(getattr(torch, dtype))
        return _fastest(a_NN, seconds)
    except (RuntimeError, MemoryError) as error:  # torch also reports "out of memory" as a RuntimeError
        problem = f"{device} cannot multiply matrices of {size} × {size} in {dtype}"
        raise DeviceError(problem, "remove that size from sizes") from error


def _fastest(a_NN: torch.Tensor, seconds: float) -> float:
    """The shortest time of a product ``a @ a`` within the given seconds, after one warm-up product."""
    import torch

    out_NN = a_NN @ a_NN
    synchronize = torch.cuda.synchronize if a_NN.is_cuda else torch.mps.synchronize if a_NN.is_mps else lambda: None
    synchronize()
    rounds = 8 if a_NN.is_cuda else 1  # on a GPU several are launched at once, so that launch time does not count
    best = float("inf")
    end = time.perf_counter() + seconds
    while best == float("inf") or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(rounds):
            torch.mm(a_NN, a_NN, out=out_NN)
        synchronize()
        best = min(best, (time.perf_counter() - start) / rounds)
    return best


def check_up(
    *,
    measure: str | None,
    settings: Sequence[str],
    out: Path | None,
    device: str,
    seed: int,
    models: Sequence[Mapping[str, Any]] = (),
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Collect facts about this machine, as JSON values.

    Args:
        measure: A recipe for measuring the matrix peak. Default: do not measure.
        settings: ``key=value`` changes to the recipe.
        out: A folder for ``doctor.json`` and the run record.
        device: The device to choose and measure.
        seed: The seed of the random matrices.
        models: The bundled encoders, from :func:`isoglot.model.load.embedded`.
        progress: Progress reporter.
    """
    if measure is None and settings:
        raise ConfigError(f"--set {settings[0]} has no recipe to change", "add --measure quick", "conflicting-options")
    recipe = None if measure is None else load_recipe(measure, room="core")
    config = None if recipe is None else build_config(PeakConfig, recipe=recipe, settings=settings)
    chosen = choose_device(device)
    record = nullcontext() if out is None else out_folder(out, seed=seed, config=config, device=str(chosen))
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
