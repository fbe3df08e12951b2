"""Fix a model: encode translations, choose a fix, write the model with it, and check what was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from isoglot.core.errors import InputError, check_name
from isoglot.core.progress import SILENT
from isoglot.core.rng import random_stream
from isoglot.diagnose.repair.choice import FixConfig, choose
from isoglot.diagnose.repair.cross_validation import Candidate, ParallelVectors, Trial
from isoglot.diagnose.repair.folder import POOLINGS, largest_difference, write_fixed
from isoglot.diagnose.repair.treatments import TREATMENTS
from isoglot.diagnose.retrieval import fold_numbers
from isoglot.diagnose.sentence_vectors import distinct_rows
from isoglot.diagnose.tokenizer_check import token_facts
from isoglot.model import load_encoder
from isoglot.represent import extract
from isoglot.represent.extraction import sentence_pool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np

    from isoglot.core.progress import Progress
    from isoglot.diagnose.repair.result import Choice
    from isoglot.represent.extraction import Pool
    from isoglot.retrieve.parallel_sets import ParallelSet
    from isoglot.vocab import Vocabulary

UNREADABLE = 0.5
"""Share of unknown tokens from which on a language is refused."""
_CHECKED = 100  # sentences of each language that are encoded again with the written model


@dataclass(frozen=True, kw_only=True)
class FixedModel:
    """A fix that was chosen, and the model that was written with it.

    Attributes:
        model: Name of the model.
        pool: How a sentence becomes a vector.
        sentences: Number of sentences of all sets.
        choice: The fix, with all that was tried.
        written: The fix in the written model; None if none was written.
        difference: Largest difference between the vectors of the written model and the expected ones.
        remarks: What was left out.
    """

    model: str
    pool: str
    sentences: int
    choice: Choice
    written: Candidate | None
    difference: float | None
    remarks: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The result for JSON."""
        about = {"model": self.model, "pool": self.pool, "sentences": self.sentences, **self.choice.as_dict()}
        written = None if self.written is None else self.written._asdict()
        return {**about, "written": written, "difference": self.difference, "remarks": list(self.remarks)}


def fix(
    source: str | Path,
    sets: Sequence[ParallelSet],
    *,
    pool: Pool | None = None,
    config: FixConfig | None = None,
    out: Path | None = None,
    device: str = "auto",
    progress: Progress = SILENT,
) -> FixedModel:
    """Choose a fix for the sentence vectors of a model, and write the model with it.

    A model is written if the fix is surely better than the model as it is, or if the config names it. If the fix needs
    the language of a text, the model has a router by language, and falls back to the best fix that does not.

    Args:
        source: Folder or name of a model.
        sets: Translated sentences.
        pool: ``mean-all``, ``first``, ``max`` or ``last``. Default: the modules of a sentence-transformers model, else
            ``mean-all``.
        config: Settings.
        out: New or empty folder for the model. Default: nothing is written.
        device: Where to encode.
        progress: Reports progress.

    Raises:
        ConfigError: There is only one language, or the model cannot be written.
        InputError: There are too few sentences, or a language that the tokenizer cannot spell.
    """
    config = config or FixConfig()
    encoder = load_encoder(source, device=device)
    allowed = tuple(POOLINGS) if encoder.sentence_head is None else ("model",)
    own = cast("Pool", allowed[0] if pool is None else sentence_pool(encoder, pool))
    check_name("pooling of a fixed model", own, allowed)
    layer, given = encoder.depth, [distinct_rows(one) for one in sets]
    languages = list(dict.fromkeys(code for one in given for code in one.sentences))
    check_spelling(encoder.vocabulary, given)

    def encoded(texts: Sequence[str], code: str) -> dict[int, np.ndarray]:
        found = extract(encoder, texts, layers=[-1], pool=own, language=code, progress=progress)
        return {layer: found[layer]}

    sides = []
    for number, one in enumerate(given):
        rows_M = random_stream(config.seed, "copies", str(number)).permutation(len(one))[: config.copies]
        short = {code: [shortened(texts[row]) for row in rows_M] for code, texts in one.sentences.items()}
        sides.append(
            ParallelVectors(
                name=one.name,
                vectors={code: encoded(texts, code) for code, texts in one.sentences.items()},
                folds_N=fold_numbers(len(one), config.folds, seed=config.seed),
                copies={code: (rows_M, encoded(texts, code)) for code, texts in short.items() if texts},
            )
        )
    pivot = config.pivot or ("en" if "en" in languages else languages[0])
    trial = Trial(sets=sides, pivot=pivot, with_pivot=config.pairs == "pivot")
    choice = choose(trial, config, progress=progress)
    written, difference = None, None
    if out is not None and (choice.recommended or config.method != "auto"):
        written, maps = choice.best, trial.fit(choice.best)
        general = maps[pivot] if choice.fallback is None else trial.fit(choice.fallback)[pivot]
        write_fixed(source, general, out, by_language=maps if choice.fallback else None, pool=own)
        texts = {code: own[:_CHECKED] for code, own in given[0].sentences.items()}
        rows = {code: each[layer][:_CHECKED] for code, each in sides[0].vectors.items()}
        expected = {code: maps[code](rows[code]) for code in texts}
        if choice.fallback:  # a text of unknown language
            texts["und"], expected["und"] = texts[pivot], general(rows[pivot])
        difference = largest_difference(out, texts, expected)
    return FixedModel(
        model=str(source),
        pool=own,
        sentences=sum(map(len, given)),
        choice=choice,
        written=written,
        difference=difference,
        remarks=tuple(f"{said}." for one in given for said in one.remarks),
    )


def check_spelling(vocabulary: Vocabulary, sets: Sequence[ParallelSet]) -> None:
    """Check that the tokenizer can spell every language.

    Raises:
        InputError: Half of the tokens of a language or more are unknown, so that no fix of vectors can help.
    """
    for one in sets:
        for code, texts in one.sentences.items():
            rate = token_facts(vocabulary, texts[:_CHECKED], code).unknown_rate
            if rate >= UNREADABLE:
                raise InputError(
                    f"the tokenizer does not know {100 * rate:.0f} % of the {code} tokens, so no fix can help",
                    f"leave {code} out, or choose a model whose vocabulary has its script",
                    "no-match",
                    file=one.name,
                )


def shortened(text: str) -> str:
    """The first three quarters of a text.

    >>> shortened("The cat sleeps here.")
    'The cat sleeps '
    """
    return text[: max(3 * len(text) // 4, 1)]


def title(candidate: Candidate) -> str:
    """A fix in words."""
    return TREATMENTS[candidate.name].title
