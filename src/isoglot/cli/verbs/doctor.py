"""``isoglot doctor``: installed versions, devices, the bundled encoder and optional parts."""

from __future__ import annotations

from typing import Annotated, Any

from isoglot.cli.declaration import command, option
from isoglot.cli.options import Run, Settings


@command("doctor --measure quick --set seconds=2")
def doctor(*, measure: Annotated[str | None, option("RECIPE")] = None, settings: Settings = None, run: Run) -> None:
    """Show versions, devices, the bundled encoder and optional parts; measure how fast the device is.

    Options:
        measure: Also measure the matrix peak: quick, thorough or a .toml file.
    """
    from isoglot.core.doctor import check_up
    from isoglot.model.load import embedded
    from isoglot.report.terminal.listings import doctor_result

    how: dict[str, Any] = {"out": run.out, "device": run.device, "seed": run.seed, "progress": run.progress}
    run.print(doctor_result(check_up(measure=measure, settings=settings or (), models=[embedded()], **how)))
