"""Shift transfer: a task learned in one language is tested in another, with its tokens shifted to the first.

Liu et al. (2020, section 4.3) add ``alpha * (mean of the training language - mean of the test language)`` to the hidden
states of a layer, at layer 6 of 12 of a model whose first six layers were frozen. They choose alpha for each language
on its dev set, which is not zero-shot; every result records how alpha was chosen. ``rule`` needs no labels
(:func:`isoglot.steer.alpha_by_means`). Alpha 0 is always tested: it is plain transfer, bit for bit, and the baseline of
the paired tests.

::

    found = shift_transfer(tuned, {"de": test}, means, dev={"de": dev}, choose="dev")
    found.rows[0].alpha, found.rows[0].test.scores.main, found.rows[0].p_corrected
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, get_args

from isoglot.core.artifact import read_sealed
from isoglot.core.errors import ConfigError, check_name, shown
from isoglot.core.progress import SILENT, Progress
from isoglot.core.progress import Task as Work
from isoglot.core.table import Table
from isoglot.languages.builtin import TEXT_SENTENCES, builtin_languages, builtin_text
from isoglot.represent.layer_pass import Layers, chosen_layers
from isoglot.steer.language_files import read_known
from isoglot.steer.means import LanguageMeans
from isoglot.steer.shift_choice import SHARE, alpha_by_dev, alpha_by_means
from isoglot.steer.shifted_decoding import check_alphas
from isoglot.steer.shifts import Kind, Positions, ShiftOptions, make_shift, shift
from isoglot.transfer.scoring.evaluation import Evaluation, evaluate
from isoglot.transfer.scoring.significance import PairedComparison, compare_all
from isoglot.transfer.tasks.task import Data, by_code
from isoglot.transfer.tuning.checks import check_scored
from isoglot.transfer.tuning.config import layer_numbers, trained_parameters
from isoglot.transfer.tuning.tuned_folder import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from isoglot.core.run import RunRecord
    from isoglot.transfer.tuning.tuned_encoder import Tuned

    Examples = Mapping[str, Data[Any]]
    Means = LanguageMeans | Callable[[Sequence[str], Sequence[int]], LanguageMeans]
    """Language means, or a function that learns them for languages and layers once the data have been checked."""

Choose = Literal["dev", "rule", "given"]
"""Alpha by the dev set of the test language (not zero-shot), by a rule without labels, or every given alpha."""
ChosenBy = Literal["target dev set", "nearest-mean", "given"]
GRID = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.5, 1.6, 1.8, 2.0)
"""Alphas tried on dev, in addition to 0. They include all of Table 4 of the paper."""
EXAMPLES = 400
"""Default number of built-in test examples."""


@dataclass(frozen=True)
class ShiftedTest:
    """Test of a language with a shift."""

    language: str
    layer: int
    alpha: float
    chosen_by: ChosenBy
    tried: Mapping[float, float]
    """Dev score of each alpha, if alpha was chosen on dev."""
    test: Evaluation
    comparison: PairedComparison
    """Against alpha 0, on the same sentences."""
    learned_from: bool = False
    """Whether the model was trained on the language."""

    @property
    def p_corrected(self) -> float:
        """p-value after Holm's correction over all comparisons."""
        return self.comparison.p_corrected

    @property
    def zero_shot(self) -> bool:
        """Whether no labels of the language were used, in training or to choose alpha."""
        return self.chosen_by != "target dev set" and not self.learned_from

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "layer": self.layer,
            "alpha": self.alpha,
            "chosen_by": self.chosen_by,
            "zero_shot": self.zero_shot,
            **self.test.facts(),
            **self.comparison.facts(),
            "dev": {f"{alpha:g}": round(score, 4) for alpha, score in self.tried.items()},
        }


