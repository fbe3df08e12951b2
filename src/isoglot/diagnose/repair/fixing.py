"""Fix a model: encode translations, choose a fix, write the model with it, and check what was written."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.errors import ConfigError, InputError, MissingPartError, check_name, shown
from isoglot.core.files import write_text
from isoglot.core.progress import SILENT
from isoglot.core.rng import random_stream
from isoglot.diagnose.repair.choice import FixConfig, choose
from isoglot.diagnose.repair.cross_validation import QUICK, Candidate, ParallelVectors, Trial, best_layers
from isoglot.diagnose.repair.folder import (
    fixed_pool,
    hf_folder,
    largest_difference,
    write_first_layers,
    write_fixed,
)
from isoglot.diagnose.repair.onnx_model import onnx_difference, write_onnx
from isoglot.diagnose.repair.own_task import task_gain
from isoglot.diagnose.repair.treatments import TREATMENTS, unit_rows
from isoglot.diagnose.retrieval import fold_numbers
from isoglot.diagnose.sentence_vectors import distinct_rows
from isoglot.diagnose.tokenizer_check import unreadable
from isoglot.model import load_encoder
from isoglot.represent import extract
from isoglot.retrieve.sentences import OTHER_SENTENCES
from isoglot.text.formats.plain import first_sentences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.core.progress import Progress
    from isoglot.diagnose.repair.own_task import OwnTask, TaskGain
    from isoglot.diagnose.repair.result import Choice
    from isoglot.diagnose.repair.treatments import Affine, Maps
    from isoglot.model import EncoderLike
    from isoglot.represent.extraction import Pool
    from isoglot.retrieve.parallel_sets import ParallelSet
    from isoglot.vocab import Vocabulary

_CHECKED = 100  # sentences of each language that are encoded again with the written model
_COMPARED = 8  # sentences that tell whether a hidden state is what a model of fewer layers gives


@dataclass(frozen=True, kw_only=True)
class FixedModel:
    """A fix that was chosen, and the model that was written with it.

    Attributes:
        model: Name of the model.
        pool: How a sentence becomes a vector.
        sentences: Number of sentences of all sets.
        choice: The fix, with all that was tried.
        tasks: The user's own tasks before and after.
        written: The fix in the written model; None if none was written.
        difference: Largest difference between the vectors of the written model and the expected ones.
        onnx_difference: The same for its ONNX graph.
        remarks: What was left out.
    """

    model: str
    pool: str
    sentences: int
    choice: Choice
    tasks: tuple[TaskGain, ...] = ()
    written: Candidate | None = None
    difference: float | None = None
    onnx_difference: float | None = None
    remarks: tuple[str, ...] = ()

    @property
    def is_recommended(self) -> bool:
        """Whether the fix is surely better, and surely worse on none of the user's own tasks."""
        return self.choice.recommended and not any(task.is_worse for task in self.tasks)

    def as_dict(self) -> dict[str, Any]:
        """The result for JSON."""
        about = {"model": self.model, "pool": self.pool, "sentences": self.sentences, **self.choice.as_dict()}
        about |= {"tasks": [asdict(task) for task in self.tasks]}
        written = None if self.written is None else self.written._asdict()
        about |= {"written": written, "difference": self.difference, "onnx_difference": self.onnx_difference}
        return {**about, "remarks": list(self.remarks)}


class _LayerVectors:
    """Vectors of texts in the layers that are tried, each as the written model will compute it.

    Where a model without its later layers gives the hidden states of the whole one, as without a final norm, one pass
    of the whole model gives all layers.
    """

    def __init__(self, encoder: EncoderLike, pool: Pool, progress: Progress) -> None:
        self.encoder, self.pool, self.progress = encoder, pool, progress
        self.direct: list[int] = [encoder.depth]
        self.shorter: dict[int, EncoderLike] = {}

    def add(self, layer: int, shorter: EncoderLike, texts: Sequence[str], code: str) -> None:
        """Add a layer, with the model that ends there; some texts show whether the whole model can stand for it."""
        whole = extract(self.encoder, texts, layers=[layer], pool=self.pool, language=code)[layer]
        part = extract(shorter, texts, layers=[-1], pool=self.pool, language=code)[shorter.depth]
        if np.allclose(whole, part, rtol=0, atol=1e-5):
            self.direct.append(layer)
        else:
            self.shorter[layer] = shorter

    def __call__(self, texts: Sequence[str], code: str | None) -> dict[int, np.ndarray]:
        """Vectors of texts by layer."""
        found = extract(
            self.encoder, texts, layers=sorted(self.direct), pool=self.pool, language=code, progress=self.progress
        )
        rows = {layer: found[layer] for layer in self.direct}
        for layer, encoder in self.shorter.items():
            own = extract(encoder, texts, layers=[-1], pool=self.pool, language=code, progress=self.progress)
            rows[layer] = own[encoder.depth]
        return rows


