"""The page of a study: the paper's table beside ours, verdicts, emergence, CKA by layer, differences, and what ran."""

from __future__ import annotations

from collections import Counter
from math import isnan
from typing import TYPE_CHECKING, TypeVar

from isoglot.core.errors import InputError
from isoglot.report.factorial import factorial_page
from isoglot.report.figures import Bar, Figure, Line, bars, lines
from isoglot.report.figures.charts import GREY
from isoglot.report.figures.theme import COLORS
from isoglot.report.page import Filtered, Folded, Page, Section, Side, escape, markup
from isoglot.report.study_multilingual import multilingual_parts
from isoglot.study.claims import verdict_table
from isoglot.study.factorial.outcomes import analyze_factorial
from isoglot.study.numbers import interval
from isoglot.study.tables.arm_tests import baseline_of, young_arms
from isoglot.study.tables.layer_tables import (
    MEASURES,
    THRESHOLDS,
    emergence_curves,
    layer_curves,
    similarity_curves,
    threshold_table,
    token_unit,
    tokens_to_threshold,
)
from isoglot.study.tables.paper_comparison import ANCHORS, TASKS, arm_losses, loss_table, paper_table
from isoglot.study.tables.results import TASKS as SCORED
from isoglot.study.tables.results import about_study, facts_table, file_table, result_tables, run_table, study_verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from markupsafe import Markup

    from isoglot.core.table import Table
    from isoglot.study.claims import Verdict
    from isoglot.study.numbers import Number
    from isoglot.study.study import Study
    from isoglot.study.tables.layer_tables import Curves, EmergenceCurve, SimilarityCurve
    from isoglot.study.tables.paper_comparison import ArmLoss

Curve = TypeVar("Curve", bound="EmergenceCurve | SimilarityCurve")
_UNFOLDED = 4  # figures of a finding that show without a click
_ELSEWHERE = ("figure3", "arms", "emergence")  # the page has the same as differences, or chart by chart
_LONGEST = 26  # letters of a name in a figure
SCORES, RAN = "All scores", "What ran"
OUTCOMES = {
    "holds": ("holds", "hold"),
    "does not hold": ("does not hold", "do not hold"),
    "undecided": ("is undecided", "are undecided"),
    "undecided: at floor": ("is undecided at the floor", "are undecided at the floor"),
    "not run": ("was not run", "were not run"),
}
"""What is said of one claim, and of several, by outcome, in the order in which it is said."""
_NOT_COOLED = "The learning rate of checkpoints on the way is not cooled down; that of the last one is."
_NAMES = {"ner": "figure5-ner", "parsing": "figure5-parsing", "sentence_p1": "figure6", "cka": "figure7"}


def study_page(study: Study, *, facts: Sequence[str] = ()) -> Page:
    """The page of a study as it stands; that of a factorial study once two of its blocks are complete.

    Args:
        study: The study.
        facts: Lines for its foot.
    """
    untested = ""
    if study.about.get("recipe") in ("factorial", "factorial-text"):
        try:
            result = analyze_factorial(study.numbers())
        except InputError as error:  # too few cells so far: they are shown as a table
            untested = f"Nothing can be tested yet: {error.problem}; {error.remedy}"
        else:
            return factorial_page(result, facts=facts)
    curves = emergence_curves(study)
    verdicts = study_verdicts(study) if study.about.get("paper") else []
    sections = [
        _paper(study),
        _losses(study),
        _verdicts(verdicts),
        *_parts(study),
        _emergence(curves),
        _similarity(similarity_curves(study)),
        _figures(study),
        _scores(study),
        _ran(study),
    ]
    young = f"Some encoders are too young to compare: see the notes under {SCORES}" if young_arms(study) else ""
    findings = [emergence_finding(curves), verdict_finding(verdicts), young, untested]
    lead = " ".join(f"{finding}." for finding in findings if finding)
    return Page(
        title=str(study.about.get("title") or study.about.get("recipe")),
        lead=lead or f"{about_study(study)}.",
        sections=[section for section in sections if section is not None],
        facts=facts,
    )


