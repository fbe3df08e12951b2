"""Chooses the layer and alpha of token translation for isoglot-mini, from and to English, and reports them elsewhere.

    python scripts/mini_steer.py isoglot-mini --xnli DIR --out steer.json       # about 15 minutes on one core
    python scripts/mini_steer.py isoglot-mini --xnli DIR --out steer.json --means means.safetensors --write docs/MINI.md

DIR has XNLI's ``dev-en.tsv`` and ``test-en.tsv`` and those of the other languages; .xz is read as it is. Every layer
with every alpha is tried on sentences of dev, which the means were not learned from; the choice, by the rule of
``isoglot.steer.shift_choice``, is reported on sentences of test, beside the last layer but one with alpha 2. What
the JSON has already is not measured again. ``--means`` puts the choices into the means' file, under its hash.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mini_tables import choice_table, filled

from isoglot.core.errors import IsoglotError
from isoglot.core.files import read_json, write_json, write_text
from isoglot.core.progress import choose_progress
from isoglot.model import load_encoder
from isoglot.steer import LanguageMeans, ShiftChoice, bleu_1, sweep_shifts
from isoglot.steer.language_files import own_known
from isoglot.steer.shift_choice import NEITHER, best_cell
from isoglot.steer.shifted_decoding import Cell
from isoglot.text.formats.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.steer import Sweep

ALPHAS = (0.5, 1.0, 1.5, 2.0, 2.25, 2.5, 2.75, 3.0, 3.5)
OTHERS = ("de", "fr", "ru", "zh")
WAYS = [*(("en", code) for code in OTHERS), *((code, "en") for code in OTHERS)]
DEV, TEST = 100, 200
LONGEST = 80
"""Letters of an English sentence, at most: what people type."""


def sentences(folder: Path, split: str, count: int) -> dict[str, list[str]]:
    """So many sentences in every language, evenly spread: premises and hypotheses in turn, none twice."""
    rows = {code: _rows(folder, f"{split}-{code}.tsv") for code in ("en", *OTHERS)}
    seen, places = set(), []
    for number, row in enumerate(rows["en"]):
        text = row[number % 2]
        if text not in seen and len(text) <= LONGEST:
            seen.add(text)
            places.append((number, number % 2))
    kept = [places[int(place)] for place in np.linspace(0, len(places) - 1, count)]
    return {code: [rows[code][number][column] for number, column in kept] for code in rows}


def _rows(folder: Path, name: str) -> list[list[str]]:
    path = next(path for path in (folder / name, folder / f"{name}.xz") if path.exists())
    return [line.split("\t") for _, line in read_lines(path)]


def figures(swept: Sweep) -> dict[str, list[float]]:
    """BLEU-1, convert rate and share of neither language of every cell."""
    return {
        f"{cell.layer}/{cell.alpha:g}": [
            round(one.bleu.score if one.bleu else 0.0, 2),
            round(one.convert_rate or 0.0, 3),
            round(one.neither, 3),
        ]
        for cell, one in swept.scores.items()
    }


def chosen(facts: Mapping[str, Any]) -> ShiftChoice:
    """The choice from the cells on dev."""
    cells = {}
    for name, (bleu, rate, neither) in facts["dev"].items():
        layer, alpha = name.split("/")
        if neither <= NEITHER:
            cells[Cell(int(layer), float(alpha))] = (bleu, rate)
    best = best_cell(cells)
    bleu, rate, neither = facts["dev"][f"{best.layer}/{best.alpha:g}"]
    return ShiftChoice(
        layer=best.layer,
        alpha=best.alpha,
        bleu=bleu,
        source_bleu=facts["dev_source"],
        convert_rate=rate,
        neither=neither,
        sentences=DEV,
        text="XNLI dev",
    )


def measured(model: str, folder: Path, out: Path, device: str) -> dict[str, Any]:
    """All ways, each written when it is done."""
    encoder, known = load_encoder(model, device=device), own_known(model)
    if known is None:
        raise SystemExit(f"{model} has no means with it")
    means, sets = known
    dev, test = sentences(folder, "dev", DEV), sentences(folder, "test", TEST)
    found: dict[str, Any] = read_json(out) if out.exists() else {}
    progress = choose_progress()
    for source, target in WAYS:
        facts = found.setdefault(f"{source}-{target}", {})
        if "dev" not in facts:
            swept = sweep_shifts(
                encoder, dev[source], source, target, means,
                alphas=ALPHAS, sets=sets, references=dev[target], progress=progress,
            )  # fmt: skip
            facts["dev"] = figures(swept)
        facts["dev_source"] = round(bleu_1(dev[source], dev[target], target).score, 2)
        choice = chosen(facts)
        if facts.get("choice") != choice.as_dict():
            facts["choice"], facts["test"] = choice.as_dict(), {}
            for layer, alpha in ((choice.layer, choice.alpha), (encoder.depth - 1, 2.0)):
                swept = sweep_shifts(
                    encoder, test[source], source, target, means,
                    layers=[layer], alphas=[alpha], sets=sets, references=test[target], progress=progress,
                )  # fmt: skip
                facts["test"] |= figures(swept)
                low, high = swept.interval("bleu", layer, alpha) or (0.0, 0.0)
                facts["test_interval"] = facts.get("test_interval", {}) | {f"{layer}/{alpha:g}": [low, high]}
            facts["test_sentences"] = TEST
            facts["test_source"] = round(bleu_1(test[source], test[target], target).score, 2)
        write_json(out, found)
    return found


def main() -> int:
    """Measure, write, show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="an encoder with means in its folder")
    parser.add_argument("--xnli", type=Path, required=True, help="where dev-en.tsv and the others are")
    parser.add_argument("--out", type=Path, required=True, help="the JSON with every cell; what it has is kept")
    parser.add_argument("--means", type=Path, help="the means.safetensors to put the choices into")
    parser.add_argument("--write", type=Path, help="the card whose table to fill")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    try:
        found = measured(options.model, options.xnli, options.out, options.device)
        if options.means:
            choices = {way: ShiftChoice(**facts["choice"]) for way, facts in found.items()}
            LanguageMeans.load(options.means).with_choices(choices).save(options.means)
        parts = {"steer-choice": choice_table(found)}
        if options.write:
            write_text(options.write, filled(options.write.read_text("utf-8"), parts))
        sys.stdout.write("".join(f"{part}\n" for part in parts.values()))
    except IsoglotError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
