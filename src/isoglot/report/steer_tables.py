"""Token translation as rows and words: outputs, figures, and the second paper's Tables 2 and 3 beside its own numbers.

The paper's numbers are of Google's multilingual cased BERT (12 layers, 119,547 subwords) on XNLI's test set. They are
shown only beside an encoder of that shape; BLEU-1 only where the unchanged source scores less than the paper's best:
where it scores more, the scale is another.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, Literal

from isoglot.languages.twins import unshift
from isoglot.study.claims.printed_numbers import printed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.steer.scores import Scores
    from isoglot.steer.sweep import Sweep
    from isoglot.steer.token_translation import Translation

Look = Literal["plain", "switched", "shared", "neither"]
"""How a token that the shift changed is shown: ``switched``, now one that only the target has; ``shared``, one that
both have; ``neither``, one that neither has. ``plain`` is all the rest."""
_LOOK: dict[str, Look] = {"neither": "neither", "both": "shared"}
_PRIVATE = 0xF0000

# --- the paper's numbers (Liu et al. 2020) ---

PAPER = "Liu et al. 2020"
PAPER_PIECES = 119_547
_TABLE2, _TABLE3 = printed("liu2020")["table2"], printed("liu2020")["table3"]
PAPER_DEPTH: int = _TABLE2["layers"]
_PAIRS = [tuple(pair.split("-")) for pair in _TABLE2["pairs"]]
_RATES_AT_10 = dict(zip(_TABLE2["convert_rate"]["alphas"], _TABLE2["convert_rate"]["values"], strict=True))
_SIZES = dict(zip(_TABLE3["languages"], _TABLE3["token_set"], strict=True))
_SHARED_WITH_EN = dict(zip(_TABLE3["languages"], _TABLE3["shared_with_english"], strict=True))


@dataclass(frozen=True)
class Row:
    """A line of a table: what it is, our number and the paper's for each column; None where there is none."""

    name: str
    ours: tuple[float | None, ...]
    papers: tuple[float | None, ...]
    form: str = ".2f"
    spans: tuple[tuple[float, float] | None, ...] = ()
    """95 % intervals of our numbers; none at all, or one for each"""


def table_2(sweeps: Sequence[Sweep], depth: int) -> list[Row]:
    """The rows of the paper's Table 2, a column for each sweep, with intervals over sentences.

    The paper's layers 11 and 10 of 12 are the last but one and the one before it. As there, the best cell is one with
    an alpha above 0 and not in the embeddings. Two rows that the paper does not have say what the unchanged source
    has, and what the model decodes without a shift.
    """
    late, later = max(depth - 2, 0), max(depth - 1, 0)
    far = 3.0 if any(3.0 in sweep.alphas for sweep in sweeps) else max(a for sweep in sweeps for a in sweep.alphas)
    best = [best_bleu(sweep) for sweep in sweeps]
    none = (None,) * len(sweeps)
    alphas = [alpha for alpha in dict.fromkeys(a for sweep in sweeps for a in sweep.alphas) if alpha > 0]
    rows = [
        Row(
            "BLEU-1, unchanged source",
            tuple(None if sweep.source_bleu is None else sweep.source_bleu.score for sweep in sweeps),
            none,
        ),
        Row("BLEU-1, decoded without a shift", tuple(unshifted_bleu(sweep, depth) for sweep in sweeps), none),
        _at(sweeps, depth, "bleu", later, far, "11", _TABLE2["bleu1"]["values"] if far == 3 else None),
        Row(
            "best BLEU-1",
            tuple(one and one[2] for one in best),
            _paper(_TABLE2["best_bleu1"], sweeps, depth, "bleu"),
            spans=tuple(one and sweep.interval("bleu", *one[:2]) for one, sweep in zip(best, sweeps, strict=True)),
        ),
        Row("best layer", tuple(one and one[0] for one in best), _paper(_TABLE2["best_layer"], sweeps, depth), ".0f"),
        Row("best α", tuple(one and one[1] for one in best), _paper(_TABLE2["best_alpha"], sweeps, depth), "g"),
        *(
            _at(sweeps, depth, "convert_rate", late, alpha, "10", _RATES_AT_10.get(alpha), ".3f")
            for alpha in sorted(alphas)
        ),
    ]
    return [row for row in rows if any(value is not None for value in row.ours)]


