"""``isoglot demo``: the first thing a newcomer runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.cli.options import Device, Out, Seed, Settings
from isoglot.cli.output import Output
from isoglot.cli.run_files import recorded
from isoglot.cli.verbs.languages import interlinear
from isoglot.core.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.study.demo.real_languages import RealLanguages
    from isoglot.study.demo.thumbnail import ArmResult

EXAMPLE = "Example: isoglot demo --out demo"
PAGE = "index.html"


def demo(
    *,
    out: Out = Path("demo"),
    settings: Settings = None,
    device: Device = "auto",
    seed: Seed = 0,
    output: Output,
) -> None:
    """Turn English towards four languages by adding a vector; then train small encoders and see which share a space.

    Takes some minutes on two quiet cores, once it is installed. The encoders are trained in turn, so at every moment
    all have read the same text; a machine too slow for 6 M tokens each is given fewer, chosen once at the start.
    What is trained is kept: the same command again trains nothing. Quicker, and less to see: --set budget=1Mtokens.
    """
    from dataclasses import asdict

    from isoglot.core.config import build_config
    from isoglot.core.devices import choose_device
    from isoglot.core.progress import duration
    from isoglot.core.run import command_line
    from isoglot.languages import parallel
    from isoglot.report.demo import lead, real_sections, thumbnail_page
    from isoglot.study.demo.real_languages import see_real_languages
    from isoglot.study.demo.thumbnail import SIZE, ThumbnailConfig, run_thumbnail

    config = build_config(ThumbnailConfig, settings=settings or ())
    where = str(choose_device(device))
    output.say("isoglot shows how languages come to share one space inside a masked language model.")
    output.say(
        "The one that comes with it, isoglot-mini, has read five languages, and translated sentences side by side.\n"
        "Add the difference of two languages' means to every token of an English sentence, and read off what\n"
        "the model now says at each place. No word moves, but many turn:\n"
    )
    real = see_real_languages(device=device, seed=seed, progress=output.progress)
    _show_real(real, output)
    output.say(
        "For experiments the same five languages are built in, small: they speak of one world, and what translates\n"
        "each word is known:\n"
    )
    output.show(interlinear(next(parallel(seed=seed))))
    output.say(
        "Now small encoders learn two languages each, English and a twin of it in a script of its own, by guessing\n"
        "masked words. Which of them will find the twin of a sentence, though nobody shows them any pair?\n"
    )
    start = time.monotonic()
    with recorded(out, (), seed=seed, config=config, device=where, kind="in place") as run:
        results, size = run_thumbnail(out, config, seed=seed, device=device, progress=output.progress, say=output.say)
        facts = [
            f"{command_line()}: {duration(time.monotonic() - start)} on {where}, seed {seed}.",
            size.in_words(),
            f"isoglot {run.versions['isoglot']}, torch {run.versions.get('torch')}, Python {run.versions['python']}.",
        ]
        page = thumbnail_page(results, tested=config.test_sentences, more=real_sections(real), facts=facts)
        for path in (*page.write(out), out / SIZE):
            run.add_output(path)
    value = {
        "page": str(out / PAGE),
        "real_languages": real.as_dict(),
        "size": asdict(size),
        "arms": {result.name: asdict(result) for result in results},
    }
    output.say()
    output.result(value, _table(results))
    output.say(f"\n{lead(results, config.test_sentences)}")
    output.say(f"\nOpen {(out / PAGE).resolve()} in a browser for the figures; {out / 'run.json'} says what ran.")


def _show_real(real: RealLanguages, output: Output) -> None:
    from rich.table import Table as RichTable

    from isoglot.report.results import Marked, key
    from isoglot.report.steer_tables import runs

    grid = RichTable.grid(padding=(0, 2, 0, 0))
    for number, sentence in enumerate(next(iter(real.shifted.values())).sources):
        grid.add_row("en", sentence)
        for code, made in real.shifted.items():
            grid.add_row(code, Marked(runs(made, number)))
        grid.add_row()
    output.show(grid)
    output.show(key("the new language"))
    found = ", ".join(
        f"{code} {100 * raw:.0f} → {100 * centered:.0f} %" for code, (raw, centered) in real.found.items()
    )
    output.say(
        f"\nHow often is the nearest of {real.tested} sentences the translation? As the model has them → with each\n"
        f"language's mean taken away: {found}. Chance is {100 / real.tested:.1f} %.\n"
    )


def _table(results: Sequence[ArmResult]) -> Table:
    from isoglot.study.demo.thumbnail import ARMS

    note = "twins found (P@1), each language's mean removed, estimated on other sentences"
    head = ["encoder", *(f"layer {layer}" for layer in range(len(results[0].centered)))]
    rows = [[ARMS[result.name].title, *(f"{100 * value:.1f} %" for value in result.centered)] for result in results]
    return Table.from_cells(head, rows, footnotes=(note,))
