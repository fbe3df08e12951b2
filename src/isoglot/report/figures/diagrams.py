"""Sharing plan as a diagram: Figure 1 of Wu et al. (2020) for any plan, depth and number of languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.errors import visible
from isoglot.core.table import Column, Table
from isoglot.report.figures.charts import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.model.plan import SharingPlan


def plan_figure(
    plan: SharingPlan, languages: Sequence[str], *, depth: int, positions: bool = True, name: str = "plan"
) -> Figure:
    """The parts of an encoder from its softmax down to its text: shared ones across, private ones side by side.

    Args:
        plan: The sharing plan.
        languages: The languages, a column each.
        depth: Layers of the encoder.
        positions: Whether the encoder has learned positions.
        name: Name of the figure's files.
    """
    parts = {"softmax": plan.is_private("softmax"), "transform": plan.is_private("transform")}
    parts |= {f"layer {number}": plan.layer_is_private(number) for number in range(depth, 0, -1)}
    parts |= {"positions": plan.is_private("pos")} if positions else {}
    parts["token embeddings"] = plan.is_private("emb")
    codes, gap = [visible(code) for code in languages], 0.06
    rows = [
        {"part": part, "whose": code, "from": at + gap / 2, "to": at + 1 - gap / 2, "middle": at + 0.5}
        for part, private in parts.items()
        for at, code in (enumerate(codes) if private else ())
    ]
    count = len(codes)
    rows += [
        {"part": part, "whose": "shared", "from": gap / 2, "to": count - gap / 2, "middle": count / 2}
        for part, private in parts.items()
        if not private
    ]
    rows += [{"part": "text", "whose": code, "middle": at + 0.5} for at, code in enumerate(codes)]
    order = [*parts, "text"]
    at = {"type": "quantitative", "axis": None, "scale": {"domain": [0, count], "nice": False}}
    color = {"domain": [*codes, "shared"]} | ({} if count < 5 else {"scheme": "tableau20"})
    box = {"type": "bar", "height": {"band": 0.78}, "opacity": 0.25, "cornerRadius": 5, "strokeWidth": 1.5}
    spec = {
        "data": {"values": rows},
        "height": {"step": 32},
        "encoding": {
            "y": {"field": "part", "type": "nominal", "sort": order, "title": None, "axis": {"grid": False}},
            "color": {"field": "whose", "type": "nominal", "scale": color, "legend": None},
        },
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.to)"}],
                "mark": box,
                "encoding": {"x": {"field": "from", **at}, "x2": {"field": "to"}},
            },
            {
                "mark": {"type": "text"},
                "encoding": {"x": {"field": "middle", **at}, "text": {"field": "whose"}, "color": None},
            },
        ],
        "usermeta": {"isoglot": {"natural": 150 + 150 * count, "left": max(map(len, order))}},
    }
    table = Table.from_rows(
        [{"part": part, "private": "one for each language" if own else "shared"} for part, own in parts.items()],
        [Column("part"), Column("private", "weights")],
    )
    return Figure(name=name, spec=spec, title=plan_in_words(plan).rstrip("."), caption=plan.name, table=table)


def plan_in_words(plan: SharingPlan) -> str:
    """The plan in a sentence.

    >>> from isoglot.model.plan import SharingPlan
    >>> plan_in_words(SharingPlan.parse("sep-emb+l1-3"))
    'Each language has its own token embeddings, positions, layers 1-3 and softmax; all else is shared.'
    """
    if plan.is_default:
        return "All languages share every part."
    words = {"emb": "token embeddings", "pos": "positions", "transform": "transform", "softmax": "softmax"}
    parts = [words.get(part) or f"layer{'s' * ('-' in part)} {part}" for part in plan.text.split(",")]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"Each language has its own {listed}; all else is shared."