def fix(
    source: str | Path,
    sets: Sequence[ParallelSet],
    *,
    pool: Pool | None = None,
    config: FixConfig | None = None,
    means_from: Mapping[str, Sequence[Path]] | None = None,
    tasks: Sequence[OwnTask] = (),
    out: Path | None = None,
    device: str = "auto",
    progress: Progress = SILENT,
) -> FixedModel:
    """Choose a fix for the sentence vectors of a model, and write the model with it.

    A model is written if the fix is surely better than the model as it is and surely worse on none of the tasks, or if
    the config names it. If the fix needs the language of a text, the model has a router by language, and falls back to
    the best fix that does not.

    Args:
        source: Folder or name of a model.
        sets: Translated sentences.
        pool: ``mean-all``, ``first``, ``max``, ``last`` or ``weighted``. Default: the modules of a
            sentence-transformers model, else ``mean-all``.
        config: Settings.
        means_from: Other text by language, to fit on what needs no translations: means and covariances. Default: the
            sentences of other folds.
        tasks: Own queries and documents, to compare before and after; they take no part in the choice.
        out: New or empty folder for the model. Default: nothing is written.
        device: Where to encode.
        progress: Reports progress.

    Raises:
        ConfigError: There is only one language, or the model cannot be written.
        InputError: There are too few sentences, or a language that the tokenizer cannot spell.
    """
    config = config or FixConfig()
    encoder = load_encoder(source, device=device)
    own = fixed_pool(encoder, pool)
    given = [distinct_rows(one) for one in sets]
    languages = list(dict.fromkeys(code for one in given for code in one.sentences))
    _check_other_text(means_from or {}, languages)
    check_spelling(encoder.vocabulary, given)
    pivot = config.pivot or ("en" if "en" in languages else languages[0])
    remarks = [f"{said}." for one in given for said in one.remarks]
    with TemporaryDirectory() as scratch:
        encoded = _LayerVectors(encoder, own, progress)
        remarks += _add_layers(encoded, source, given, config, Path(scratch), device)
        trial = _encoded_trial(encoded, given, means_from or {}, pivot, config)
        choice = choose(trial, config, progress=progress)
        maps, general = _fitted(trial, choice)
        gains = tuple(_task_gain(encoded, task, choice, maps, general, config) for task in tasks)
    found = FixedModel(
        model=str(source),
        pool=own,
        sentences=sum(map(len, given)),
        choice=choice,
        tasks=gains,
        remarks=tuple(remarks),
    )
    if out is None or not (found.is_recommended or config.method != "auto"):
        return found
    return _written(found, source, trial, given[0], out, config)


def _check_other_text(means_from: Mapping[str, Sequence[Path]], languages: Sequence[str]) -> None:
    """Check that other text is of languages that are searched for."""
    for code in means_from:
        check_name("language of other text", code, languages)


def _add_layers(
    encoded: _LayerVectors,
    source: str | Path,
    given: Sequence[ParallelSet],
    config: FixConfig,
    scratch: Path,
    device: str,
) -> list[str]:
    """Add the layers before the last that look best; returns a remark if layers cannot be left out.

    Modules of a sentence-transformers model were trained on its last layer, so no other is tried.
    """
    encoder, first = encoded.encoder, given[0]
    if not config.layers_tried or encoder.depth < 2 or encoder.sentence_head is not None:
        return []
    layers = list(range(1, encoder.depth + 1))
    vectors = {
        code: extract(
            encoder, texts[:QUICK], layers=layers, pool=encoded.pool, language=code, progress=encoded.progress
        )
        for code, texts in first.sentences.items()
    }
    rows = {code: {layer: each[layer] for layer in layers} for code, each in vectors.items()}
    folds_N = fold_numbers(min(len(first), QUICK), 2, seed=config.seed)
    trial = Trial(sets=[ParallelVectors(name=first.name, vectors=rows, folds_N=folds_N)], pivot=next(iter(rows)))
    code, texts = next(iter(first.sentences.items()))
    try:
        base = hf_folder(source, scratch / "whole")
        for layer in best_layers(trial, layers, config.layers_tried):
            if layer < encoder.depth:
                write_first_layers(base, layer, scratch / str(layer))
                shorter = load_encoder(scratch / str(layer), device=device)
                encoded.add(layer, shorter, texts[:_COMPARED], code)
    except (ConfigError, MissingPartError) as error:
        return [f"Only the last layer is tried: {error.problem}."]
    return []


