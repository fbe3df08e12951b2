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
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.artifact import read_sealed
from isoglot.core.errors import ConfigError, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.represent.layer_pass import chosen_layers
from isoglot.retrieve.simultaneous_intervals import holm
from isoglot.steer.shift_choice import SHARE, alpha_by_dev, alpha_by_means
from isoglot.steer.shifts import ShiftOptions, make_shift, shift
from isoglot.transfer.scoring.evaluation import evaluate
from isoglot.transfer.scoring.significance import PairedComparison, compare
from isoglot.transfer.tuning.checks import check_scored
from isoglot.transfer.tuning.tunable import layer_numbers, tunable
from isoglot.transfer.tuning.tuned_folder import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoglot.core.progress import Task as Work
    from isoglot.represent.layer_pass import Layers
    from isoglot.steer.means import LanguageMeans
    from isoglot.steer.shifts import Kind, OtherEncoder, Positions
    from isoglot.transfer.scoring.evaluation import Evaluation
    from isoglot.transfer.tasks.examples import Data
    from isoglot.transfer.tuning.tuned_encoder import Tuned

Choose = Literal["dev", "rule", "given"]
"""Alpha by the dev set of the test language (not zero-shot), by a rule without labels, or every given alpha."""
ChosenBy = Literal["target dev set", "nearest-mean", "given"]
GRID = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.5, 1.6, 1.8, 2.0)
"""Alphas tried on dev, in addition to 0. They include all of Table 4 of the paper."""


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
    p_corrected: float = math.nan
    """p-value after Holm's correction over all comparisons."""
    learned_from: bool = False
    """Whether the model was trained on the language."""

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
            "p_corrected": self.p_corrected,
            "dev": {f"{alpha:g}": round(score, 4) for alpha, score in self.tried.items()},
        }


@dataclass(frozen=True)
class ShiftOutcome:
    """Result of shift transfer."""

    task: str
    metric: str
    source: str
    """The training language, which others are shifted to."""
    baselines: Mapping[str, Evaluation]
    """Tests without a shift (alpha 0)."""
    rows: tuple[ShiftedTest, ...]
    means: str
    """Source of the means."""
    kind: Kind
    positions: Positions

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


def shift_transfer(
    tuned: Tuned,
    test: Mapping[str, Data[Any]],
    means: LanguageMeans,
    *,
    dev: Mapping[str, Data[Any]] | None = None,
    choose: Choose = "dev",
    alphas: Sequence[float] = GRID,
    layers: Layers | int | None = None,
    share: float = SHARE,
    kind: Kind = "mean",
    positions: Positions = "all",
    other_encoder: OtherEncoder = "refuse",
    progress: Progress = SILENT,
) -> ShiftOutcome:
    """Test languages with their tokens shifted to the training language, at one layer at a time.

    Args:
        tuned: The fine-tuned model.
        test: Test data by language; the training language, if included, is tested without a shift.
        means: Means of the fine-tuned encoder; for frozen layers also those of the original encoder, as in the paper.
        dev: Dev data of each test language, if alpha is chosen on dev.
        choose: How alpha is chosen.
        alphas: Alphas to try on dev, in addition to 0, or to test.
        layers: Layers of the shift. Default: the middle one, the paper's 6 of 12.
        share: Share of tokens for the rule.
        kind: Kind of shift.
        positions: Positions that move.
        other_encoder: Whether to accept means of other weights.
        progress: Reports progress.

    Raises:
        ConfigError: A language has no mean or no dev set, the means belong to another encoder, there is no language to
            shift, or an option is invalid.
        InputError: A test label is not in training and the task refuses it.
    """
    test, dev = ({language_code(code): data for code, data in some.items()} for some in (test, dev or {}))
    source = tuned.languages[0]
    targets = check_shift(tuned, test, dev, choose=choose)
    alphas = checked_alphas(alphas, choose)
    numbers = shifted_layers(tuned, layers)
    whose = check_means(tuned, targets, means, numbers, choose=choose, share=share, kind=kind, other=other_encoder)
    how = _Shifting(tuned, source, means, kind, positions)
    tries = len(numbers) * (len(alphas) if choose == "given" else 1)
    total = sum(len(test[code]) * (1 + tries) for code in targets) + len(test.get(source, ()))
    total += sum(len(dev[code]) * (1 + len(numbers) * len(alphas)) for code in targets) if choose == "dev" else 0
    rows = []
    with progress.task(f"shift {tuned.task.name}", total=total, unit="examples") as work:
        baselines = {code: how.tested(data, code, 0, 0.0, work) for code, data in test.items()}
        for code in targets:
            plain = how.tested(dev[code], code, 0, 0.0, work).scores.main if choose == "dev" else math.nan
            for layer in numbers:
                tried: Mapping[float, float] = {}
                by: ChosenBy = "given"
                chosen = list(alphas)
                if choose == "dev":

                    def on_dev(alpha: float, code: str = code, layer: int = layer, plain: float = plain) -> float:
                        return how.tested(dev[code], code, layer, alpha, work).scores.main if alpha else plain

                    best = alpha_by_dev(on_dev, [0.0, *alphas])
                    by, chosen, tried = "target dev set", [best.alpha], dict(sorted(best.tried.items()))
                elif choose == "rule":
                    by, chosen = "nearest-mean", [alpha_by_means(means, code, source, layer, share=share).alpha]
                for alpha in chosen:
                    found = how.tested(test[code], code, layer, alpha, work)
                    paired = compare(found.scores.ratio_S2, baselines[code].scores.ratio_S2)
                    learned = code in tuned.languages
                    rows.append(ShiftedTest(code, layer, alpha, by, tried, found, paired, learned_from=learned))
    corrected = holm([row.comparison.p for row in rows]).tolist()
    rows = [replace(row, p_corrected=p) for row, p in zip(rows, corrected, strict=True)]
    return ShiftOutcome(
        tuned.task.name, tuned.task.metric, source, baselines, tuple(rows), whose, kind=kind, positions=positions
    )