def _at(
    sweeps: Sequence[Sweep],
    depth: int,
    figure: Literal["bleu", "convert_rate"],
    layer: int,
    alpha: float,
    papers_layer: str,
    papers: Sequence[float] | None,
    form: str = ".2f",
) -> Row:
    """A figure of one cell of every sweep."""
    name = {"bleu": "BLEU-1", "convert_rate": "convert rate"}[figure]
    there = [layer in sweep.layers and alpha in sweep.alphas for sweep in sweeps]
    return Row(
        f"{name}, layer {layer} (paper: {papers_layer}), α = {alpha:g}",
        tuple(sweep.value(figure, layer, alpha) if known else None for sweep, known in zip(sweeps, there, strict=True)),
        _paper(papers, sweeps, depth, figure),
        form,
        tuple(
            sweep.interval(figure, layer, alpha) if known else None for sweep, known in zip(sweeps, there, strict=True)
        ),
    )


def like_the_papers(sweep: Sweep, depth: int) -> bool:
    """Whether an encoder has the shape of the paper's, so that its numbers may stand beside."""
    vocabulary = next(iter(sweep.translations.values())).vocabulary
    return depth == PAPER_DEPTH and len(vocabulary) == PAPER_PIECES


def best_bleu(sweep: Sweep) -> tuple[int, float, float] | None:
    """Layer, alpha and value of the best BLEU-1 of a shift; as in the paper, embeddings and alpha 0 are left out."""
    cells = [
        (*cell, value)
        for cell in sweep.scores
        if cell.layer > 0 and cell.alpha > 0 and (value := sweep.value("bleu", *cell)) is not None
    ]
    return max(cells, key=lambda one: one[2], default=None)


def unshifted_bleu(sweep: Sweep, depth: int) -> float | None:
    """BLEU-1 of what the model decodes at alpha 0: in the last layer but one, or where it was asked for."""
    at = [cell for cell in sweep.scores if cell.alpha == 0]
    late = [cell for cell in at if cell.layer == max(depth - 1, 0)]
    return next((sweep.value("bleu", *cell) for cell in (*late, *at)), None)


def table_3(about: dict[str, Any], *, papers: bool) -> list[Row]:
    """The rows of the paper's Table 3 from :meth:`TokenSets.about`: sizes and what the first language shares.

    Args:
        about: What is to be known of the token sets.
        papers: Whether the paper's numbers can be compared: its vocabulary is this one.
    """
    codes = list(about["sizes"])
    first = codes[0]
    shared = {first: about["sizes"][first]}
    for pair, count in about["shared"].items():
        for code in codes[1:]:
            if pair in (f"{first}-{code}", f"{code}-{first}"):
                shared[code] = count
    sizes, beside = (_SIZES, _SHARED_WITH_EN if first == "en" else {}) if papers else ({}, {})
    return [
        Row("|V|", tuple(about["sizes"][code] for code in codes), tuple(sizes.get(code) for code in codes), ",.0f"),
        Row(
            f"|V ∩ V of {first}|",
            tuple(shared.get(code) for code in codes),
            tuple(beside.get(code) for code in codes),
            ",.0f",
        ),
    ]


def row_texts(row: Row) -> list[str]:
    """Our number with its interval and the paper's, if there is one, in round brackets, column by column."""
    found = []
    for ours, papers, span in zip(row.ours, row.papers, row.spans or (None,) * len(row.ours), strict=True):
        between = "" if ours is None or span is None else f" [{span[0]:{row.form}}, {span[1]:{row.form}}]"
        found.append(_written(ours, row.form) + between + ("" if papers is None else f" ({papers:{row.form}})"))
    return found


def as_value(rows: Sequence[Row], columns: Sequence[str]) -> list[dict[str, Any]]:
    """A table for JSON."""
    return [
        {
            "row": row.name,
            "ours": dict(zip(columns, row.ours, strict=True)),
            **({"interval": dict(zip(columns, row.spans, strict=True))} if row.spans else {}),
            f"paper ({PAPER})": dict(zip(columns, row.papers, strict=True)),
        }
        for row in rows
    ]