@dataclass(frozen=True)
class ShiftOutcome:
    """Result of shift transfer.

    >>> import numpy as np
    >>> from isoglot.transfer import Evaluation
    >>> from isoglot.transfer.tasks.task import TaskScores
    >>> plain = Evaluation("de", TaskScores(50.0, {"f1": 50.0}, np.array([[1, 2]])), examples=1, counts={}, unseen={})
    >>> found = ShiftOutcome("ner", "f1", "en", {"de": plain}, rows=(), means="made up", kind="mean", positions="all")
    >>> [(row["language"], row["score"]) for row in found.table_rows()]
    [('de', 50.0)]
    """

    task: str
    """Name of the task."""
    metric: str
    """Name of the score."""
    source: str
    """The training language, which others are shifted to."""
    baselines: Mapping[str, Evaluation]
    """Tests without a shift (alpha 0)."""
    rows: tuple[ShiftedTest, ...]
    """Scores of each language, layer and alpha."""
    means: str
    """Source of the means."""
    kind: Kind
    """Kind of shift."""
    positions: Positions
    """Positions that were shifted."""

    @property
    def learned_from(self) -> tuple[str, ...]:
        """Training languages, the one that others are shifted to first."""
        return tuple(dict.fromkeys([self.source, *(row.language for row in self.rows if row.learned_from)]))

    @property
    def layers(self) -> tuple[int, ...]:
        """Layers with shifts."""
        return tuple(dict.fromkeys(row.layer for row in self.rows))

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "task": self.task,
            "metric": self.metric,
            "trained_on": self.source,
            "means": self.means,
            "kind": self.kind,
            "positions": self.positions,
            "baselines": [{"alpha": 0.0, **found.facts()} for found in self.baselines.values()],
            "shifted": [row.facts() for row in self.rows],
        }

    def table_rows(self) -> list[dict[str, Any]]:
        """A row for every language without a shift, and for every shift."""
        kept = ("language", "layer", "alpha", "chosen_by", "zero_shot", "score")
        names = (*kept, "difference", "low", "high", "p", "p_corrected")
        made = []
        for code, plain in self.baselines.items():
            score = round(plain.scores.main, 4)
            first = (code, "", 0.0, "no shift", code not in self.learned_from, score, 0.0, 0.0, 0.0, "", "")
            made.append(dict(zip(names, first, strict=True)))
            for row in (one for one in self.rows if one.language == code):
                facts = {**row.facts(), "score": round(row.test.scores.main, 4)}
                made.append({name: facts[name] for name in names})
        return made

    def table(self) -> Table:
        """Scores with and without shifts, for display."""
        head = ["language", "layer", "α", "α by", self.metric, "change", "95 % over sentences", "p", "p, Holm"]
        cells: list[list[str]] = []
        before = None
        for row in self.table_rows():
            plain = row["chosen_by"] == "no shift"
            line = ["" if row["language"] == before else row["language"], str(row["layer"]), f"{row['alpha']:.3g}"]
            line += [_WORDS.get(row["chosen_by"], row["chosen_by"]), f"{row['score']:.1f}"]
            if not plain:
                line += [f"{row['difference']:+.1f}", f"{row['low']:+.1f} – {row['high']:+.1f}"]
                line += [f"{row['p']:.4f}", f"{row['p_corrected']:.4f}"]
            cells.append([*line, *[""] * 4 * plain])
            before = row["language"]
        return Table.from_cells(head, cells, align="lrrlr")


_WORDS = {"target dev set": "its own dev (not zero-shot)", "nearest-mean": "rule, no labels"}


