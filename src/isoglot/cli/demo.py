"""``isoglot demo``: the first thing a newcomer runs."""

from __future__ import annotations

from pathlib import Path

from isoglot.cli import doctor
from isoglot.cli.options import Debug, Device, Json, Out, Quiet, Seed
from isoglot.cli.output import Output, command_line

EXAMPLE = "Example: isoglot demo --out demo"


def demo(
    out: Out = Path("demo"),
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Check this machine, measure how fast it is, and say where the record is."""
    from isoglot.core.doctor import check_up

    output = Output(json=json, quiet=quiet)
    output.say("isoglot shows how languages come to share one space inside a masked language model.")
    output.say("This is what it found here, and how fast matrices multiply (the ceiling of every training run):\n")
    check = check_up(
        command=command_line(),
        measure="quick",
        settings=(),
        out=out,
        device=device,
        seed=seed,
        progress=output.progress,
    )
    output.result(check, doctor.render(check))
    output.say(f"\nWritten to {out / 'doctor.json'}; {out / 'run.json'} says what ran.")