# --- findings ---


def verdict_finding(verdicts: Sequence[Verdict]) -> str:
    """How many claims hold, in a sentence without a full stop; empty without claims."""
    if not verdicts:
        return ""
    counts: Counter[str] = Counter(one.outcome for one in verdicts)
    whole = f"the {len(verdicts)} claims" if len(verdicts) > 1 else "the claim"
    if counts["not run"] == len(verdicts):
        return f"The study has no numbers to test {whole} with"
    parts = [f"{counts[one]} {said[counts[one] > 1]}" for one, said in OUTCOMES.items() if counts[one]]
    return f"Of {whole}, {', '.join(parts)}"


def loss_finding(losses: Sequence[ArmLoss], baseline: str) -> str:
    """How many arms differ from the baseline, and the one that differs most, in a sentence without a full stop."""
    arms: dict[str, list[ArmLoss]] = {}
    for loss in losses:
        arms.setdefault(loss.arm, []).append(loss)
    differ = [arm for arm, some in arms.items() if any(abs(loss.value) > loss.half for loss in some)]
    if not differ:
        who = f"None of the {len(arms)} arms differs" if len(arms) > 1 else f"{next(iter(arms))} does not differ"
        return f"{who} from {baseline} by more than the intervals"
    means = {arm: sum(loss.value for loss in arms[arm]) / len(arms[arm]) for arm in differ}
    worst = max(means, key=lambda arm: abs(means[arm]))
    said = f"{worst} {_changes(means[worst])} against {baseline}, mean over tasks"
    return (
        said if len(arms) == 1 else f"{said}; {len(differ)} of {len(arms)} arms differ in some task beyond its interval"
    )


def arm_finding(losses: Sequence[ArmLoss], base: str, arm: str) -> str:
    """What an arm loses in each study, in a sentence without a full stop; differences are named by the study."""
    told = []
    for study in dict.fromkeys(loss.arm for loss in losses):
        some = [loss for loss in losses if loss.arm == study]
        mean = sum(loss.value for loss in some) / len(some)
        same = all(abs(loss.value) <= loss.half for loss in some)
        told.append(f"{'does not differ' if same else _changes(mean)} ({study})")
    return f"{arm} {', '.join(told)} against {base} in {losses[0].pair}, mean over tasks"


def paper_finding(table: Table, deltas: Table | None) -> str:
    """How the study's table agrees with the printed one, in a sentence without a full stop."""
    rows = table.dicts()
    tasks = [task for task in TASKS if any(column.name == f"{task}_ours" for column in table.columns)]
    both = [
        (row[f"{task}_paper"], row[f"{task}_ours"])
        for row in ([] if deltas is None else deltas.dicts())
        for task in tasks
        if row["base"] == "Default" and row[f"{task}_paper"] is not None and row[f"{task}_ours"] is not None
    ]
    if both:
        same = sum(isinstance(one, float) and isinstance(two, float) and one * two > 0 for one, two in both)
        return f"{same} of {len(both)} differences to Default have the sign that the paper prints"
    for row in rows:
        if any(row[f"{task}_ours"] is not None for task in tasks):
            parts = [
                f"{TASKS[task].replace(',', '')} {row[f'{task}_ours']:.1f}"
                for task in tasks
                if row[f"{task}_ours"] is not None
            ]
            return f"{row['arm']}: {', '.join(parts)}"
    return "The paper's Table 1, before any arm of the study was tested"


def _changes(points: float) -> str:
    if abs(points) < 0.05:
        return "loses nothing"
    return f"{'loses' if points < 0 else 'gains'} {abs(points):.1f} points"