def shift_transfer(
    tuned: Tuned,
    test: Examples,
    means: Means,
    *,
    dev: Examples | None = None,
    choose: Choose = "dev",
    alphas: Sequence[float] = GRID,
    layers: Layers | int | None = None,
    share: float = SHARE,
    options: ShiftOptions | None = None,
    record: AbstractContextManager[RunRecord | None] | None = None,
    write: Callable[[RunRecord, ShiftOutcome], None] | None = None,
    progress: Progress = SILENT,
) -> ShiftOutcome:
    """Test languages with their tokens shifted to the training language, at one layer at a time.

    Args:
        tuned: The fine-tuned model.
        test: Test data by language; the training language, if included, is tested without a shift.
        means: Means of the fine-tuned encoder, or a function that learns them; for frozen layers also those of the
            original encoder, as in the paper.
        dev: Dev data of each test language, if alpha is chosen on dev.
        choose: How alpha is chosen.
        alphas: Alphas to try on dev, in addition to 0, or to test.
        layers: Layers of the shift. Default: the middle one, the paper's 6 of 12.
        share: Share of tokens for the rule.
        options: Kind of shift, positions that move, and whether means of other weights are accepted.
        record: Record of the run, entered once all arguments have been checked.
        write: Writes the result to the folder of the record.
        progress: Reports progress.

    Returns:
        Scores at every alpha and layer beside plain transfer, with paired tests.

    Raises:
        ConfigError: A language has no mean or no dev set, the means belong to another encoder, there is no language to
            shift, or an option is invalid.
        InputError: A test label is not in training and the task refuses it.
    """
    test, dev, options = by_code(test), by_code(dev or {}), options or ShiftOptions()
    source, depth = tuned.languages[0], tuned.encoder.depth
    targets = _check_data(tuned, test, dev, choose=choose)
    alphas = checked_alphas(alphas, choose)
    wanted = [depth // 2] if layers is None else [layers] if isinstance(layers, int) else layers
    numbers = chosen_layers(wanted, depth)
    if callable(means):
        means = means(list(dict.fromkeys([source, *test])), numbers)
    whose = _check_means(tuned, targets, means, numbers, options)
    by_rule = {
        (code, layer): alpha_by_means(means, code, source, layer, share=share).alpha
        for code, layer in (product(targets, numbers) if choose == "rule" else ())
    }
    how = _Shifting(tuned, means, options)
    tries = len(numbers) * (len(alphas) if choose == "given" else 1)
    total = sum(len(test[code]) * (1 + tries) for code in targets) + len(test.get(source, ()))
    total += sum(len(dev[code]) * (1 + len(numbers) * len(alphas)) for code in targets) if choose == "dev" else 0
    rows: list[tuple[str, int, float, ChosenBy, Mapping[float, float], Evaluation]] = []
    with record or nullcontext() as run:
        with progress.task(f"shift {tuned.task.name}", total=total, unit="examples") as work:
            baselines = {code: how.tested(data, code, 0, work, 0.0) for code, data in test.items()}
            for code in targets:
                plain = how.tested(dev[code], code, 0, work, 0.0).scores.main if choose == "dev" else math.nan
                for layer in numbers:
                    by: ChosenBy = "given"
                    chosen, tried = list(alphas), {}
                    if choose == "dev":
                        on_dev = partial(how.dev_score, dev[code], code, layer, work, plain)
                        best = alpha_by_dev(on_dev, [0.0, *alphas])
                        by, chosen, tried = "target dev set", [best.alpha], dict(sorted(best.tried.items()))
                    elif choose == "rule":
                        by, chosen = "nearest-mean", [by_rule[code, layer]]
                    for alpha in chosen:
                        found = how.tested(test[code], code, layer, work, alpha)
                        rows.append((code, layer, alpha, by, tried, found))
        paired = compare_all([(row[-1].scores.ratio_S2, baselines[row[0]].scores.ratio_S2) for row in rows])
        known = tuned.languages
        tests = tuple(ShiftedTest(*row, each, row[0] in known) for row, each in zip(rows, paired, strict=True))
        about = options.kind, options.positions
        done = ShiftOutcome(tuned.task.name, tuned.task.metric, source, baselines, tests, whose, *about)
        if run is not None and write is not None:
            write(run, done)
    return done


@dataclass(frozen=True)
class _Shifting:
    """Tests a language with a shift."""

    tuned: Tuned
    means: LanguageMeans
    options: ShiftOptions

    def tested(self, data: Data[Any], code: str, layer: int, work: Work, alpha: float) -> Evaluation:
        """Test one language; with alpha 0 the encoder is not edited."""
        tuned = self.tuned

        def edit(language: str) -> AbstractContextManager[None]:
            how: dict[str, Any] = {"kind": self.options.kind, "positions": self.options.positions}
            where = language, tuned.languages[0]
            return shift(tuned.encoder, self.means, *where, alpha=alpha, layers=layer, other_encoder="allow", **how)

        found = evaluate(tuned, tuned.task, {code: data}, edit=edit if alpha else None)[code]
        work.advance(len(data))
        return found

    def dev_score(self, data: Data[Any], code: str, layer: int, work: Work, plain: float, alpha: float) -> float:
        """Main score on dev; that without a shift is known."""
        return self.tested(data, code, layer, work, alpha).scores.main if alpha else plain


def shift_examples(
    tuned: Tuned, test: Examples, dev: Examples, *, languages: Sequence[str], count: int | None, choose: Choose
) -> tuple[Examples, Examples]:
    """The user's test and dev examples, or built-in ones of some languages or of all that the encoder knows.

    Args:
        tuned: The fine-tuned model.
        test: Test examples of the user, possibly empty.
        dev: Dev examples of the user, possibly empty.
        languages: Languages of built-in examples. Default: all.
        count: Maximum number of test examples. Default: all, or 400 built-in ones.
        choose: How alpha is chosen; built-in dev examples are only needed for ``dev``.

    Raises:
        ConfigError: There are languages beside test examples, or dev examples without these.
    """
    if test and languages:
        problem = "languages are chosen from built-in examples, and test examples are given"
        raise ConfigError(problem, "remove the languages: the test examples have their own", "conflicting-options")
    if test:
        return {code: data if count is None else data.head(count) for code, data in test.items()}, dev
    if dev:
        raise ConfigError("there are no test examples", "give them too", "missing-option")
    known = builtin_languages(tuned.encoder.vocabulary.languages)
    spaced = any("-x-" in code for code in known)
    codes = languages or list(known)
    found = {code: tuned.task.builtin(code, "test", count or EXAMPLES, spaced=spaced) for code in codes}
    wanted = [code for code in codes if code != tuned.languages[0]] if choose == "dev" else []
    return found, {code: tuned.task.builtin(code, "dev", count or EXAMPLES, spaced=spaced) for code in wanted}


def learn_means(
    tuned: Tuned,
    codes: Sequence[str],
    layers: Sequence[int],
    *,
    texts: Mapping[str, Sequence[str]] | None = None,
    builtin: int | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> LanguageMeans:
    """Learn means of a fine-tuned encoder from text.

    Args:
        tuned: The fine-tuned model.
        codes: Languages.
        layers: Layers.
        texts: Sentences by language.
        builtin: Number of built-in sentences without ``texts``; 0: the default number, 2,000.
        seed: Random seed of built-in sentences.
        progress: Reports progress.

    Raises:
        ConfigError: There is no text, or none of a language.
    """
    if texts is None and builtin is None:
        problem = "there are no means of the fine-tuned model's languages"
        raise ConfigError(problem, f"give text of {' and '.join(codes)} to learn them from, or means", "missing-data")
    texts = builtin_text(codes, builtin or TEXT_SENTENCES, seed=seed) if texts is None else texts
    for code in codes:
        if code not in texts:
            raise ConfigError(f"there is no text of {code}", "give it too", "missing-data")
    return LanguageMeans.fit(tuned.encoder, texts, layers=layers, progress=progress)


def _check_data(tuned: Tuned, test: Examples, dev: Examples, *, choose: Choose) -> list[str]:
    """Check the data of shift transfer and return the languages to shift."""
    targets = [code for code in test if code != tuned.languages[0]]
    if not targets:
        problem = "there is no language to shift"
        raise ConfigError(problem, f"test another one than {tuned.languages[0]}", "missing-data")
    for code in targets if choose == "dev" else ():
        if code not in dev:
            problem = f"there is no dev set of {code} to choose alpha by"
            raise ConfigError(problem, "give it, or use the rule", "missing-data")
    for data in (test, {code: dev[code] for code in targets} if choose == "dev" else {}):
        check_scored(tuned.encoder, data, tuned.config.max_length)
        for some in data.values():
            tuned.task.unseen_labels(some, tuned.labels, tuned.config.unseen_labels)
    return targets


def _check_means(
    tuned: Tuned, targets: Sequence[str], means: LanguageMeans, layers: Sequence[int], options: ShiftOptions
) -> str:
    """Check that every language can be shifted at every layer; returns the source of the means in words."""
    source = tuned.languages[0]
    for code in (source, *targets):
        means.count(code)  # raises for unknown languages
    allowed = options.other_encoder == "allow"
    whose = "those that were given" if allowed else _whose_means(tuned, means, layers)
    for code, layer in product(targets, layers):
        make_shift(tuned.encoder, means, code, source, layer, options=replace(options, other_encoder="allow"))
    return whose


def _whose_means(tuned: Tuned, means: LanguageMeans, layers: Sequence[int]) -> str:
    """Check that means fit a fine-tuned model at some layers, and return their source in words.

    Raises:
        ConfigError: They are of another encoder, or of the original encoder and fine-tuning has changed a layer.
    """
    lowest = lowest_tuned(tuned)
    known, origin = means.about.get("encoder_sha256"), _origin(tuned)
    if known is None or known != origin:
        means.check_encoder(tuned.encoder, remedy="learn those of the fine-tuned encoder from text")
        return "of the fine-tuned encoder"
    changed = next((layer for layer in layers if layer >= lowest), None)
    if changed is not None:
        problem = f"the means are of the encoder before fine-tuning, which has changed layer {changed}"
        remedy = f"learn those of the fine-tuned one from text{f', or shift below layer {lowest}' if lowest else ''}"
        raise ConfigError(problem, remedy, "other-encoder")
    means.check_shape(tuned.encoder)
    return "of the encoder it was tuned from, whose layers up to there stayed as they were"


def lowest_tuned(tuned: Tuned) -> int:
    """The lowest layer that fine-tuning has changed; the number of layers plus 1 if only the head was trained."""
    config, encoder = tuned.config, tuned.encoder
    if config.head_only:
        return encoder.depth + 1
    numbers = layer_numbers(encoder)
    return min(numbers[name] for name in trained_parameters(encoder, config))


def _origin(tuned: Tuned) -> str | None:
    """Hash of the encoder that a model was tuned from, if its folder records it."""
    out = tuned.epochs.out
    if out is None or not (out / IDENTITY).exists():
        return None
    form = {"data": {"encoder": str | None}}
    about = read_sealed(out / IDENTITY, form, remedy="create it again with isoglot transfer")
    found: str | None = about["data"]["encoder"]
    return found


def checked_alphas(alphas: Sequence[float], choose: Choose) -> list[float]:
    """Check alphas and return them without 0, which is always included.

    Args:
        alphas: Alphas to try or to test.
        choose: How alpha is chosen.

    Raises:
        ConfigError: An alpha is not finite or given twice, or none is left and the rule does not choose one.
    """
    check_name("choice of alpha", choose, get_args(Choose))
    found = [alpha for alpha in check_alphas(alphas) if alpha] if len(alphas) else []
    if not found and choose != "rule":
        raise ConfigError("no alpha but 0", "give some, such as 0.5, 1 and 2", "invalid-value")
    return found


def parse_alphas(alpha: str, grid: str | None = None) -> tuple[Choose, Sequence[float]]:
    """Return how alpha is chosen, and the alphas to try.

    >>> parse_alphas("0.5,1")
    ('given', [0.5, 1.0])

    Args:
        alpha: ``dev``, ``rule`` or numbers separated by commas.
        grid: Numbers to try on dev. Default: :data:`GRID`.

    Raises:
        ConfigError: There is a grid without ``dev``, a number is malformed, or as for :func:`checked_alphas`.
    """
    if grid is not None and alpha != "dev":
        raise ConfigError("--grid is for --alpha dev", "leave it out", "conflicting-options")
    if alpha == "rule":
        return "rule", GRID
    if alpha == "dev" and grid is None:
        return "dev", GRID
    choose: Choose = "dev" if alpha == "dev" else "given"
    option, text = ("--grid", grid or "") if choose == "dev" else ("--alpha", alpha)
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        remedy = f"write {'dev, rule or ' * (choose == 'given')}numbers such as 0.5,1,2"
        raise ConfigError(f"{option} {shown(text)} is not a list of numbers", remedy, "malformed-option") from None
    return choose, checked_alphas(numbers, choose)


def shift_means(
    tuned: Tuned,
    folder: Path | None = None,
    texts: Mapping[str, Sequence[str]] | None = None,
    builtin: int | None = None,
    *,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Means:
    """Read the means of a shift from a folder, or return a function that learns them as :func:`learn_means` does."""
    if folder is not None:
        return read_known(folder)[0]
    return partial(learn_means, tuned, texts=texts, builtin=builtin, seed=seed, progress=progress)
