"""``isoglot demo``: the first thing a newcomer runs."""

from __future__ import annotations

import time
from pathlib import Path

from isoglot.cli.declaration import command
from isoglot.cli.options import Device, Out, Seed, Settings
from isoglot.cli.output import Output
from isoglot.cli.run_files import PAGE, recorded

_WELCOME = """\
isoglot shows how languages come to share one space inside a masked language model.
The one that comes with it, isoglot-mini, has read five languages, and translated sentences side by side.
Add the difference of two languages' means to every token of an English sentence, and read off what
the model now says at each place. No word moves, but many turn:
"""
_BUILTIN = """
For experiments the same five languages are built in, small: they speak of one world, and what translates
each word is known:
"""
_TRAINING = """\
Now small encoders learn two languages each, English and a twin of it in a script of its own, by guessing
masked words. Which of them will find the twin of a sentence, though nobody shows them any pair?
"""


@command("demo --out demo")
def demo(
    *, out: Out = Path("demo"), settings: Settings = None, device: Device = "auto", seed: Seed = 0, output: Output
) -> None:
    """Turn English towards four languages by adding a vector; then train small encoders and see which share a space.

    Takes some minutes on two quiet cores, once it is installed. The encoders are trained in turn, so at every moment
    all have read the same text; a machine too slow for 6 M tokens each is given fewer, chosen once at the start.
    What is trained is kept: the same command again trains nothing. Quicker, and less to see: --set budget=1Mtokens.
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
    output.say(_WELCOME)
    real = see_real_languages(device=device, seed=seed, progress=output.progress)
    output.say(shown.shifted_sentences(real))
    output.say(f"\n{shown.found_in_words(real)}\n{_BUILTIN}")
    output.say(interlinear(next(parallel(seed=seed))))
    output.say(_TRAINING)
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