def emergence_finding(curves: Sequence[EmergenceCurve]) -> str:
    """From where to where the arms get, in a sentence without a full stop; empty without curves."""
    if not curves:
        return ""
    best = max(curves, key=lambda curve: curve.p1[-1][1])
    (began, first), (tokens, last) = best.p1[0], best.p1[-1]
    factor, unit = token_unit(tokens)
    before, after = best.cka[0][1], best.cka[-1][1]
    others = [curve for curve in curves if curve is not best and curve.pair == best.pair]
    rest = ""
    if others:
        least = min(others, key=lambda curve: curve.p1[-1][1])
        rest = f"; {least.arm} gets to {_percent(least.p1[-1][1])}"
    cka = f"CKA {'rises' if after > before else 'falls'} from {before:z.2f} to {after:z.2f}"
    if abs(after - before) < 0.05:
        cka = f"CKA hardly moves ({before:z.2f} to {after:z.2f})"
    return (
        f"{best.arm} ({best.pair}) finds {_percent(last)} of translations after {tokens / factor:.3g} {unit} tokens, "
        f"{_percent(first)} {'at the first checkpoint' if began else 'untrained'}, while {cka}{rest}"
    )


def thresholds_in_words(curves: Sequence[EmergenceCurve]) -> str:
    """Tokens that each arm read until P@1 reached thresholds, in a sentence."""
    factor, unit = token_unit(max(curve.p1[-1][0] for curve in curves))
    parts = []
    for curve in curves:
        reached = [tokens_to_threshold(curve.p1, threshold) for threshold in THRESHOLDS]
        told = [
            "–" if censored == "never" else f"{'≤' if censored else ''}{tokens / factor:.3g}"
            for tokens, censored in reached
        ]
        parts.append(f"{curve.arm} {'/'.join(told)}")
    levels = "/".join(f"{100 * threshold:.0f}" for threshold in THRESHOLDS)
    return f"{unit.capitalize()} tokens until P@1 is {levels} %: {', '.join(parts)}."


def _percent(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.1 else 1}f} %"


# --- sections ---


def _paper(study: Study) -> Section | None:
    table = paper_table(study)
    if table is None:
        return None
    words = f"Table 1 of the paper beside ours: {about_study(study)}."
    return Section(title=paper_finding(table, loss_table(study)), body=[words, table])


def _losses(study: Study) -> Section | None:
    losses = arm_losses(study)
    if not losses:
        return None
    arms: dict[str, str] = study.about.get("arms", {})
    baseline = arms.get(str(study.about.get("baseline")), "")
    anchored = arm_losses(study, ANCHORS) if ANCHORS in arms else []
    figures = [
        loss_figure([loss for loss in some if loss.pair == pair], base)
        for some, base in ((losses, baseline), (anchored, "Default anchors"))
        for pair in dict.fromkeys(loss.pair for loss in some)
    ]
    return Section(title=loss_finding(losses, baseline), body=[*figures, loss_table(study)])


def loss_figure(losses: Sequence[ArmLoss], base: str, arm: str = "") -> Figure:
    """A panel for each task, a bar for each arm with its interval; a diamond where the paper has a number.

    Args:
        losses: Differences of a pair of languages.
        base: Title of the arm that they are to.
        arm: Title of the arm that all are of, where bars are studies.
    """
    pair = losses[0].pair
    given = []
    for task in TASKS:
        for loss in (one for one in losses if one.task == task):
            half = None if isnan(loss.half) else loss.half
            low, high = (None, None) if half is None else (loss.value - half, loss.value + half)
            one = Bar(group=label(loss.arm), panel=TASKS[task], value=loss.value, low=low, high=high, paper=loss.paper)
            given.append(one)
    whose = f"of {arm} " if arm else ""
    return bars(
        given,
        name="-".join(filter(None, ["differences", pair, base, arm])),
        title=arm_finding(losses, base, arm) if arm else loss_finding(losses, base),
        x="difference, points",
        caption=f"{pair}: difference {whose}to {base} in the languages that were not trained on, with 95 % intervals "
        "over test items and seeds. Diamonds: what the paper prints, on its languages.",
    )


