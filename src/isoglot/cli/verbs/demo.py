"""``isoglot demo``: the first thing a newcomer runs."""

from __future__ import annotations

import time
from pathlib import Path

from isoglot.cli.declaration import command
from isoglot.cli.options import Device, Out, Seed, Settings
from isoglot.cli.output import Output
from isoglot.cli.run_files import PAGE, recorded


@command("demo --out demo")
def demo(
    *, out: Out = Path("demo"), settings: Settings = None, device: Device = "auto", seed: Seed = 0, output: Output
) -> None:
    """Steer English sentences toward four languages, then train small encoders and see which of them share a space.

    Takes a few minutes on two idle cores. The encoders are trained in turn, so that at every moment all have read the
    same text. On a machine too slow for 6 M tokens each, a smaller size is chosen once, at the start. Trained encoders
    are kept: running the command again trains nothing. --set budget=1Mtokens is faster and shows less.
    """
    from isoglot.core.config import build_config
    from isoglot.core.devices import choose_device
    from isoglot.core.progress import duration
    from isoglot.core.run import command_line
    from isoglot.languages import parallel
    from isoglot.report import demo as shown
    from isoglot.report.terminal.languages import interlinear
    from isoglot.study.demo.real_languages import see_real_languages
    from isoglot.study.demo.thumbnail import SIZE, ThumbnailConfig, run_thumbnail

    config, where = build_config(ThumbnailConfig, settings=settings or ()), str(choose_device(device))
    output.say(shown.WELCOME)
    real = see_real_languages(device=device, seed=seed, progress=output.progress)
    output.say(shown.shifted_sentences(real))
    output.say(f"\n{shown.found_in_words(real)}\n{shown.BUILTIN}")
    output.say(interlinear(next(parallel(seed=seed))))
    output.say(shown.TRAINING)
    start = time.monotonic()
    with recorded(out, (), seed=seed, config=config, device=where, kind="in place") as run:
        results, size = run_thumbnail(out, config, seed=seed, device=device, progress=output.progress, say=output.say)
        facts = [
            f"{command_line()}: {duration(time.monotonic() - start)} on {where}, seed {seed}.",
            size.in_words(),
            f"isoglot {run.versions['isoglot']}, torch {run.versions.get('torch')}, Python {run.versions['python']}.",
        ]
        page = shown.thumbnail_page(results, tested=config.test_sentences, more=shown.real_sections(real), facts=facts)
        for path in (*page.write(out), out / SIZE):
            run.add_output(path)
    output.say()
    output.print(shown.thumbnail_result(results, real, size, config.test_sentences, out))
    output.say(f"\nOpen {(out / PAGE).resolve()} in a browser for the figures; {out / 'run.json'} says what ran.")
