"""``isoglot doctor``: installed versions, devices, the bundled encoder and optional parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.options import Device, OptionalOut, Seed, Settings
from isoglot.cli.output import Output, listing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

EXAMPLE = "Example: isoglot doctor --measure quick --set seconds=2"


def doctor(
    *,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure", metavar="RECIPE", help="Also measure the matrix peak: quick, thorough or a .toml file."
        ),
    ] = None,
    settings: Settings = None,
    out: OptionalOut = None,
    device: Device = "auto",
    seed: Seed = 0,
    output: Output,
) -> None:
    """Show versions, devices, the bundled encoder and optional parts; measure how fast the device is."""
    from isoglot.core.doctor import check_up
    from isoglot.model.load import embedded

    check = check_up(
        measure=measure,
        settings=settings or (),
        out=out,
        device=device,
        seed=seed,
        models=[embedded()],
        progress=output.progress,
    )
    output.result(check, listing(_rows(check)))


def _rows(check: dict[str, Any]) -> Iterator[tuple[str, str, str | Text]]:
    from rich.text import Text

    for name, version in check["versions"].items():
        yield "versions", name, version
    for found in check["devices"]:
        chosen = "  ← used" if found["name"] == check["device"] else ""
        yield "devices", found["name"], f"{found['chip']}, {found['memory'] / 2**30:.0f} GiB{chosen}"
    for peak in check["peak"]:
        speed = f"{peak['tflops']:.3g} TFLOP/s on {check['device']}, {peak['size']} × {peak['size']}"
        yield "matrix peak", peak["dtype"], speed
    for model in check["models"]:
        size = model["size"]
        facts = "not in this version" if size is None else f"{' '.join(model['languages'])}, {size / 1e6:.1f} MB"
        yield "model", model["name"], Text(f"damaged: {model['problem']}", "red") if model["problem"] else facts
    for part in check["parts"]:
        missing = [name for name, version in part["libraries"].items() if version is None]
        there = ", ".join(f"{name} {version}" for name, version in part["libraries"].items() if version)
        state = (
            Text(f"· no {', '.join(missing)}: {part['install']}", "yellow") if missing else Text(f"✓ {there}", "green")
        )
        yield "optional", part["extra"], state
