"""Pages of transfer and anchors: scores by layer with a map, by alpha with a shift, and what languages share."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from isoglot.core.progress import counted
from isoglot.core.table import Column, Table
from isoglot.report.figures import Bar, Figure, Line, bars, lines
from isoglot.report.page import PAGE, Page, Section
from isoglot.report.results import Rendering

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoglot.transfer.experiment import Outcome
    from isoglot.transfer.map_protocol import MapTransfer
    from isoglot.transfer.scoring.evaluation import FileScore, SelectionRule
    from isoglot.transfer.shift_protocol import ShiftedTest, ShiftOutcome
    from isoglot.vocab.anchors import AnchorReport, PairAnchors

_SCORES = {"f1": "F1 of names, %", "las": "labeled attachment (LAS), %", "accuracy": "accuracy, %"}


# --- a task ---

_CHOSEN: dict[SelectionRule, str] = {
    "source dev": "best on the dev set it learned with",
    "oracle": "best on its own dev set (not zero-shot)",
    "averaged": "the best epochs averaged",
}


def outcome_page(done: Outcome, *, facts: Sequence[str] = ()) -> Page:
    """The page of a task: its score in every test language, and how training went.

    Args:
        done: What was measured.
        facts: Lines for its foot.
    """
    found, task = outcome_finding(done), done.task.upper() if len(done.task) < 4 else done.task.capitalize()
    training = _training_figure(done)
    return Page(
        title=f"{task}, learned in {' and '.join(done.languages)}",
        lead=f"{found}. {done.learned.finding()}",
        sections=[
            Section(title=found, body=[_scores_figure(done), _scores_table(done)]),
            Section(title=training.title, body=[training]),
        ],
        facts=facts,
    )


def outcome_result(done: Outcome, out: Path | None, language: str, task_file: Path | None = None) -> Rendering:
    """A task on a terminal, with the command that uses the best model.

    Args:
        done: What was measured.
        out: Folder of the model.
        language: A language to predict.
        task_file: File of the user's own task.
    """
    from rich.console import Group

    text = "$'First text.\\tSecond text.'" if getattr(done.best.task, "texts", 1) == 2 else "'Some text.'"
    own = "" if task_file is None else f" --task {shlex.quote(str(task_file))}"
    use = f"Use it: isoglot transfer predict {shlex.quote(str(out))} {text} --lang {language}{own}"
    notes = [] if out is None else [f"The page is {out / PAGE}", use]
    return Rendering(done.facts(), Group(f"{done.learned.finding()}\n", done.table()), notes=notes)


def compared_table(rows: Sequence[dict[str, Any]], one: str, other: str) -> Table:
    """Two experiments, language by language."""
    columns = [
        Column("language"),
        Column("one", title=one, format=".1f"),
        Column("other", title=other, format=".1f"),
        Column("difference", format="+.1f"),
        Column("interval", title="95 % over sentences", align="right"),
        Column("p", format=".4f"),
        Column("p_corrected", title="p, Holm", format=".4f"),
    ]
    return Table.from_rows([row | {"interval": f"{row['low']:+.1f} – {row['high']:+.1f}"} for row in rows], columns)


def file_scores_result(found: FileScore) -> Rendering:
    """Scores of a file of predictions."""
    interval = f"{found.interval.low:.1f} – {found.interval.high:.1f}"
    values = found.scores.values.items()
    rows = [[label, f"{value:.1f}", interval if label == found.metric else ""] for label, value in values]
    head = ["score", "value", f"95 % over {found.sentences:,} sentences"]
    return Rendering(found.facts(), Table.from_cells(head, rows), notes=[found.remark] if found.remark else [])


def _scores_figure(done: Outcome) -> Figure:
    rows = [line.facts() for line in done.lines]
    return bars(
        [
            Bar(group=row["language"], kind=_CHOSEN[row["way"]], value=row["score"], low=row["low"], high=row["high"])
            for row in rows
        ],
        name="scores",
        title=outcome_finding(done),
        x=_SCORES.get(done.metric, done.metric),
        caption=f"95 % intervals over sentences; {counted(rows[0]['seeds'], 'seeds')}.",
    )


def _scores_table(done: Outcome) -> Table:
    rows = [{**line.facts(), "way": _CHOSEN[line.way]} for line in done.lines]
    score = Column("score", _SCORES.get(done.metric, done.metric), format=".1f", interval=("low", "high"), best="max")
    seeds = Column("seed_deviation", "deviation over seeds", format=".1f", hidden=rows[0]["seeds"] == 1)
    others = [Column(name, format=".1f") for name in done.lines[0].others]
    columns = [Column("language"), Column("way", "epoch"), score, Column("seeds", hidden=True), seeds, *others]
    return Table.from_rows(rows, columns, caption="Scores by language")


def _training_figure(done: Outcome) -> Figure:
    """Dev scores of the best model by epoch."""
    history = list(enumerate((epoch["dev"] for epoch in done.best.history), 1))
    codes = dict.fromkeys(code for _, dev in history for code in dev)
    return lines(
        [Line(name=code, points=[(float(at), dev[code]) for at, dev in history if code in dev]) for code in codes],
        name="training",
        title=f"The best of {len(history)} epochs is {done.best.epoch}, by the dev set of {done.languages[0]}",
        caption="Scores on dev sets while the best model was trained.",
        x="epoch",
        y=_SCORES.get(done.metric, done.metric),
        whole=True,
    )


def outcome_finding(done: Outcome) -> str:
    """The zero-shot scores, the highest and the lowest, in a sentence without a full stop."""
    first = done.lines[0].way
    scores = sorted((float(line.facts()["score"]), line.language) for line in done.lines if line.way == first)
    (low, worst), (high, best) = scores[0], scores[-1]
    score = _SCORES.get(done.metric, done.metric).removesuffix(", %")
    rest = f", {worst} {low:.1f} %" if len(scores) > 1 else ""
    return f"{best} gets {high:.1f} %{rest} ({score})"


# --- a map between two models ---


def map_transfer_page(result: MapTransfer, languages: Sequence[str], *, facts: Sequence[str] = ()) -> Page:
    """The page of a transfer by maps.

    Args:
        result: What was measured.
        languages: Its test languages.
        facts: Lines for its foot.
    """
    table = Table.from_rows([line.facts() for line in result.lines], caption="All scores")
    found = [Section(title=map_finding(result, code), body=[map_transfer_figure(result, code)]) for code in languages]
    return Page(
        title=f"{result.source} read off another model, through a map",
        lead=" ".join(f"{map_finding(result, code)}." for code in languages),
        sections=[*found, Section(title="All scores", body=[table])],
        facts=facts,
    )


def map_transfer_result(result: MapTransfer, languages: Sequence[str], out: Path | None) -> Rendering:
    """Map transfer on a terminal."""
    notes = [map_finding(result, code) for code in languages] + ([] if out is None else [f"The page is {out / PAGE}"])
    where = {} if out is None else {"out": str(out)}
    return Rendering({**where, **result.facts()}, layer_table(result, languages), notes=notes)


def map_transfer_figure(result: MapTransfer, language: str) -> Figure:
    """A task's score over the layer at which a model is cut, with a map and without.

    Args:
        result: What was measured.
        language: Which of its test languages.
    """
    seeds = result.lines[0].estimate.over_seeds.seeds
    return lines(
        [
            Line(name=name, points=[(float(layer), score) for layer, score in sorted(scores.items())])
            for name, scores in curves(result, language).items()
        ],
        name=f"map-{language}",
        title=map_finding(result, language),
        caption=f"{result.source} learned on the first layers of one model and new ones above them; {language} read by "
        f"another, {counted(seeds, 'seeds')}.",
        x="layer where the models are cut (0: embeddings)",
        y=_SCORES.get(result.metric, result.metric),
        whole=True,
    )


def curves(result: MapTransfer, language: str) -> dict[str, dict[int, float]]:
    """Scores by layer, by the name of their curve; what was not measured is not there.

    Args:
        result: What was measured.
        language: A test language.
    """
    names = {
        ("monolingual", "source"): f"{result.source} itself",
        ("monolingual", "mapped"): f"{language}, mapped",
        ("bilingual", "unmapped"): f"{language}, bilingual",
        ("bilingual", "mapped"): f"{language}, bilingual, mapped",
        ("monolingual", "unmapped"): f"{language}, no map",
        ("bilingual", "source"): f"{result.source} itself, bilingual",
    }
    found: dict[str, dict[int, float]] = {}
    for (models, arm), name in names.items():
        scores = {
            line.layer: line.estimate.value
            for line in result.lines
            if (line.models, line.arm) == (models, arm) and line.language in (language, result.source)
        }
        if scores:
            found[name] = scores
    return found


def layer_table(result: MapTransfer, languages: Sequence[str]) -> Table:
    """Scores by layer, a column for each curve of some test languages."""
    columns: dict[str, dict[int, float]] = {}
    for code in languages:
        columns |= curves(result, code)
    rows = [(layer, *(scores[layer] for scores in columns.values())) for layer in result.layers]
    heads = (Column("layer"), *(Column(head, title=head, format=".1f") for head in columns))
    return Table(heads, tuple(rows), caption=f"{result.metric} by layer")


def map_finding(result: MapTransfer, language: str) -> str:
    """What was found for a language, in a few words; it says so where the test itself chose a layer."""
    found = curves(result, language)
    mapped, without = found.get(f"{language}, mapped"), found.get(f"{language}, no map")
    if mapped is None:
        return f"{result.source} read off the layers of another model of {language}, without a map"
    best = max(mapped, key=mapped.__getitem__)
    several = len(mapped) > 1
    title = f"{language} through a map: {mapped[best]:.1f} in layer {best}" + ", the best by test" * several
    if without is not None:
        title += f"; {without[best]:.1f} without it"
    both = found.get(f"{language}, bilingual")
    if both is None:
        return title
    its = max(both, key=both.__getitem__)
    return f"{title}; bilingual {both[its]:.1f} in layer {its}" + ", its best" * several


# --- a shift ---

MOST = 5
"""Number of languages that have a line each."""


def shift_page(found: ShiftOutcome, rows: Sequence[dict[str, object]], *, facts: Sequence[str] = ()) -> Page:
    """The page of a transfer with shifted representations.

    Args:
        found: What was measured.
        rows: The scores, as they are saved.
        facts: Lines for its foot.
    """
    sections = [
        Section(title=f"By α, at layer {best_layer(found)}", body=[shift_figure(found)]),
        Section(title="All scores", body=[Table.from_rows(rows, caption="All scores")]),
    ]
    return Page(
        title=f"{found.task}: what a shift of representations changes",
        lead=f"{shift_finding(found)}.",
        sections=sections,
        facts=facts,
    )


def shift_result(found: ShiftOutcome, model: str) -> Rendering:
    """Transfer with a shift."""
    rows = found.table_rows()
    return Rendering(
        {"model": model, **found.facts()},
        found.table(),
        lambda facts: {"shift.csv": Table.from_rows(rows).csv(), **shift_page(found, rows, facts=facts).files()},
    )


def shift_figure(found: ShiftOutcome) -> Figure:
    """Scores over alpha in the layer that gains most.

    Where dev chose, a line is what was tried there; else what the test gave. A line begins with no shift, and a level
    line is at the mean of these; of more than five languages only the mean is drawn.
    """
    layer = best_layer(found)
    scores = {code: _points(found, code, layer) for code in found.baselines if code != found.source}
    drawn = [Line(name=code, points=points) for code, points in scores.items()]
    shared = sorted(set.intersection(*({x for x, _ in points} for points in scores.values())))
    if len(drawn) > 1 and len(shared) > 1:  # a rule has another alpha for each
        means = [(x, sum(dict(points)[x] for points in scores.values()) / len(scores)) for x in shared]
        drawn = [*(drawn if len(drawn) <= MOST else []), Line(name="mean", points=means)]
    floor_at = sum(dict(points)[0.0] for points in scores.values()) / len(scores)
    by_dev = any(row.tried for row in found.rows)
    if by_dev:
        how = "α chosen on that dev set: not zero-shot"
    elif _options(found) > 1:
        how = f"the title has the best of {_options(found)} by the test itself: not zero-shot"
    elif not all(row.zero_shot for row in found.rows):
        how = "it is not zero-shot for languages that were learned from"
    else:
        how = "no label of these languages was seen"
    return lines(
        drawn[: MOST + 1],
        name="shift",
        title=shift_finding(found),
        caption=f"{found.task}, learned in {' and '.join(found.learned_from)}; {how}.",
        x=f"α, at layer {layer} (1: from mean to mean)",
        y=f"{found.metric} on {'dev of the language itself' if by_dev else 'test'}",
        levels={"no shift" if len(scores) == 1 else "no shift, mean": floor_at},
    )


def best_layer(found: ShiftOutcome) -> int:
    """The layer whose shifts gain most over no shift: on dev where dev chose, else by the test itself."""
    return max(found.layers, key=lambda layer: _gain([row for row in found.rows if row.layer == layer]))


def shift_finding(found: ShiftOutcome) -> str:
    """What the best layer's shifts do to the test scores, in a line; it says so where the test itself chose."""
    layer = best_layer(found)
    rows = [row for row in found.rows if row.layer == layer]
    best = {row.language: row for row in sorted(rows, key=lambda row: row.comparison.difference.value)}
    changes = [row.comparison.difference.value for row in best.values()]
    sure = sum(row.p_corrected < 0.05 and row.comparison.difference.value > 0 for row in best.values())
    by_test = _options(found) > 1 and not any(row.tried for row in rows)
    picked = f"best of {_options(found)} by the test itself, " if by_test else ""
    if len(best) == 1:
        (row,) = best.values()
        return (
            f"Shifted by α = {row.alpha:.3g} at layer {layer}, {row.language} changes by {changes[0]:+.1f} "
            f"({picked}p = {row.p_corrected:.2g})"
        )
    mean = sum(changes) / len(changes)
    return (
        f"Shifted at layer {layer}, {len(best)} languages change by {mean:+.1f} on average "
        f"({picked}{sure} better at p < 0.05)"
    )