def _verdicts(verdicts: Sequence[Verdict]) -> Section | None:
    run = [one for one in verdicts if one.outcome != "not run"]
    rest = [one for one in verdicts if one.outcome == "not run"]
    if not verdicts:
        return None
    named = f"{_count(len(rest), 'claim')} that this study has no numbers for: {', '.join(c.claim for c in rest)}"
    return Section(
        title=verdict_finding(verdicts),
        body=[
            Filtered(verdict_table(run), "does not hold") if run else None,
            Folded(named, [verdict_table(rest)]) if rest else None,
        ],
    )


def _parts(study: Study) -> list[Section]:
    """Tables 2 to 4 of Liu et al. (2020) beside ours, and what their figures show, a finding each."""
    found = []
    for part in multilingual_parts(study.numbers(), study_note(study)):
        drawn = list(part.figures.values())
        rest = drawn[_UNFOLDED:]
        more = Folded(f"{_count(len(rest), 'figure')} more", rest) if rest else None
        body = [f"{about_study(study)}.", Side(drawn[:_UNFOLDED]) if drawn else None, *part.tables, more]
        found.append(Section(title=part.finding, body=body))
    return found


def _emergence(curves: Sequence[EmergenceCurve]) -> Section | None:
    if not curves:
        return None
    figures = [figure for group in curve_groups(curves) for figure in emergence_charts(group)]
    return Section(title=emergence_finding(curves), body=[*figures, threshold_table(curves)])


def _similarity(curves: Sequence[SimilarityCurve]) -> Section | None:
    trained = [curve for curve in curves if curve.name != "untrained"]
    if not trained:
        return None
    best = max(trained, key=lambda curve: max(value for _, value in curve.layers))
    layer, value = max(best.layers, key=lambda one: one[1])
    title = f"CKA is highest in layer {layer} of {best.name} ({best.pair}): {value:.2f}"
    untrained = [curve for curve in curves if curve.name == "untrained"]
    there = [
        dict(curve.layers)[layer] for curve in untrained if curve.pair == best.pair and layer in dict(curve.layers)
    ]
    title += f"; an untrained encoder has {there[0]:.2f} there" if there else ""
    figures = [
        lines(
            [
                Line(
                    name=label(curve.name),
                    points=curve.layers,
                    band=curve.band,
                    color=GREY if curve.name == "untrained" else None,
                )
                for curve in [*group, *(one for one in untrained if one.pair == group[0].pair)]
            ],
            name=f"cka-{group[0].pair}",
            title=title,
            caption=f"{group[0].pair}: sentences that correspond; bands are 95 % intervals over them.",
            x="layer (0: embeddings)",
            y="debiased CKA",
            whole=True,
        )
        for group in curve_groups(trained)
    ]
    return Section(title=title, body=figures)


def _figures(study: Study) -> Section | None:
    if multilingual_parts(study.numbers(), ""):
        return None
    found = [figure for name, figure in study_figures(study).items() if not name.startswith(_ELSEWHERE)]
    return Section(title="The paper's figures, layer by layer", body=found) if found else None


def _scores(study: Study) -> Section | None:
    several = [] if multilingual_parts(study.numbers(), "") else result_tables(study)
    tables = [table for table in [*several, facts_table(study)] if table.rows]
    return Section(title=SCORES, body=[about_study(study) + ".", *tables]) if tables else None


def _ran(study: Study) -> Section:
    files, left = file_table(study), study.left_out
    return Section(
        title=RAN,
        body=[
            run_table(study),
            Folded(f"{_count(len(left), 'part')} left out", [_listed(left)]) if left else None,
            Folded(f"{_count(len(files.rows), 'file')} of data and their hashes", [files]) if files.rows else None,
        ],
    )


