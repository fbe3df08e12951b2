"""Paired tests between the arms of a study, over seeds and test items; and arms that are too young to compare.

An arm and the baseline are compared seed by seed: the encoders of one seed have read the same text in the same order.
The difference is the mean over seeds. Its variance has two parts: that over seeds (with less than two, none), and that
over test items, from the bootstrap replicates that both numbers have for the same items. What the choice of items adds
to the spread over seeds is taken off the first part, so that it does not count twice. The test is Student's t with one
degree of freedom less than there are seeds; p-values are corrected over the whole table by Holm's method.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import inf, isnan, nan, sqrt
from typing import TYPE_CHECKING, Any

from isoglot.core.distributions import t_quantile, t_tail
from isoglot.core.progress import counted
from isoglot.core.table import Column, Table
from isoglot.study.claims.statistics import UNLEARNED
from isoglot.study.numbers import LEVEL, Number, Numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    from isoglot.study.study import Study

TASKS = {"nli": "NLI, %", "ner": "NER, F1", "parsing": "parsing, LAS"}
FLOOR_MARGIN = 6.0
"""Points above its floor from which an arm has learned something."""
FALLING = 0.3
"""Share by which perplexity falls over the second half of training, above which an arm is still young."""


@dataclass(frozen=True)
class ArmDifference:
    """An arm minus the baseline, by one measure.

    Attributes:
        pair: Languages.
        arm: The arm.
        baseline: What it is compared with.
        measure: What was measured, in words.
        value: The mean difference over seeds.
        half: Half of its 95 % interval; NaN where there are neither seeds nor test items.
        p: Two-sided p-value, not corrected; NaN likewise.
        corrected: The p-value after Holm's correction over the table.
        seeds: Seeds that both have.
    """

    pair: str
    arm: str
    baseline: str
    measure: str
    value: float
    half: float
    p: float
    corrected: float
    seeds: int

    @property
    def verdict(self) -> str:
        """``higher``, ``lower`` or ``undecided``, at 95 %."""
        if isnan(self.corrected) or self.corrected >= 1 - LEVEL:
            return "undecided"
        return "higher" if self.value > 0 else "lower"


def paired_test(
    ones: Sequence[float], others: Sequence[float], draws_SR: np.ndarray | None = None
) -> tuple[float, float, float]:
    """Mean difference, half of its 95 % interval, and two-sided p-value.

    Without test items it is the paired t-test.

    >>> value, half, p = paired_test([3.0, 5.0, 4.0], [2.0, 3.0, 1.0])
    >>> round(value, 3), round(p, 4)
    (2.0, 0.0742)

    Args:
        ones: A score of each seed.
        others: The other arm's, of the same seeds.
        draws_SR: The differences in resamples of the test items, seed by seed; None: there are no test items.
    """
    import numpy as np

    differences = np.asarray(ones, float) - np.asarray(others, float)
    count, value = len(differences), float(differences.mean())
    over_seeds = float(differences.var(ddof=1)) if count > 1 else 0.0
    over_items = 0.0
    if draws_SR is not None:
        over_items = float(draws_SR.mean(axis=0).var())
        if count > 1:
            within = float((draws_SR - draws_SR.mean(axis=0)).var(axis=1).sum()) / (count - 1)
            over_seeds = max(0.0, over_seeds - within)
    error = sqrt(over_seeds / count + over_items)
    if count < 2 and draws_SR is None:
        return value, nan, nan
    freedom = count - 1 if count > 1 else inf
    if not error:
        return value, 0.0, 0.0 if value else 1.0
    return value, t_quantile((1 + LEVEL) / 2, freedom) * error, min(1.0, 2 * t_tail(abs(value) / error, freedom))


def arm_differences(study: Study) -> list[ArmDifference]:
    """Every arm against the baseline, on every task and language, on retrieval and on CKA."""
    from isoglot.retrieve.simultaneous_intervals import holm

    titles: dict[str, str] = study.about.get("arms", {})
    base = baseline_of(study)
    found: list[tuple[tuple[str, str, str], tuple[float, float, float], int]] = []
    numbers = study.numbers()
    for pair in numbers.values_of("pair"):
        here = numbers.select(pair=pair, variant=None, map=None)
        for measure, by_arm in _measures(here):
            for arm in titles:
                if arm != base and arm in by_arm and base in by_arm:
                    seeds = [seed for seed in by_arm[arm] if seed in by_arm[base]]
                    if seeds:
                        tested = paired_arms(*([by_arm[name][seed] for seed in seeds] for name in (arm, base)))
                        found.append(((pair, arm, measure), tested, len(seeds)))
    corrected = holm([tested[2] for _, tested, _ in found]).tolist() if found else []
    return [
        ArmDifference(pair, titles[arm], titles[base], measure, *tested, p, seeds)
        for ((pair, arm, measure), tested, seeds), p in zip(found, corrected, strict=True)
    ]


def baseline_of(study: Study) -> str:
    """The arm that others are compared with: the recipe's baseline, or else the first arm."""
    titles = study.about.get("arms", {})
    base = str(study.about.get("baseline"))
    return base if base in titles else next(iter(titles), "")


def _measures(numbers: Numbers) -> Iterator[tuple[str, dict[str, dict[int, list[Number]]]]]:
    """Measures that arms are compared by, with the numbers of each arm and seed, which are averaged."""
    for task, words in TASKS.items():
        some = numbers.select(task, layer=None)
        for language in some.values_of("language"):
            yield f"{words} {language}", _by_arm(some.select(language=language))
    found = numbers.select("sentence_p1")
    if len(found):
        layers = found.by("layer")
        layer = max(layers, key=lambda one: layers[one].mean)
        yield f"P@1 in %, layer {layer}", _by_arm(layers[layer], scale=100)
    yield "CKA, mean over layers", _by_arm(numbers.select("cka", estimator="debiased"))


