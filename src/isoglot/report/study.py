"""The page of a study: the paper's table beside ours, verdicts, emergence, CKA by layer, losses, and what ran."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import floor, isnan
from typing import TYPE_CHECKING

from isoglot.core.errors import InputError
from isoglot.report.axes import round_step, rounded_up, ticks
from isoglot.report.factorial import factorial_page
from isoglot.report.lines import COLORS, Line, line_chart
from isoglot.report.markup import escape
from isoglot.report.page import Figure, Section, folded, page, section_body
from isoglot.report.study_emergence import curve_groups, emergence_charts, emergence_finding, label
from isoglot.report.study_figures import FOLDER, study_figures, study_note
from isoglot.report.study_multilingual import multilingual_parts
from isoglot.study.claims import verdict_table
from isoglot.study.factorial.outcomes import analyze_factorial
from isoglot.study.tables.emergence_curves import emergence_curves, threshold_table
from isoglot.study.tables.layer_tables import similarity_curves
from isoglot.study.tables.paper_comparison import ANCHORS, TASKS, arm_losses, loss_table, paper_table
from isoglot.study.tables.results import about_study, facts_table, file_table, result_tables, run_table, study_verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from isoglot.core.table import Table
    from isoglot.report.study_multilingual import MultilingualPart
    from isoglot.study.claims import Verdict
    from isoglot.study.study import Study
    from isoglot.study.tables.emergence_curves import EmergenceCurve
    from isoglot.study.tables.layer_tables import SimilarityCurve
    from isoglot.study.tables.paper_comparison import ArmLoss

PAGE = "index.html"
_GREY, _INK = "#777", "#323f4b"
_WIDTH = 720
_UNFOLDED = 4  # figures of a finding that show without a click
_ELSEWHERE = ("figure3", "arms", "emergence")  # the page has the same as differences, or chart by chart


@dataclass(frozen=True, kw_only=True)
class StudyResults:
    """What the page of a study shows."""

    title: str
    about: str
    """Budget and data, in a few words."""
    paper: Table | None
    verdicts: Sequence[Verdict]
    curves: Sequence[EmergenceCurve]
    similarity: Sequence[SimilarityCurve]
    losses: Sequence[ArmLoss]
    anchor_losses: Sequence[ArmLoss]
    """Of Sep arms against Default anchors."""
    deltas: Table | None
    """The same differences as a table, beside those that the paper prints."""
    baseline: str
    figures: Mapping[str, str]
    """What was measured layer by layer, as SVG files with titles."""
    parts: Sequence[MultilingualPart]
    """Of studies on all languages at once: findings with tables and figures."""
    tables: Sequence[Table]
    facts: Table
    ran: Table
    files: Table
    left_out: Sequence[str]


def study_page(study: Study, *, facts: Sequence[str] = ()) -> str:
    """The page of a study as it stands; that of the factorial study once two of its blocks are complete.

    Args:
        study: The study.
        facts: Lines for its foot.
    """
    if study.about.get("recipe") == "factorial":
        try:
            result = analyze_factorial(study.numbers())
        except InputError:  # too few cells so far: they are shown as a table
            pass
        else:
            return factorial_page(result, facts=facts)
    return results_page(study_results(study), facts=facts)


def study_results(study: Study) -> StudyResults:
    """Gather what the page shows."""
    arms: dict[str, str] = study.about.get("arms", {})
    parts = multilingual_parts(study.numbers(), study_note(study))
    drawn = {} if parts else study_figures(study)
    return StudyResults(
        title=str(study.about.get("title") or study.about.get("recipe")),
        about=about_study(study),
        paper=paper_table(study),
        verdicts=study_verdicts(study) if study.about.get("paper") else [],
        curves=emergence_curves(study),
        similarity=similarity_curves(study),
        losses=arm_losses(study),
        anchor_losses=arm_losses(study, ANCHORS) if ANCHORS in arms else [],
        deltas=loss_table(study),
        baseline=arms.get(str(study.about.get("baseline")), ""),
        figures={name: drawing for name, drawing in drawn.items() if not name.startswith(_ELSEWHERE)},
        parts=parts,
        tables=[] if parts else result_tables(study),
        facts=facts_table(study),
        ran=run_table(study),
        files=file_table(study),
        left_out=study.left_out,
    )


def results_page(results: StudyResults, *, facts: Sequence[str] = ()) -> str:
    """The page of results.

    Args:
        results: What was found.
        facts: Lines for its foot.
    """
    sections = [
        _paper(results),
        _losses(results),
        _verdicts(results),
        *_beside_paper(results),
        _emergence(results),
        _similarity(results),
        _figures(results),
        _scores(results),
        _ran(results),
    ]
    shown = [section for section in sections if section is not None]
    findings = [emergence_finding(results.curves), verdict_finding(results.verdicts)]
    lead = " ".join(f"{finding}." for finding in findings if finding)
    return page(results.title, lead or f"{results.about}.", shown, facts=facts)


# --- findings ---


def verdict_finding(verdicts: Sequence[Verdict]) -> str:
    """How many claims hold, in a sentence without a full stop; empty without claims."""
    if not verdicts:
        return ""
    counts: Counter[str] = Counter(one.outcome for one in verdicts)
    whole = f"the {len(verdicts)} claims" if len(verdicts) > 1 else "the claim"
    if counts["not run"] == len(verdicts):
        return f"The study has no numbers to test {whole} with"
    words = {
        "holds": ("holds", "hold"),
        "does not hold": ("does not hold", "do not hold"),
        "undecided": ("is undecided", "are undecided"),
        "undecided: at floor": ("is undecided at the floor", "are undecided at the floor"),
        "not run": ("was not run", "were not run"),
    }
    parts = [f"{counts[one]} {said[counts[one] > 1]}" for one, said in words.items() if counts[one]]
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


# --- sections ---


def _paper(results: StudyResults) -> Section | None:
    if results.paper is None:
        return None
    return Section(
        title=paper_finding(results.paper, results.deltas),
        words=(f"Table 1 of the paper beside ours: {results.about}.",),
        table=results.paper.html(),
    )


def _losses(results: StudyResults) -> Section | None:
    if not results.losses:
        return None
    figures = []
    for losses, base in ((results.losses, results.baseline), (results.anchor_losses, "Default anchors")):
        figures += [
            Figure(
                drawing=loss_chart([loss for loss in losses if loss.pair == pair]),
                caption=f"{pair}: difference to {base} in the languages that were not trained on, with 95 % "
                "intervals over test items and seeds. Diamonds: what the paper prints, on its languages.",
            )
            for pair in dict.fromkeys(loss.pair for loss in losses)
        ]
    table = "" if results.deltas is None else results.deltas.html()
    return Section(title=loss_finding(results.losses, results.baseline), figures=figures, table=table)


def _verdicts(results: StudyResults) -> Section | None:
    run = [one for one in results.verdicts if one.outcome != "not run"]
    rest = [one for one in results.verdicts if one.outcome == "not run"]
    if not results.verdicts:
        return None
    shown = verdict_table(run).html() if run else ""
    if rest:
        named = f"{_count(len(rest), 'claim')} that this study has no numbers for: {', '.join(c.claim for c in rest)}"
        shown += folded(named, verdict_table(rest).html())
    return Section(title=verdict_finding(results.verdicts), table=shown)


def _emergence(results: StudyResults) -> Section | None:
    if not results.curves:
        return None
    figures = [
        Figure(drawing=drawing, caption=caption)
        for group in curve_groups(results.curves)
        for drawing, caption in emergence_charts(group)
    ]
    return Section(
        title=emergence_finding(results.curves), figures=figures, table=threshold_table(results.curves).html()
    )


def _similarity(results: StudyResults) -> Section | None:
    curves = results.similarity
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
        Figure(
            drawing=line_chart(
                [
                    Line(
                        name=label(curve.name),
                        points=curve.layers,
                        band=curve.band,
                        color=_GREY if curve.name == "untrained" else None,
                    )
                    for curve in [*group, *(one for one in untrained if one.pair == group[0].pair)]
                ],
                across="layer (0: embeddings)",
                up="debiased CKA",
                whole=True,
                height=300,
            ),
            caption=f"{group[0].pair}: sentences that correspond; bands are 95 % intervals over them.",
        )
        for group in curve_groups(trained)
    ]
    return Section(title=title, figures=figures)


def _beside_paper(results: StudyResults) -> Iterator[Section]:
    """Tables 2 to 4 of Liu et al. (2020) beside ours, and what their figures show, a finding each."""
    for part in results.parts:
        drawn = [Figure(drawing=drawing, caption=_file(name)) for name, drawing in part.figures.items()]
        rest = drawn[_UNFOLDED:]
        more = folded(f"{_count(len(rest), 'figure')} more", section_body(Section(title="", figures=rest)))
        whole = "".join(table.html() for table in part.tables) + (more if rest else "")
        yield Section(title=part.finding, words=(f"{results.about}.",), figures=drawn[:_UNFOLDED], table=whole)


def _figures(results: StudyResults) -> Section | None:
    if not results.figures:
        return None
    drawings = [Figure(drawing=drawing, caption=_file(name)) for name, drawing in results.figures.items()]
    return Section(title="The paper's figures, layer by layer", figures=drawings)


def _file(name: str) -> str:
    return f"{FOLDER}/{name}.svg"


def _scores(results: StudyResults) -> Section | None:
    tables = [table for table in [*results.tables, results.facts] if table.rows]
    if not tables:
        return None
    return Section(title="All scores", words=(results.about + ".",), table="".join(table.html() for table in tables))


def _ran(results: StudyResults) -> Section:
    left = folded(f"{_count(len(results.left_out), 'part')} left out", _listed(results.left_out))
    files = folded(f"{_count(len(results.files.rows), 'file')} of data and their hashes", results.files.html())
    return Section(
        title="What ran",
        table=results.ran.html() + (left if results.left_out else "") + (files if results.files.rows else ""),
    )


def _listed(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


# --- drawings ---


def loss_chart(losses: Sequence[ArmLoss]) -> str:
    """A panel for each task, a bar for each arm with its interval; a diamond where the paper has a number."""
    arms = list(dict.fromkeys(loss.arm for loss in losses))
    tasks = [task for task in TASKS if any(loss.task == task for loss in losses)]
    left, top, tall, gap = 16 + int(6.6 * max(len(label(arm)) for arm in arms)), 30, 26, 34
    wide = (_WIDTH - left - 12 - gap * (len(tasks) - 1)) / len(tasks)
    ends = [end for loss in losses for end in _extent(loss)]
    step = round_step(min(0.0, *ends), max(0.5, *ends))
    low, high = floor(min(0.0, *ends) / step) * step, rounded_up(max(0.0, *ends), step)
    high = max(high, low + step)  # where no arm differs at all
    foot = top + tall * len(arms)
    named = 2 * step if (high - low) / step > 4 else step  # labels of all ticks would touch
    parts = [_text(left - 8, top + tall * at + 17, label(arm), "tick", anchor="end") for at, arm in enumerate(arms)]
    for number, task in enumerate(tasks):
        start = left + number * (wide + gap)

        def x(value: float, start: float = start) -> float:
            return start + (value - low) / (high - low) * wide

        parts.append(_text(start + wide / 2, 16, TASKS[task], "name", anchor="middle", fill=COLORS[number]))
        parts += [
            f"<line x1='{x(value):.1f}' x2='{x(value):.1f}' y1='{top}' y2='{foot}' class='grid'/>"
            for value in ticks(low, high, step)
        ]
        parts += [
            _text(x(value), foot + 16, f"{value:g}", "tick", anchor="middle") for value in ticks(low, high, named)
        ]
        parts.append(f"<line x1='{x(0):.1f}' x2='{x(0):.1f}' y1='{top}' y2='{foot}' stroke='{_INK}'/>")
        for loss in losses:
            if loss.task == task:
                parts += _bar(loss, x, top + tall * arms.index(loss.arm), COLORS[number])
    parts.append(_text(left + (_WIDTH - left) / 2, foot + 38, "difference, points", "axis", anchor="middle"))
    said = escape(f"difference of {', '.join(arms)} to the baseline by task")
    return (
        f"<div class='scroll'><svg viewBox='0 0 {_WIDTH} {foot + 48}' role='img' aria-label='{said}'>"
        f"{''.join(parts)}</svg></div>"
    )


def _extent(loss: ArmLoss) -> list[float]:
    half = 0.0 if isnan(loss.half) else loss.half
    return [loss.value - half, loss.value + half, *([] if loss.paper is None else [loss.paper])]


def _bar(loss: ArmLoss, x: Callable[[float], float], y: float, color: str) -> list[str]:
    start, end = sorted((x(0), x(loss.value)))
    said = escape(f"{loss.arm}: {loss.value:+.1f}" + ("" if isnan(loss.half) else f" ± {loss.half:.1f}"))
    box = f"x='{start:.1f}' y='{y + 6:.1f}' width='{end - start:.1f}' height='14'"
    parts = [f"<rect {box} fill='{color}' fill-opacity='.75'><title>{said}</title></rect>"]
    if not isnan(loss.half):
        one, other = x(loss.value - loss.half), x(loss.value + loss.half)
        parts.append(
            f"<path d='M{one:.1f} {y + 9:.1f}v8M{other:.1f} {y + 9:.1f}v8M{one:.1f} {y + 13:.1f}H{other:.1f}' "
            f"fill='none' stroke='{_INK}' stroke-width='1.5'/>"
        )
    if loss.paper is not None:
        at = x(loss.paper)
        parts.append(
            f"<path d='M{at:.1f} {y + 8:.1f}l5 5l-5 5l-5 -5z' fill='#fff' stroke='{_INK}'>"
            f"<title>{escape(f'paper: {loss.paper:+.1f}')}</title></path>"
        )
    return parts


def _text(x: float, y: float, text: str, kind: str, *, anchor: str = "start", fill: str = "") -> str:
    colored = f" fill='{fill}'" if fill else ""
    return f"<text x='{x:.1f}' y='{y:.1f}' class='{kind}' text-anchor='{anchor}'{colored}>{escape(text)}</text>"
