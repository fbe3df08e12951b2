"""``isoglot demo``: the first thing a newcomer runs."""

from __future__ import annotations

from pathlib import Path

from isoglot.cli import doctor
from isoglot.cli.languages import interlinear
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
    """Let the built-in languages speak, check this machine, and measure how fast it is."""
    from isoglot.core.doctor import check_up
    from isoglot.languages import parallel

    output = Output(json=json, quiet=quiet)
    output.say("isoglot shows how languages come to share one space inside a masked language model.")
    output.say("Five languages are built in; they speak of one world, and each word's translation is known:\n")
    output.show(interlinear(next(parallel(seed=seed))))
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
