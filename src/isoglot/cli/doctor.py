"""``isoglot doctor``: what is installed, what it can compute on, what is missing and how to add it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.options import Device, OptionalOut, Seed, Settings
from isoglot.cli.output import Output, command_line

if TYPE_CHECKING:
    from rich.console import RenderableType

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
        command=command_line(),
        measure=measure,
        settings=settings or (),
        out=out,
        device=device,
        seed=seed,
        models=[embedded()],
        progress=output.progress,
    )
    output.result(check, render(check))


def render(check: dict[str, Any]) -> RenderableType:
    """The check-up as a table for people."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for index, (name, version) in enumerate(check["versions"].items()):
        table.add_row("" if index else "versions", name, version)
    for index, found in enumerate(check["devices"]):
        chosen = "  ← used" if found["name"] == check["device"] else ""
        facts = f"{found['chip']}, {found['memory'] / 2**30:.0f} GiB{chosen}"
        table.add_row("" if index else "devices", found["name"], facts)
    for index, peak in enumerate(check["peak"]):
        facts = f"{peak['tflops']:.3g} TFLOP/s on {check['device']}, {peak['size']} × {peak['size']}"
        table.add_row("" if index else "matrix peak", peak["dtype"], facts)
    for model in check["models"]:
        size = model["size"]
        facts = "not in this version" if size is None else f"{' '.join(model['languages'])}, {size / 1e6:.1f} MB"
        damage = None if model["problem"] is None else Text(f"damaged: {model['problem']}", "red")
        table.add_row("model", model["name"], damage or facts)
    for index, part in enumerate(check["parts"]):
        missing = [name for name, version in part["libraries"].items() if version is None]
        there = ", ".join(f"{name} {version}" for name, version in part["libraries"].items() if version)
        state = Text(f"✓ {there}", "green")
        if missing:
            state = Text(f"· no {', '.join(missing)}: {part['install']}", "yellow")
        table.add_row("" if index else "optional", part["extra"], state)
    return table