def _options(found: ShiftOutcome) -> int:
    """Of how many layers and alphas the best is shown, of each language."""
    return len(found.rows) // len({row.language for row in found.rows})


def _gain(rows: list[ShiftedTest]) -> float:
    on_dev = [max(row.tried.values()) - row.tried[0.0] for row in rows if row.tried]
    gains = on_dev or [row.comparison.difference.value for row in rows]
    return sum(gains) / len(gains)


def _points(found: ShiftOutcome, code: str, layer: int) -> list[tuple[float, float]]:
    """Alphas with their scores, from the lowest; 0 is among them."""
    rows = [row for row in found.rows if (row.language, row.layer) == (code, layer)]
    tried = {alpha: score for row in rows for alpha, score in row.tried.items()}
    tested = {0.0: found.baselines[code].scores.main} | {row.alpha: row.test.scores.main for row in rows}
    return sorted((tried or tested).items())


# --- anchors ---


def anchor_page(report: AnchorReport, *, facts: Sequence[str] = ()) -> Page:
    """The page of anchors: how much of each language's text is written with ids that another language uses, too.

    Args:
        report: The anchors of each pair.
        facts: Lines for its foot.
    """
    rows = [
        {
            "pair": "-".join(pair.languages),
            "language": code,
            "anchors": pair.anchors,
            "types": pair.types[code],
            "tokens": pair.tokens[code],
        }
        for pair in report.pairs
        for code in pair.languages
    ]
    columns = [
        Column("pair"),
        Column("language"),
        Column("anchors"),
        Column("types", "types of the language"),
        Column("tokens", "its tokens that are anchors", unit="%", scale=100, format=".1f"),
    ]
    table = Table.from_rows(rows, columns, caption="Anchors by pair and direction")
    return Page(
        title="What languages share",
        lead=f"{anchor_finding(report)}.",
        sections=[Section(title=anchor_finding(report), body=[anchor_figure(report), table])],
        facts=facts,
    )


