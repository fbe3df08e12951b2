"""Shift transfer as a picture: the score over alpha, a line for each language, and where no shift would be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.report.lines import Line, line_chart
from isoglot.report.svg_file import svg_file

if TYPE_CHECKING:
    from isoglot.transfer.shift_protocol import ShiftedTest, ShiftOutcome

MOST = 5
"""So many lines are told apart beside their mean."""


def shift_svg(found: ShiftOutcome) -> str:
    """A whole SVG file, of the layer that gains most.

    Where dev chose, a line is what was tried there; else what the test gave. A line begins with no shift, and a level
    line is at the mean of these; of more than five languages only the mean is drawn.
    """
    layer = best_layer(found)
    curves = {code: _points(found, code, layer) for code in found.baselines if code != found.source}
    lines = [Line(name=code, points=points) for code, points in curves.items()]
    shared = sorted(set.intersection(*({x for x, _ in points} for points in curves.values())))
    if len(lines) > 1 and len(shared) > 1:  # a rule has another alpha for each
        means = [(x, sum(dict(points)[x] for points in curves.values()) / len(curves)) for x in shared]
        lines = [*(lines if len(lines) <= MOST else []), Line(name="mean", points=means)]
    floor_at = sum(dict(points)[0.0] for points in curves.values()) / len(curves)
    by_dev = any(row.tried for row in found.rows)
    drawing = line_chart(
        lines[: MOST + 1],
        across=f"α, at layer {layer} (1: from mean to mean)",
        up=f"{found.metric} on {'dev of the language itself' if by_dev else 'test'}",
        floor_at=floor_at,
        floor_name="no shift" if len(curves) == 1 else "no shift, mean",
    )
    if by_dev:
        how = "α chosen on that dev set: not zero-shot"
    elif _options(found) > 1:
        how = f"the title has the best of {_options(found)} by the test itself: not zero-shot"
    elif not all(row.zero_shot for row in found.rows):
        how = "it is not zero-shot for languages that were learned from"
    else:
        how = "no label of these languages was seen"
    return svg_file(drawing, finding(found), f"{found.task}, learned in {' and '.join(found.learned_from)}; {how}")


def best_layer(found: ShiftOutcome) -> int:
    """The layer whose shifts gain most over no shift: on dev where dev chose, else by the test itself."""
    return max(found.layers, key=lambda layer: _gain([row for row in found.rows if row.layer == layer]))


def finding(found: ShiftOutcome) -> str:
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
    """Alphas with what they came to, from the lowest; 0 is among them."""
    rows = [row for row in found.rows if (row.language, row.layer) == (code, layer)]
    tried = {alpha: score for row in rows for alpha, score in row.tried.items()}
    tested = {0.0: found.baselines[code].scores.main} | {row.alpha: row.test.scores.main for row in rows}
    return sorted((tried or tested).items())
