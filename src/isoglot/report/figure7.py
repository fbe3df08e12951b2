"""The page of the Figure 7 grid: how alike languages are in bilingual, monolingual and random encoders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.compare.figure7 import ROWS, paper_pair
from isoglot.compare.measures.cka import FORMS, Form
from isoglot.report.compare import FORM_TITLES
from isoglot.report.heatmap import heat_map
from isoglot.report.page import Figure, Section, page, table
from isoglot.report.svg_file import svg_file
from isoglot.represent.extraction import cut_in_words
from isoglot.study.claims.printed_numbers import printed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.compare.figure7 import Figure7, Figure7Cell, Figure7Column
    from isoglot.compare.figure7_claims import Figure7Claim


_CKA = (
    "CKA says how far both sides arrange the sentences in the same way. The first paper's form is not centered; the "
    "debiased form is 0 on average where there is nothing in common."
)
_PLUS_MINUS = "± is half of a 95 % interval: that of drawing other sentences (jackknife), not of training other models."
_THEIRS = (
    "The paper's models have 8 layers of 768 and were trained on Wikipedia for days; its sentences are XNLI's. Its "
    "values are not to be met here; their order is what can be compared."
)
_DECIDED = (
    "Decided where the 95 % interval leaves 0 out. The interval is that of drawing other sentences: one model of each "
    "kind says nothing of what another seed would give."
)
_FOUND = (
    "P@1 in % by cosine, the mean of both directions, of test sentences after a rotation fitted on other pairs: "
    "what the paper's Figure 6 shows (10,000 XNLI pairs, Tatoeba's sentences), and what its CKA goes with."
)


_PRINTED = printed("wu2020")["figure7"]["pairs"]


def paper_average(pair: str, row: str) -> float | None:
    """Mean over layers as printed in the paper; None for a pair it does not have.

    >>> paper_average("en-fr", "bilingual"), paper_average("en-sw", "bilingual")
    (0.69, None)
    """
    value: float | None = _PRINTED.get(pair, {}).get(row, {}).get("average")
    return value


def figure7_page(figure: Figure7, found: Sequence[Figure7Claim], *, facts: Sequence[str] = ()) -> str:
    """The page.

    Args:
        figure: The grid.
        found: What the paper's claims come to in it.
        facts: Lines for its foot.
    """
    verdicts, numbers = _claims(found)
    return page(
        "How alike languages are in bilingual, monolingual and random encoders",
        figure7_finding(figure, found),
        [
            Section(title="What is compared", words=_words(figure)),
            _averages(figure, "paper"),
            _beside(figure),
            _averages(figure, "debiased"),
            _averages(figure, "centered"),
            verdicts,
            *(_layer(figure, form) for form in FORMS),
            *_retrieval(figure),
            numbers,
            *_empty(figure),
        ],
        facts=facts,
    )


def figure7_svg(figure: Figure7) -> str:
    """The averages of CKA as printed, as a file of its own."""
    note = "the average over layers of CKA as the first paper prints it; hatched: no models"
    return svg_file(_average_heat(figure, "paper"), "How alike languages are in three kinds of encoders", note)


def figure7_finding(figure: Figure7, found: Sequence[Figure7Claim]) -> str:
    """What it comes to, in a few sentences."""
    whole = len(figure.columns) * len(ROWS)
    said = [f"{len(figure.cells)} of {whole} cells are measured."] if len(figure.cells) < whole else []
    said += [f"“{claim.text.rstrip('.')}” {_says(claim)}." for claim in found if claim.form == "debiased"]
    return " ".join(said) + " All by debiased CKA; the other forms are below."


def _says(claim: Figure7Claim) -> str:
    return {"holds": "holds", "does not hold": "does not hold", "undecided": "is undecided"}[claim.verdict]


def _words(figure: Figure7) -> list[str]:
    counts = set(figure.sentences.values())
    sentences = f"{min(counts):,}" if len(counts) == 1 else f"{min(counts):,} to {max(counts):,}"
    about = (
        f"Each column is a pair of languages that reads the same {sentences} sentences; each row is a way to read them."
    )
    rows = " ".join([about, *(f"{row.capitalize()}: {meaning}" for row, meaning in ROWS.items())])
    return [rows, *untold_words(figure), *(f"{said}." for said in cut_words(figure)), f"{_CKA} {_PLUS_MINUS}"]


def untold_words(figure: Figure7) -> list[str]:
    """Which models are not known to fit their rows."""
    names = ", ".join(figure.untold)
    return [f"Not known is what {names} learned from: that it fits its row, the file alone says."] if names else []


def cut_words(figure: Figure7) -> list[str]:
    """How many sentences were too long, for each cell that has some."""
    languages = {column.title: column.languages for column in figure.columns}
    return [
        f"{title}, {row}: {said}"
        for (title, row), cell in figure.cells.items()
        for said in cut_in_words(zip(languages[title], cell.cut, strict=True), figure.sentences[title])
    ]


def averages_table(figure: Figure7, form: Form) -> tuple[list[str], list[list[str]]]:
    """The averages over layers as a head and rows; an empty cell is a dash."""
    head = ["", *(column.title for column in figure.columns)]
    return head, [[row, *(_value(figure.cell(column.title, row), form) for column in figure.columns)] for row in ROWS]


def _average_heat(figure: Figure7, form: Form) -> str:
    values = [[_average(figure.cell(column.title, row), form) for column in figure.columns] for row in ROWS]
    return _heat(list(ROWS), figure.columns, values, form)


def _averages(figure: Figure7, form: Form) -> Section:
    head, rows = averages_table(figure, form)
    return Section(
        title=f"{FORM_TITLES[form]}, the average over layers",
        figures=(
            Figure(
                drawing=_average_heat(figure, form),
                caption=f"{FORM_TITLES[form]}: {FORMS[form]}. Hatched cells have no models.",
            ),
        ),
        table=table(head, rows),
    )


def _beside(figure: Figure7) -> Section:
    known = [column for column in figure.columns if paper_pair(column.languages) in _PRINTED]
    if not known:
        return Section(title="The paper's figure", words=("The paper has none of these pairs.",))
    rows = []
    for row in ROWS:
        for whose in ("here", "the paper"):
            cells = []
            for column in known:
                theirs = paper_average(paper_pair(column.languages), row)
                here = _value(figure.cell(column.title, row), "paper")
                cells.append(here if whose == "here" else "–" if theirs is None else f"{theirs:.2f}")
            rows.append([f"{row}, {whose}", *cells])
    values = [[paper_average(paper_pair(column.languages), row) for column in known] for row in ROWS]
    return Section(
        title="The paper's averages beside these",
        words=(_THEIRS,),
        figures=(
            Figure(
                drawing=_heat(list(ROWS), known, values, "paper"),
                caption="The paper's own averages over layers 0 to 8 (Wu et al. 2020, Figure 7), not ours.",
            ),
        ),
        table=table(["CKA as printed", *(column.title for column in known)], rows),
    )


def _claims(found: Sequence[Figure7Claim]) -> tuple[Section, Section]:
    """The verdicts at a glance, then what each rests on."""
    texts = dict.fromkeys((claim.name, claim.text) for claim in found)
    verdicts = {(claim.text, claim.form): claim.verdict for claim in found}
    rows = [[name, text, *(verdicts[text, form] for form in FORMS)] for name, text in texts]
    behind = [
        [claim.name if first else "", FORM_TITLES[claim.form] if first else "", number]
        for claim in found
        for first, number in zip([True, *[False] * len(claim.numbers)], claim.numbers, strict=False)
    ]
    return (
        Section(
            title="What the paper reads off its figure, read off this one",
            words=(_DECIDED,),
            table=table(["", "claim", *(FORM_TITLES[form] for form in FORMS)], rows, numbers_from=5),
        ),
        Section(title="The numbers behind", table=table(["", "by", "number"], behind, numbers_from=3)),
    )


def _layer(figure: Figure7, form: Form) -> Section:
    """One heat map of all layers: a block of rows for each way to read."""
    names, values = [], []
    for row in ROWS:
        for layer in figure.layers:
            names.append(f"{row} L{layer}")
            values.append([_at(figure.cell(column.title, row), form, layer) for column in figure.columns])
    return Section(
        title=f"{FORM_TITLES[form]}, layer by layer",
        figures=(
            Figure(
                drawing=_heat(names, figure.columns, values, form),
                caption="Layer 0 is the embeddings.",
            ),
        ),
    )


def _retrieval(figure: Figure7) -> list[Section]:
    rows: list[list[str]] = []
    for column in figure.columns:
        for row in ROWS:
            cell = figure.cell(column.title, row)
            if cell is not None and cell.found is not None:
                values = dict(zip(cell.layers, cell.found, strict=True))
                cells = (f"{100 * values[layer]:.1f}" if layer in values else "–" for layer in figure.layers)
                counts = [f"{cell.fitted:,}", f"{len(cell.hits[0]):,}" if cell.hits else "–"]
                rows.append([f"{column.title}, {row}", *counts, *cells])
    if not rows:
        return []
    return [
        Section(
            title="Translations found after a rotation",
            words=(_FOUND,),
            table=table(["", "pairs", "tested", *(f"L{layer}" for layer in figure.layers)], rows),
        )
    ]


def _empty(figure: Figure7) -> list[Section]:
    if not figure.empty:
        return []
    rows = [[column, row, why] for (column, row), why in figure.empty.items()]
    return [Section(title="Cells that are empty", table=table(["column", "row", "why"], rows, numbers_from=3))]


def _heat(
    rows: Sequence[str], columns: Sequence[Figure7Column], values: Sequence[Sequence[float | None]], form: Form
) -> str:
    return heat_map(
        rows,
        [column.title for column in columns],
        values,
        across="languages",
        up="encoders",
        low=0.0,
        high=1.0,
        scale=FORM_TITLES[form],
    )


def _average(cell: Figure7Cell | None, form: Form) -> float | None:
    return None if cell is None else cell.average(form)


def _at(cell: Figure7Cell | None, form: Form, layer: int) -> float | None:
    if cell is None or layer not in cell.layers:
        return None
    return cell.values[form][cell.layers.index(layer)]


def _value(cell: Figure7Cell | None, form: Form) -> str:
    if cell is None:
        return "–"
    half = cell.half_width(form)
    return f"{cell.average(form):z.3f}" if half is None else f"{cell.average(form):z.3f} ± {half:.3f}"
