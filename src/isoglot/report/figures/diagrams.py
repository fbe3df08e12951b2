"""Diagrams: a sharing plan, as in Figure 1 of Wu et al. (2020), and tokens above those they replace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.errors import visible
from isoglot.core.table import Column, Table
from isoglot.report.figures.charts import GREY, Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.model.config import SharingPlan


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

    >>> from isoglot.model.config import SharingPlan
    >>> plan_in_words(SharingPlan.parse("sep-emb+l1-3"))
    'Each language has its own token embeddings, positions, layers 1-3 and softmax; all else is shared.'
    """
    if plan.is_default:
        return "All languages share every part."
    words = {"emb": "token embeddings", "pos": "positions", "transform": "transform", "softmax": "softmax"}
    parts = [words.get(part) or f"layer{'s' * ('-' in part)} {part}" for part in plan.text.split(",")]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"Each language has its own {listed}; all else is shared."


_LINE = 46  # letters of a line of tokens: what fits a phone


def tokens_figure(
    sentences: Sequence[Sequence[tuple[str, str, str]]], *, name: str, title: str, caption: str = ""
) -> Figure:
    """Sentences token by token: what was made above what was given, colored by kind.

    Args:
        sentences: For each token of each sentence: what was given, what was made, and its kind.
        name: Name of the figure's files.
        title: What it shows.
        caption: What a reader needs to know.
    """
    kinds = [visible(kind) for kind in dict.fromkeys(token[2] for tokens in sentences for token in tokens)]
    rows: list[dict[str, Any]] = []
    line = -1
    for number, tokens in enumerate(sentences, 1):
        line, at = line + 1, 0
        for given, made, kind in tokens:
            shown = {"given": visible(given.strip()), "made": visible(made.strip())}
            wide = max(map(len, shown.values())) + 1
            if at and at + wide > _LINE:
                line, at = line + 1, 0
            rows.append({"sentence": number, "line": line, "at": at, **shown, "kind": visible(kind)})
            at += wide
    place = {"field": "at", "type": "quantitative", "axis": None, "scale": {"domain": [0, _LINE], "nice": False}}
    color = {"domain": kinds} | ({} if len(kinds) < 6 else {"scheme": "tableau20"})
    text = {"type": "text", "align": "left"}
    spec = {
        "data": {"values": rows},
        "height": {"step": 48},
        "encoding": {
            "x": place,
            "y": {"field": "line", "type": "ordinal", "axis": None},
            "color": {"field": "kind", "type": "nominal", "scale": color, "legend": {"orient": "top", "title": None}},
        },
        "layer": [
            {"mark": {**text, "dy": -8, "fontWeight": "bold"}, "encoding": {"text": {"field": "made"}}},
            {
                "mark": {**text, "dy": 8, "fontSize": 10},
                "encoding": {"text": {"field": "given"}, "color": {"value": GREY}},
            },
        ],
        "usermeta": {"isoglot": {"natural": 8 * _LINE, "keys": max(map(len, kinds), default=0)}},
    }
    columns = [Column("sentence"), Column("given"), Column("made"), Column("kind")]
    table = Table.from_rows([{key: row[key] for key in ("sentence", "given", "made", "kind")} for row in rows], columns)
    return Figure(name=name, spec=spec, title=title, caption=caption, table=table)