def sweep_value(sweeps: Sequence[Sweep], depth: int, sets: dict[str, Any]) -> dict[str, Any]:
    """Every cell of every way, and the tables, for JSON."""
    return {
        "depth": depth,
        "token_sets": sets,
        "sweeps": [sweep.as_dict() for sweep in sweeps],
        "table2": as_value(table_2(sweeps, depth), [f"{sweep.source}-{sweep.target}" for sweep in sweeps]),
        "table3": as_value(table_3(sets, papers=like_the_papers(sweeps[0], depth)), list(sets["sizes"])),
    }


def cell_rows(sweeps: Sequence[Sweep]) -> list[dict[str, Any]]:
    """A row for every cell of every way, with all its figures."""
    rows = []
    for sweep in sweeps:
        for cell, scores in sweep.scores.items():
            figures = scores.as_dict()
            figures["bleu"] = None if scores.bleu is None else scores.bleu.score
            rows.append({"source": sweep.source, "target": sweep.target, **cell._asdict(), **figures})
    return rows


def _paper(
    numbers: Sequence[float] | None, sweeps: Sequence[Sweep], depth: int, figure: str = ""
) -> tuple[float | None, ...]:
    """The paper's number for each sweep, where it can be compared."""
    known = {} if numbers is None else dict(zip(_PAIRS, numbers, strict=True))
    best = dict(zip(_PAIRS, _TABLE2["best_bleu1"], strict=True))
    found = []
    for sweep in sweeps:
        way = (sweep.source, sweep.target)
        comparable = like_the_papers(sweep, depth)
        if figure == "bleu":
            unchanged = sweep.source_bleu
            comparable = comparable and unchanged is not None and unchanged.score < best.get(way, 0.0)
        found.append(known.get(way) if comparable else None)
    return tuple(found)