def _by_arm(numbers: Numbers, *, scale: float = 1.0) -> dict[str, dict[int, list[Number]]]:
    found: dict[str, dict[int, list[Number]]] = {}
    for one in numbers:
        draws = tuple(scale * draw for draw in one.draws)
        scaled = replace(one, value=scale * one.value, draws=draws)
        found.setdefault(str(one.at["arm"]), {}).setdefault(int(one.at["seed"]), []).append(scaled)
    return found


def paired_arms(ones: Sequence[list[Number]], others: Sequence[list[Number]]) -> tuple[float, float, float]:
    """The test of two arms whose numbers of each seed are averaged.

    Replicates are paired where both have the same test items.
    """
    import numpy as np

    items = [[{number.items for number in some} for some in side] for side in (ones, others)]
    draws_SR = None
    if items[0] == items[1] and all(number.draws for some in (*ones, *others) for number in some):
        one_SR, other_SR = (
            np.array([np.mean([number.draws for number in some], axis=0) for some in side]) for side in (ones, others)
        )
        draws_SR = one_SR - other_SR
    one, other = ([Numbers(some).mean for some in side] for side in (ones, others))
    return paired_test(one, other, draws_SR)


def arm_table(study: Study) -> Table:
    """A row for each arm and measure: the difference to the baseline, its interval, and the corrected p-value."""
    found = arm_differences(study)
    rows: list[dict[str, Any]] = [
        {**asdict(one), "verdict": one.verdict, "half": None if isnan(one.half) else one.half}
        | {"corrected": None if isnan(one.corrected) else one.corrected}
        for one in found
    ]
    columns = [
        Column("pair"),
        Column("arm"),
        Column("measure"),
        Column("value", title="difference", format="+.3g"),
        Column("half", title="±", format=".2g"),
        Column("corrected", title="p (Holm)", format=".3f"),
        Column("verdict"),
    ]
    seeds = min((one.seeds for one in found), default=0)
    notes = [f"Paired by seed ({counted(seeds, 'seeds')}) and by test item; ± is half a 95 % interval, p is two-sided."]
    if seeds == 1:
        notes.append("One seed: the test is about these encoders only. Other seeds may differ by more; run --seeds 3.")
    notes += young_arms(study)
    against = study.about.get("arms", {}).get(baseline_of(study), "")
    return Table.from_rows(rows, columns, caption=f"Difference to {against}", footnotes=tuple(notes))


def young_arms(study: Study) -> list[str]:
    """Warnings about arms that are too young to compare: at their floor, or with perplexity high or falling steeply."""
    numbers, found = study.numbers(), []
    for arm, title in study.about.get("arms", {}).items():
        for pair in numbers.values_of("pair"):
            here = numbers.select(arm=arm, pair=pair)
            low = [words for task, words in TASKS.items() if _at_floor(here, task, source=pair.partition("-")[0])]
            low += ["retrieval"] if _finds_nothing(here) else []
            if low:
                margin = f"{FLOOR_MARGIN:g} points"
                found.append(
                    f"Too young: {title} ({pair}) is within {margin} of its untrained self on {'; '.join(low)}."
                )
            share = _perplexity_share(here)
            if share is not None and share > UNLEARNED:
                found.append(f"Too young: perplexity of {title} ({pair}) is {share:.0%} of the number of ids it reads.")
            falls = _fall(here)
            if falls is not None and falls > FALLING:
                found.append(
                    f"Too young: perplexity of {title} ({pair}) fell by {falls:.0%} over the second half of training; "
                    "with a larger budget the order of the arms may change."
                )
    return found


def _at_floor(numbers: Numbers, task: str, *, source: str) -> bool:
    """Whether an arm is not above its floor by a margin, in the languages that it was not trained on."""
    languages = [code for code in numbers.select(task, layer=None).values_of("language") if code != source]
    ours, floor = (
        Numbers(one for one in numbers.select(task, layer=None, variant=variant) if one.at["language"] in languages)
        for variant in (None, "untrained")
    )
    return bool(len(ours) and len(floor)) and ours.mean - floor.mean <= FLOOR_MARGIN


def _finds_nothing(numbers: Numbers) -> bool:
    """Whether the best layer finds no more sentences than the best untrained layer, but for a margin."""
    sides = [numbers.select("sentence_p1", variant=variant, map=None) for variant in (None, "untrained")]
    if not all(map(len, sides)):
        return False
    ours, floor = (max(cells.mean for cells in some.by("layer").values()) for some in sides)
    return 100 * (ours - floor) <= FLOOR_MARGIN


def _perplexity_share(numbers: Numbers) -> float | None:
    """Dev perplexity over the number of ids that a language reads, the mean over languages and seeds."""
    shares = []
    for number in numbers.select("perplexity", variant=None):
        ids = numbers.select("ids_read", language=number.at["language"], seed=number.at["seed"])
        shares += [number.value / ids.mean] if len(ids) else []
    return sum(shares) / len(shares) if shares else None


def _fall(numbers: Numbers) -> float | None:
    """Share by which dev perplexity fell from the middle of training to its end, averaged over languages and seeds."""
    curve = numbers.select("perplexity_over_training", variant=None)
    moments = sorted(curve.values_of("tokens"))
    before = [tokens for tokens in moments if tokens <= moments[-1] / 2]
    if not before:
        return None
    middle, end = (curve.select(tokens=tokens).mean for tokens in (before[-1], moments[-1]))
    return 1 - end / middle