def _listed(items: Iterable[str]) -> Markup:
    return markup("<ul>" + "".join(f"<li>{escape(line)}</li>" for line in items) + "</ul>")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def label(name: str) -> str:
    """A name that leaves room for the drawing; tables have the whole of it."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1].rstrip(' ,')}…"


def curve_groups(curves: Sequence[Curve]) -> list[list[Curve]]:
    """Curves by pair, at most as many in a figure as there are colors; the first one is in each figure of its pair."""
    most = len(COLORS) - 1
    by_pair = [[curve for curve in curves if curve.pair == pair] for pair in dict.fromkeys(one.pair for one in curves)]
    return [
        [some[0], *some[1 + start : 1 + start + most]]
        for some in by_pair
        for start in range(0, max(1, len(some) - 1), most)
    ]


# --- figures ---


def write_figures(study: Study) -> list[Path]:
    """Write the specifications of what a study has measured into its folder ``figures``; returns the files.

    Raises:
        StorageError: They cannot be written.
    """
    from isoglot.core.files import as_json, write_files
    from isoglot.report.rendering import SPECS, SUFFIX

    found = study_figures(study)
    return write_files(study.out, {f"{SPECS}/{name}{SUFFIX}": as_json(one.titled()) for name, one in found.items()})


def study_figures(study: Study) -> dict[str, Figure]:
    """The figures of a study that there are numbers for, by name."""
    found: dict[str, Figure] = {}
    for pair in study.about.get("pairs", []):
        figure = arm_figure(study, pair)
        if figure is not None:
            found[figure.name] = figure
    for (measure, place), curves in layer_curves(study).items():
        kind = _NAMES.get(measure, "figure4a" if "embedding" in place else "figure4b")
        name = f"{kind}-{place.partition(',')[0]}"
        drawn = _layer_bars if kind == "figure4a" else _layer_lines
        found[name] = drawn(study, name, measure, place, curves)
    for group in curve_groups(emergence_curves(study)):
        for figure in emergence_charts(group):
            name, more = figure.name, 2
            while name in found:
                name, more = f"{figure.name}-{more}", more + 1
            found[name] = figure
    for part in multilingual_parts(study.numbers(), study_note(study)):
        found |= part.figures
    return found


def emergence_charts(group: Sequence[EmergenceCurve]) -> list[Figure]:
    """A figure for each measure over training: P@1, CKA, and the probe where it was measured."""
    factor, unit = token_unit(max(curve.p1[-1][0] for curve in group))
    pair, moments, seeds = group[0].pair, len(group[0].p1), group[0].seeds
    retrieved = (
        f"{pair}: sentence retrieval in the best layer of each of {moments} moments (chosen on the same sentences), "
        f"mean of both directions, {_count(seeds, 'seed')}. {thresholds_in_words(group)} {_NOT_COOLED}"
    )
    probed = (
        f"{pair}: balanced accuracy of a linear probe that tells the language of a sentence, cross-validated, mean of "
        f"layers. At 50 %, no linear probe can tell the languages apart. {_NOT_COOLED}"
    )
    charts = [
        ("p1", "translation found (P@1), %", retrieved),
        ("cka", "debiased CKA, mean of layers", f"{pair}: the same encoders on the same sentences. {_NOT_COOLED}"),
        ("probe", "accuracy of a language probe, %", probed),
    ]
    found = []
    for name, y, caption in charts:
        scale = 1 if name == "cka" else 100
        drawn = [
            Line(name=label(curve.arm), points=[(at / factor, scale * value) for at, value in getattr(curve, name)])
            for curve in group
            if any(at > 0 for at, _ in getattr(curve, name))  # the untrained encoder alone is no curve
        ]
        if drawn:
            figure = lines(
                drawn,
                name=f"emergence-{name}-{pair}",
                title=emergence_finding([one for one in group if one.pair == pair]),
                caption=caption,
                x=f"text read, {unit} tokens",
                y=y,
                levels={"chance": 50.0} if name == "probe" else None,
                slider="training",
            )
            found.append(figure)
    return found


def arm_figure(study: Study, pair: str) -> Figure | None:
    """Scores of every arm in the second language, a bar for each task (Figure 3); None where there are none."""
    numbers = study.numbers().select(pair=pair, language=pair.partition("-")[2], variant=None, layer=None)
    given = []
    for arm, title in study.about.get("arms", {}).items():
        for task, words in SCORED.items():
            some = list(numbers.select(task, arm=arm))
            if some:
                given.append(_bar(some, 1.0, group=title, kind=words))
    if len({bar.group for bar in given}) < 2:
        return None
    base = study.about["arms"].get(baseline_of(study), "")
    return bars(
        given,
        name=f"figure3-{pair}" if study.about.get("paper") == "wu2020" else f"arms-{pair}",
        title=_farthest(given, base, pair),
        x="accuracy (NLI), F1 (NER), LAS (parsing)",
        caption=_note(study),
    )


def _farthest(given: Sequence[Bar], base: str, pair: str) -> str:
    """Which arm differs most from the baseline, in words."""
    at = {(bar.group, bar.kind): bar.value for bar in given}
    losses: dict[str, dict[str, float]] = {}
    for (group, kind), value in at.items():
        if group != base and (base, kind) in at:
            losses.setdefault(group, {})[kind] = value - at[base, kind]
    if not losses:
        return f"Transfer by arm, {pair}"
    worst = max(losses, key=lambda title: abs(sum(losses[title].values())) / len(losses[title]))
    told = ", ".join(f"{task} {value:+.1f}" for task, value in losses[worst].items())
    return f"{worst} is farthest from {base} in {pair}: {told}"


def _bar(numbers: Sequence[Number], factor: float, *, group: str, kind: str = "") -> Bar:
    ends = interval(numbers)
    low, high = (None, None) if ends is None else (factor * ends[0], factor * ends[1])
    value = factor * sum(one.value for one in numbers) / len(numbers)
    return Bar(group=group, kind=kind, value=value, low=low, high=high)


def _layer_bars(study: Study, name: str, measure: str, place: str, curves: Curves) -> Figure:
    title, factor, _ = MEASURES[measure]
    given = [_bar(next(iter(layers.values())), factor, group=group) for group, layers in curves.items()]
    told = ", ".join(f"{bar.group} {bar.value:.1f}" for bar in given)
    return bars(given, name=name, title=f"{title}, {place}: {told}", x="P@1, %", caption=_note(study))


def _layer_lines(study: Study, name: str, measure: str, place: str, curves: Curves) -> Figure:
    title, factor, _ = MEASURES[measure]
    drawn, levels, best = [], {}, []
    source = place.partition("-")[0]
    for series, layers in curves.items():
        if len(curves) > len(COLORS) and source in series.split(", "):
            continue  # the language that was trained on stands in the table
        found = {layer: _bar(some, factor, group=series) for layer, some in layers.items()}
        if None in found:  # what has no layers is a level line
            levels[series] = found[None].value
            continue
        points = [(float(layer or 0), found[layer].value) for layer in sorted(found, key=lambda one: one or 0)]
        band = [
            (float(layer or 0), bar.low, bar.high)
            for layer, bar in found.items()
            if bar.low is not None and bar.high is not None
        ]
        drawn.append(Line(name=series, points=points, band=sorted(band) if len(curves) < 5 else ()))
        layer, value = max(points, key=lambda point: point[1])
        best.append(f"{series} {value:.3g} in layer {layer:g}")
    return lines(
        drawn,
        name=name,
        title=f"{place}: highest are {'; '.join(best[:4])}",
        caption=_note(study),
        x="layer (0: embeddings)",
        y=title,
        whole=True,
        levels=levels,
    )


def _note(study: Study) -> str:
    return f"{study_note(study)}; intervals: 95 % over test items"


def study_note(study: Study) -> str:
    """Budget, data and seeds."""
    seeds = study.about.get("seeds", 1)
    return f"{about_study(study)}, {seeds} seed{'s' if seeds != 1 else ''}"