def _encoded_trial(
    encoded: _LayerVectors,
    given: Sequence[ParallelSet],
    means_from: Mapping[str, Sequence[Path]],
    pivot: str,
    config: FixConfig,
) -> Trial:
    """Encode all sentences, shortened copies of some, and other text."""
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
    texts = first_sentences(means_from, OTHER_SENTENCES)
    others = {code: encoded(own, code) for code, own in texts.items()}
    return Trial(sets=sides, pivot=pivot, others=others, with_pivot=config.pairs == "pivot")


def _fitted(trial: Trial, choice: Choice) -> tuple[Maps, Affine]:
    """The chosen fix, fitted on all sentences: by language, and for texts of unknown language."""
    maps = trial.fit(choice.best)
    return maps, maps[trial.pivot] if choice.fallback is None else trial.fit(choice.fallback)[trial.pivot]


def _task_gain(
    encoded: _LayerVectors, task: OwnTask, choice: Choice, maps: Maps, general: Affine, config: FixConfig
) -> TaskGain:
    """Figures of an own task before and after; texts of unknown language get the fallback."""
    before, after = [], []
    for texts, code in zip((task.judged.queries, task.judged.documents), task.languages, strict=True):
        rows = encoded(texts, code)
        before.append(unit_rows(rows[choice.before.layer]))
        after.append(unit_rows(maps.get(code or "", general)(rows[choice.best.layer])))
    return task_gain(task, (before[0], before[1]), (after[0], after[1]), resamples=config.resamples)


def _written(
    found: FixedModel, source: str | Path, trial: Trial, given: ParallelSet, out: Path, config: FixConfig
) -> FixedModel:
    """Write the model, and compare what it gives when loaded with what was measured."""
    choice = found.choice
    maps, general = _fitted(trial, choice)
    by_language = maps if choice.fallback else None
    write_fixed(source, general, out, by_language=by_language, pool=found.pool, layers=choice.best.layer)
    texts = {code: own[:_CHECKED] for code, own in given.sentences.items()}
    rows = {code: trial.sets[0].vectors[code][choice.best.layer][:_CHECKED] for code in texts}
    expected = {code: maps[code](rows[code]) for code in texts}
    if choice.fallback:  # a text of unknown language
        texts["und"], expected["und"] = texts[trial.pivot], general(rows[trial.pivot])
    onnx = None
    if config.onnx:
        write_onnx(out)
        onnx = onnx_difference(out, texts, {code: unit_rows(each) for code, each in expected.items()})
    difference = largest_difference(out, texts, expected)
    found = replace(found, written=choice.best, difference=difference, onnx_difference=onnx)
    _add_to_card(found, out / "README.md")
    return found


def _add_to_card(found: FixedModel, path: Path) -> None:
    """Say in the model card what was changed."""
    card = path.read_text(encoding="utf-8") if path.exists() else ""
    best, gain = found.choice.best, found.choice.gain
    by = "sentences of " + ", ".join(each.code for each in found.choice.languages)
    lines = [
        "## Fixed with isoglot",
        "",
        f"This model is {shown(found.model)} with a fix of its sentence vectors: {in_words(found, best)}.",
        f"On {found.sentences:,} {by}, it finds {100 * gain.value:.1f} points more translations (P@1; 95 % interval",
        f"{100 * gain.low:.1f} to {100 * gain.high:.1f}). `fix.json` has all numbers.",
    ]
    if found.choice.fallback:
        lines.append('Give the language of the texts: `encode(texts, task="de")`; without it, a weaker fix is used.')
    write_text(path, "\n".join([*([card.rstrip(), ""] if card else []), *lines, ""]))


def check_spelling(vocabulary: Vocabulary, sets: Sequence[ParallelSet]) -> None:
    """Check that the tokenizer can spell every language.

    Raises:
        InputError: Half of the tokens of a language or more are unknown, so that no fix of vectors can help.
    """
    for one in sets:
        for code, rate in unreadable(vocabulary, one.sentences):
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


def in_words(found: FixedModel, candidate: Candidate) -> str:
    """A fix in words, with its layer unless it is the model's last.

    The first letter is a small one, as in a table.
    """
    title = TREATMENTS[candidate.name].title
    last = found.choice.before.layer
    return title if candidate.layer == last else f"layer {candidate.layer} of {last}, {title}"
