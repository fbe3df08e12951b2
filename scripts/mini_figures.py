"""What the model card's JSON keeps of scores: plain lists over the layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.errors import MissingPartError
from isoglot.steer import bleu_1
from isoglot.steer.scores import score_translation

if TYPE_CHECKING:
    from isoglot.retrieve.layer_scores import PairScores
    from isoglot.steer import Sweep
    from isoglot.text.formats.dictionary import Entry


def words_found(pair: PairScores) -> dict[str, Any]:
    """P@1 and MRR of every layer, and how many entries of the dictionary were looked up."""
    coverage = pair.coverage
    rows = [
        {
            "layer": each.layer,
            "center": each.center,
            "p@1": each.scores.of("cosine").precision[1].value,
            "mrr": each.scores.of("cosine").mrr.value,
        }
        for each in pair.layers
    ]
    covered = None if coverage is None else [coverage.entries_found, coverage.entries]
    return {"entries": covered, "layers": rows}


def shifted(made: Sweep, references: list[str], unseen: list[Entry]) -> dict[str, Any]:
    """Figures by alpha, each a list over the layers; BLEU-1 where sacrebleu is there.

    Precision stands there twice: by the whole dictionary, and by its words that training was not given.
    """
    found: dict[str, Any] = {}
    for alpha in made.alphas:
        cells = [made.scores[cell] for cell in made.scores if cell.alpha == alpha]
        figures = ("convert_rate", "precision", "judged", "begun", "coverage")
        found[f"{alpha:g}"] = {name: [getattr(each, name) for each in cells] for name in figures}
        judged = [
            score_translation(made.translations[cell], dictionary=unseen) for cell in made.scores if cell.alpha == alpha
        ]
        found[f"{alpha:g}"] |= {
            f"{name}_unseen": [getattr(each, name) for each in judged] for name in ("precision", "judged")
        }
        try:
            texts = [made.translations[cell].texts for cell in made.scores if cell.alpha == alpha]
            found[f"{alpha:g}"]["bleu_1"] = [bleu_1(each, references, made.target).score for each in texts]
        except MissingPartError:
            found[f"{alpha:g}"]["bleu_1"] = [None] * len(cells)
    return found
