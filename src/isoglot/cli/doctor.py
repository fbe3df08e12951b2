"""``isoglot doctor``: what is installed, what it can compute on, what is missing and how to add it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.options import Debug, Device, Json, OptionalOut, Quiet, Seed, Settings
from isoglot.cli.output import Output, command_line
from isoglot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from isoglot.core.progress import Progress

EXAMPLE = "Example: isoglot doctor --measure quick --set seconds=2"


def doctor(
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
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show versions, devices and optional parts; measure how fast the device is."""
    output = Output(json=json, quiet=quiet)
    check = check_up(
        measure=measure, settings=settings or (), out=out, device=device, seed=seed, progress=output.progress
    )
    output.result(check, render(check))


def check_up(
    *,
    measure: str | None,
    settings: Sequence[str],
    out: Path | None,
    device: str,
    seed: int,
    progress: Progress,
) -> dict[str, Any]:
    """The facts ``doctor`` shows, as JSON holds them; with ``out``, written there as ``doctor.json``."""
    if measure is None and settings:
        raise ConfigError(f"--set {settings[0]} changes no recipe here", remedy="add --measure quick")
    from contextlib import nullcontext

    from isoglot.core.config import build_config
    from isoglot.core.devices import choose_device, list_devices
    from isoglot.core.files import write_json
    from isoglot.core.parts import PARTS, version_of, versions
    from isoglot.core.peak import PeakConfig, measure_peak
    from isoglot.core.recipe import load_recipe
    from isoglot.core.record import record_run

    recipe = None if measure is None else load_recipe(measure, room="core")
    config = None if recipe is None else build_config(PeakConfig, recipe=recipe, settings=settings)
    chosen = choose_device(device)
    record = (
        nullcontext()
        if out is None
        else record_run(out, command=command_line(), seed=seed, config=config, device=str(chosen))
    )
    with record:
        peaks = [] if config is None else measure_peak(config, chosen, seed=seed, progress=progress)
        parts = [
            {"extra": part.extra, "adds": part.adds, "install": part.install}
            | {"libraries": {library: version_of(library) for library in part.libraries}}
            for part in PARTS
        ]
        check = {
            "versions": versions(),
            "devices": [asdict(found) for found in list_devices()],
            "device": str(chosen),
            "peak": [asdict(peak) for peak in peaks],
            "parts": parts,
        }
        if out is not None:
            write_json(out / "doctor.json", check)
    return check


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
    for index, part in enumerate(check["parts"]):
        missing = [name for name, version in part["libraries"].items() if version is None]
        there = ", ".join(f"{name} {version}" for name, version in part["libraries"].items() if version)
        state = Text(f"✓ {part['adds']} ({there})", "green")
        if missing:
            state = Text(f"· {part['adds']}: {part['install']}", "yellow")
        table.add_row("" if index else "optional", part["extra"], state)
    return table