@dataclass(frozen=True)
class _Shifting:
    """Tests a language with a shift."""

    tuned: Tuned
    source: str
    means: LanguageMeans
    kind: Kind
    positions: Positions

    def tested(self, data: Data[Any], code: str, layer: int, alpha: float, work: Work) -> Evaluation:
        """Test one language; alpha 0 installs no edit."""
        tuned = self.tuned
        block = None
        if alpha:
            block = lambda language: shift(  # noqa: E731 - a block for each time it is entered
                tuned.encoder,
                self.means,
                language,
                self.source,
                alpha=alpha,
                layers=layer,
                kind=self.kind,
                positions=self.positions,
                other_encoder="allow",  # already checked
            )
        found = evaluate(tuned, tuned.task, {code: data}, edit=block)[code]
        work.advance(len(data))
        return found


def check_shift(
    tuned: Tuned, test: Mapping[str, Data[Any]], dev: Mapping[str, Data[Any]], *, choose: Choose
) -> list[str]:
    """Check the data of shift transfer and return the languages to shift; means are not checked.

    Args:
        tuned: The fine-tuned model.
        test: Test data by canonical language code.
        dev: Dev data by canonical language code.
        choose: How alpha is chosen.

    Raises:
        ConfigError: There is no language to shift, or one has no dev set or is unknown to the encoder.
        InputError: There are no examples, or a label is not in training and the task refuses it.
    """
    targets = [code for code in test if code != tuned.languages[0]]
    if not targets:
        raise ConfigError(
            "there is no language to shift",
            remedy=f"test another one than {tuned.languages[0]}",
            code="config.missing-data",
        )
    for code in targets if choose == "dev" else ():
        if code not in dev:
            raise ConfigError(
                f"there is no dev set of {code} to choose alpha by",
                remedy="give it, or use the rule",
                code="config.missing-data",
            )
    for data in (test, {code: dev[code] for code in targets} if choose == "dev" else {}):
        check_scored(tuned.encoder, data, tuned.config.max_length)
        for some in data.values():
            tuned.task.unseen_labels(some, tuned.labels, tuned.config.unseen_labels)
    return targets