def _written(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


# --- outputs ---


def runs(translation: Translation, sentence: int) -> list[tuple[str, Look]]:
    """What came out of one sentence, in stretches of tokens that look alike; joined, they are its text."""
    found: list[tuple[str, Look]] = []
    for token in translation.tokens(sentence):
        # A token that was there before, and that only the target's text happens to have, is not to stand out.
        new = token.made != token.given
        look: Look = "plain" if not new else "switched" if token.switched else _LOOK.get(token.belongs, "plain")
        blank = " " if token.begins and any(text for text, _ in found) else ""
        text = readable(token.made.strip())
        if found and found[-1][1] == look:
            found[-1] = (found[-1][0] + blank + text, look)
        else:
            if blank and found:  # a blank between two stretches belongs to neither: it is not to be colored
                found[-1] = (found[-1][0] + blank, found[-1][1])
            found.append((text, look))
    return found


def readable(text: str) -> str:
    """The text with the letters of a twin's private script, for which there is no font, as those they stand for.

    >>> from isoglot.languages.twins import shift
    >>> readable("a " + shift("cat"))
    'a cat'
    """
    return "".join(unshift(sign) if ord(sign) >= _PRIVATE else sign for sign in text)


def translation_value(swept: Sweep, references: Sequence[str] | None) -> dict[str, Any]:
    """Every sentence and every output of one layer, for JSON."""
    whole = swept.as_dict()
    first = next(iter(swept.translations.values()))
    rows = []
    for number, source in enumerate(first.sources):
        outputs = [
            {
                "alpha": cell.alpha,
                "text": translation.texts[number],
                "tokens": [token._asdict() for token in translation.tokens(number)],
            }
            for cell, translation in swept.translations.items()
        ]
        reference = {} if references is None else {"reference": references[number]}
        rows.append({"source": source, **reference, "outputs": outputs})
    return {
        "source": swept.source,
        "target": swept.target,
        "layer": first.layer,
        "kind": swept.kind,
        "cut": first.cut,
        "token_sets": whole["token_sets"],
        "bleu_signature": swept.signature,
        "source_bleu": None if swept.source_bleu is None else swept.source_bleu.score,
        "scores": [{"alpha": cell.alpha, **scores.as_dict()} for cell, scores in swept.scores.items()],
        "sentences": rows,
    }


def translation_rows(swept: Sweep, references: Sequence[str] | None) -> list[list[str]]:
    """The same as lines of a table: the source, each alpha's output, the reference."""
    translations = list(swept.translations.values())
    head = [swept.source, *(f"{swept.target} alpha={one.alpha:g}" for one in translations)]
    columns = [translations[0].sources, *(one.texts for one in translations)]
    if references is not None:
        head.append("reference")
        columns.append(list(references))
    return [head, *([" ".join(text.split()) for text in row] for row in zip(*columns, strict=True))]


_COLUMNS: tuple[tuple[str, str], ...] = (
    ("converted", "convert_rate"),
    ("precision", "precision"),
    ("headline", "headline"),
    ("distinct", "distinct"),
    ("neither", "neither"),
    ("kept", "kept"),
    ("harmonic", "harmonic"),
)
KEY = {
    "converted": "convert rate: tokens that only the target has, among those that not both languages have",
    "precision": "of the switched tokens whose source word the dictionary has, those that are a listed translation",
    "headline": "converted × precision",
    "distinct": "different switched tokens over different tokens they replace; near 0 is one word repeated",
    "neither": "tokens that neither language has",
    "kept": "of all tokens of words in the dictionary, those that are still the same or a listed translation",
    "harmonic": "harmonic mean of converted and kept",
    "BLEU-1": "words that are in the reference, 0 to 100, by sacrebleu; in the row source, of the unchanged source",
}


def score_table(swept: Sweep) -> tuple[list[str], list[list[str]]]:
    """The figures of each cell of one layer: head and rows. What is known of no cell has no column."""
    scores: list[tuple[float, Scores]] = [(cell.alpha, one) for cell, one in swept.scores.items()]
    head, columns = ["α"], [[f"{alpha:g}" for alpha, _ in scores]]
    for name, field in _COLUMNS:
        values = [getattr(one, field) for _, one in scores]
        if any(value is not None for value in values):
            head.append(name)
            columns.append([_written(value, ".3f") for value in values])
    rows = [list(row) for row in zip(*columns, strict=True)]
    if swept.source_bleu is not None:
        head.append("BLEU-1")
        for row, (_, one) in zip(rows, scores, strict=True):
            row.append("–" if one.bleu is None else f"{one.bleu.score:.2f}")
        rows.insert(0, ["source", *["–"] * (len(head) - 2), f"{swept.source_bleu.score:.2f}"])
    return head, rows


def about_sets(about: dict[str, Any], origin: str) -> str:
    """What convert rates rest on, in a sentence."""
    if not about:
        return ""
    sizes = ", ".join(f"{size:,} of {code}" for code, size in about["sizes"].items())
    names = {f"{one}-{other}": f"{one} and {other}" for one, other in permutations(about["sizes"], 2)}
    shared = ", ".join(f"{count:,} shared by {names[pair]}" for pair, count in about["shared"].items())
    tokens = sum(about["text_tokens"].values())
    often = "once" if about["threshold"] == 1 else f"{about['threshold']} times"
    return f"Token sets: {sizes}; {shared}; met at least {often} in {tokens:,} tokens. Means and sets: {origin}."


def before_note(swept: Sweep) -> str:
    """How much of the text counts as the target's before any shift, because the source's text does not have it."""
    first = next(iter(swept.translations.values()))
    if first.sets is None:
        return ""
    only_V = first.sets.only(swept.target, but_not=swept.source)
    already = sum(int(only_V[ids].sum()) for ids in first.given)
    if not already:
        return ""
    total = sum(len(ids) for ids in first.given)
    return (
        f"{already:,} of the {total:,} tokens count as {swept.target} without any shift: the text behind the set of "
        f"{swept.source} does not have them."
    )


def judged_note(swept: Sweep) -> str:
    """How much of what was switched the dictionary could judge."""
    known = [one for one in swept.scores.values() if one.coverage is not None]
    if not known:
        return ""
    shares = [one.coverage or 0.0 for one in known]
    low, high = (f"{100 * edge:.0f} %" for edge in (min(shares), max(shares)))
    return f"The dictionary has the source word of {low if low == high else f'{low} to {high}'} of the switched tokens."