def anchor_figure(report: AnchorReport) -> Figure:
    """A bar for each direction of each pair, divided by the frequency of the anchors."""
    bands = max((pair.bands for pair in report.pairs), key=len)
    names = [f"ranks {band.first:,} to {band.last:,}" for band in bands]
    if len(bands) > 1:
        names[-1] = f"ranks from {bands[-1].first:,}"  # the last rank depends on the pair
    often = "" if report.at_least == 1 else f" at least {report.at_least:,} times each"
    return bars(
        [
            Bar(group=_direction(pair, code), kind=name, value=100 * band.tokens[code])
            for pair in report.pairs
            for code in pair.languages
            for band, name in zip(pair.bands, names, strict=False)
        ],
        name="anchors",
        title=anchor_finding(report),
        caption=f"Anchors: ids that occur in text of both{often}, by their rank in frequency. {report.looked_at()}",
        x="share of the language's tokens, %",
        stacked=True,
        limits=(0.0, 100.0),
    )


def _direction(pair: PairAnchors, code: str) -> str:
    other = next(language for language in pair.languages if language != code)
    return f"{code}, shared with {other}"


def anchor_finding(report: AnchorReport) -> str:
    """What the report says, in a sentence.

    Of one pair, both directions; of more, the pairs that share most and least.
    """
    pairs = report.pairs
    if not any(pair.anchors for pair in pairs):
        return "No two languages share an id: there are no anchors"
    if len(pairs) == 1:
        first, second = pairs[0].languages
        tokens = pairs[0].tokens
        return (
            f"{pairs[0].anchors:,} anchors make up {_percent(tokens[first])} of the tokens of {first} "
            f"and {_percent(tokens[second])} of {second}"
        )
    most, least = max(pairs, key=_shared), min(pairs, key=_shared)
    return (
        f"{'-'.join(most.languages)} share most ({_percent(_shared(most))} of tokens), "
        f"{'-'.join(least.languages)} least ({_percent(_shared(least))})"
    )


def _shared(pair: PairAnchors) -> float:
    return sum(pair.tokens.values()) / 2


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0995 or share == 0 else f"{100 * share:.1f} %"