def shifted_layers(tuned: Tuned, layers: Layers | int | None) -> tuple[int, ...]:
    """Where to shift, from 0; half-way up unless told, as the paper's 6 of 12.

    Raises:
        ConfigError: There is no such layer, it is named twice, or none is.
    """
    depth = tuned.encoder.depth
    return chosen_layers([depth // 2] if layers is None else [layers] if isinstance(layers, int) else layers, depth)


def check_means(
    tuned: Tuned,
    targets: Sequence[str],
    means: LanguageMeans,
    layers: Sequence[int],
    *,
    choose: Choose,
    share: float = SHARE,
    kind: Kind = "mean",
    other: OtherEncoder = "refuse",
) -> str:
    """Whose the means are, in words, if every language can be shifted by them at every layer; nothing is encoded.

    Args:
        tuned: What was learned.
        targets: The languages to shift.
        means: As :func:`shift_transfer` takes them; this and the rest.
        layers: Where.
        choose: How an alpha is found.
        share: The rule's.
        kind: Kind of shift.
        other: What to do with means of other weights.

    Raises:
        ConfigError: A language or a layer has none, they are of another encoder, or the rule finds no alpha.
    """
    source = tuned.languages[0]
    for code in (source, *targets):
        means.count(code)  # refused by name
    whose = "those that were given" if other == "allow" else whose_means(tuned, means, layers)
    options = ShiftOptions(kind=kind, other_encoder="allow")
    for code, layer in product(targets, layers):
        make_shift(tuned.encoder, means, code, source, layer, options=options)
        if choose == "rule":
            alpha_by_means(means, code, source, layer, share=share)
    return whose


def whose_means(tuned: Tuned, means: LanguageMeans, layers: Sequence[int]) -> str:
    """Whether means fit a fine-tuned model at some layers, and whose they are, in words.

    Raises:
        ConfigError: They are of another encoder, or of the one it was tuned from and a layer has changed since.
    """
    lowest = lowest_tuned(tuned)
    known, origin = means.about.get("encoder_sha256"), _origin(tuned)
    if known is not None and known == origin and all(layer < lowest for layer in layers):
        means.check_shape(tuned.encoder)
        return "of the encoder it was tuned from, whose layers up to there stayed as they were"
    if known is not None and known == origin:
        changed = next(layer for layer in layers if layer >= lowest)
        raise ConfigError(
            f"the means are of the encoder before fine-tuning, which has changed layer {changed}",
            remedy=f"learn those of the fine-tuned one from text{f', or shift below layer {lowest}' if lowest else ''}",
            code="config.other-encoder",
        )
    means.check_encoder(tuned.encoder, remedy="learn those of the fine-tuned encoder from text")
    return "of the fine-tuned encoder"


def lowest_tuned(tuned: Tuned) -> int:
    """The lowest layer that fine-tuning has changed; one more than there are where only the head has learned."""
    config, encoder = tuned.config, tuned.encoder
    if config.head_only:
        return encoder.depth + 1
    numbers = layer_numbers(encoder)
    return min(numbers[name] for name in tunable(encoder, config.tune, config.freeze, config.frozen))


def _origin(tuned: Tuned) -> str | None:
    """The hash of the encoder that a model was tuned from: its own where only the head has learned."""
    out = tuned.epochs.out
    if out is None or not (out / IDENTITY).exists():
        return None
    form = {"data": {"encoder": str | None}}
    about = read_sealed(out / IDENTITY, form, remedy="make it again with isoglot transfer")
    found: str | None = about["data"]["encoder"]
    return found


def checked_alphas(alphas: Sequence[float], choose: Choose) -> list[float]:
    """The alphas but 0, which is always there.

    Args:
        alphas: Those to try or to test.
        choose: How one is found.

    Raises:
        ConfigError: One is not finite or there twice, or none is left and the rule does not find one.
    """
    if choose not in ("dev", "rule", "given"):
        raise ConfigError(f"choose {shown(choose)}", remedy="choose dev, rule or given", code="config.unknown-name")
    found = [float(alpha) for alpha in alphas]
    for alpha in found:
        if not math.isfinite(alpha) or found.count(alpha) > 1:
            problem = f"alpha {alpha:g} is there twice" if math.isfinite(alpha) else f"alpha = {alpha}"
            raise ConfigError(
                problem, remedy="give numbers such as 0.5, 1 and 2, each once", code="config.invalid-value"
            )
    found = [alpha for alpha in found if alpha]
    if not found and choose != "rule":
        raise ConfigError("no alpha but 0", remedy="give some, such as 0.5, 1 and 2", code="config.invalid-value")
    return found
