"""Steering as rows, figures and pages."""

from __future__ import annotations

import io
import itertools
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from isoglot.languages.twins import shift
from isoglot.report.results import sweep_view
from isoglot.report.steer import (
    at_layer,
    colored,
    erase_figure,
    erase_finding,
    erase_page,
    example_cell,
    most_switched,
    sweep_finding,
    sweep_page,
    sweep_words,
    translation_finding,
    translation_page,
)
from isoglot.report.steer_tables import (
    about_sets,
    before_note,
    best_bleu,
    readable,
    row_texts,
    runs,
    score_table,
    table_2,
    table_3,
    translation_rows,
)
from isoglot.steer.bleu import Bleu
from isoglot.steer.erasers.trade_off import ErasureScore, TradeOff
from isoglot.steer.shifted_decoding import Cell
from isoglot.steer.sweep import Sweep
from isoglot.steer.token_sets import TokenSets


@pytest.fixture
def sweep(small_sweep: Sweep) -> Sweep:
    return small_sweep


@pytest.fixture
def as_the_papers(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> Sweep:
    """The same of an encoder with the shape of the paper's."""
    vocabulary = next(iter(sweep.translations.values())).vocabulary
    monkeypatch.setattr("isoglot.report.steer_tables.PAPER_DEPTH", 3)
    monkeypatch.setattr("isoglot.report.steer_tables.PAPER_PIECES", len(vocabulary))
    return sweep


# --- tables ---


def test_table_2_has_the_papers_rows_and_its_numbers_beside_ours(as_the_papers: Sweep):
    rows = {row.name: row for row in table_2([as_the_papers], depth=3)}
    assert list(rows) == [
        "BLEU-1, unchanged source",
        "BLEU-1, decoded without a shift",
        "BLEU-1, layer 2 (paper: 11), α = 3",
        "best BLEU-1",
        "best layer",
        "best α",
        "convert rate, layer 1 (paper: 10), α = 1",
        "convert rate, layer 1 (paper: 10), α = 2",
        "convert rate, layer 1 (paper: 10), α = 3",
    ]
    assert rows["BLEU-1, decoded without a shift"].ours == (5.0,)
    assert (rows["best BLEU-1"].ours, rows["best BLEU-1"].papers) == ((17.0,), (12.18,))
    assert (rows["best layer"].ours, rows["best α"].ours) == ((1.0,), (3.0,))
    low, high = sweep_interval = as_the_papers.interval("convert_rate", 1, 2.0) or (0.0, 0.0)
    assert low <= high
    assert row_texts(rows["convert rate, layer 1 (paper: 10), α = 2"]) == [f"0.400 [{low:.3f}, {high:.3f}] (0.757)"]
    assert rows["convert rate, layer 1 (paper: 10), α = 2"].spans == (sweep_interval,)


def papers_numbers(sweep: Sweep) -> dict[str, bool]:
    return {row.name: any(number is not None for number in row.papers) for row in table_2([sweep], depth=3)}


def test_the_papers_numbers_stand_only_beside_what_they_can_be_compared_with(as_the_papers: Sweep, monkeypatch):
    assert papers_numbers(as_the_papers)["best BLEU-1"]
    assert not any(papers_numbers(replace(as_the_papers, target="ru")).values())  # not one of the paper's
    # An unchanged source that scores more than the paper's best: another scale of BLEU-1.
    other = replace(as_the_papers, source_bleu=Bleu(16.3, "BLEU-1|test"))
    assert not papers_numbers(other)["best BLEU-1"]
    assert papers_numbers(other)["convert rate, layer 1 (paper: 10), α = 2"]
    monkeypatch.setattr("isoglot.report.steer_tables.PAPER_PIECES", 119_547)
    assert not any(papers_numbers(as_the_papers).values())  # another encoder
    made = sweep_page([as_the_papers], 3, sets=as_the_papers.about_sets(), origin="here").html()
    assert "so they are not shown" in made


def test_table_3_has_sizes_and_what_is_shared_with_the_first():
    about = {"sizes": {"en": 10, "de": 8}, "shared": {"en-de": 3}, "threshold": 2, "text_tokens": {"en": 70, "de": 50}}
    assert [row.papers for row in table_3(about, papers=False)] == [(None, None)] * 2
    sizes, shared = table_3(about, papers=True)
    assert (sizes.ours, sizes.papers) == ((10, 8), (9140, 9212))
    assert (shared.name, shared.ours, shared.papers) == ("|V ∩ V of en|", (10, 3), (9140, 3230))
    assert about_sets(about, "here") == (
        "Token sets: 10 of en, 8 of de; 3 shared by en and de; met at least 2 times in 120 tokens. Means and sets: here."
    )


def test_a_twin_is_named_apart_from_the_language_it_shares_with():
    tokens = {"en": 70, "en-x-shift": 50}
    about = {"sizes": tokens, "shared": {"en-en-x-shift": 3}, "threshold": 1, "text_tokens": tokens}
    assert "; 3 shared by en and en-x-shift; met at least once" in about_sets(about, "here")


def test_what_is_known_of_no_cell_has_no_column(sweep: Sweep):
    head, rows = score_table(sweep)
    assert head == ["α", "converted", "precision", "headline", "distinct", "neither", "BLEU-1"]
    assert rows[0] == ["source", "–", "–", "–", "–", "–", "4.00"]
    assert rows[1] == ["0", "0.000", "–", "0.000", "–", "0.000", "5.00"]


# --- outputs ---


def test_stretches_of_tokens_join_to_the_text(sweep: Sweep):
    for cell, translation in sweep.translations.items():
        found = runs(translation, 0)
        assert "".join(text for text, _ in found) == translation.texts[0].strip()
        assert ("switched" in [look for _, look in found]) == (cell.alpha > 0)
        assert all(one[1] != other[1] for one, other in itertools.pairwise(found))


def test_a_token_that_was_there_before_does_not_stand_out_but_is_counted(sweep: Sweep):
    one = sweep.translations[Cell(2, 3.0)]
    same = replace(one, given=one.made)
    assert {look for _, look in runs(same, 0)} == {"plain"}
    again = replace(sweep, translations={Cell(2, 3.0): same})
    assert before_note(again).startswith(f"{sum(one.switched[0])} of the {len(one.made[0])} tokens count as fr without")
    assert before_note(sweep) == ""


def test_what_the_shift_changed_looks_like_whose_it_is_now(sweep: Sweep):
    one = sweep.translations[Cell(0, 3.0)]
    assert one.sets is not None
    given = one.given[0]
    only, nobody = (int(np.flatnonzero(mask)[-1]) for mask in (one.sets.mask("fr"), ~one.sets.mask("fr")))
    counts = one.sets.counts | {"en": one.sets.counts["en"].copy()}
    counts["en"][[only, nobody]] = (1, 0)  # now both have the one, and still neither the other
    made = given.copy()
    made[:2] = (only, nobody)
    looks = [look for _, look in runs(replace(one, made=[made], sets=TokenSets(counts, threshold=1)), 0)]
    assert looks == ["shared", "neither", "plain"]


def test_letters_without_a_font_are_shown_as_what_they_stand_for():
    assert readable(f"{shift('Cat')} 人 a") == "Cat 人 a"


def test_coloured_text_is_escaped(sweep: Sweep):
    shown = colored(sweep.translations[Cell(0, 1.0)], 0)
    assert "<span class='switched'" in shown
    assert "&lt;" in shown
    assert "<sees>" not in shown


def test_rows_have_the_source_every_output_and_the_reference(sweep: Sweep):
    rows = translation_rows(sweep, ["le homme"])
    assert rows[0][:2] == ["en", "fr alpha=0"]
    assert (len(rows), len(rows[1]), rows[1][-1]) == (2, 14, "le homme")


# --- what is said ---


def test_the_finding_is_of_the_cell_that_switched_most(sweep: Sweep):
    assert most_switched(sweep) == Cell(2, 3.0)
    assert sweep_finding(sweep) == (
        "en → fr: most tokens are switched at layer 2, α = 3 (82 % of all, convert rate 0.90), most rightly at layer 2, "
        "α = 3 (switched and right 0.45)."
    )
    assert "which leaves out" not in sweep_words(sweep, depth=3)[0]
    # A convert rate of 1 over a single token that counts is no finding.
    odd = replace(sweep, scores=sweep.scores | {Cell(0, 1.0): replace(sweep.scores[Cell(0, 1.0)], convert_rate=1.0)})
    assert sweep_finding(odd) == sweep_finding(sweep)
    said = "The convert rate, which leaves out tokens that both have, is largest at layer 0, α = 1 (9 % of all, convert rate 1.00)."
    assert said in sweep_words(odd, depth=3)[0]
    assert translation_finding(sweep).startswith("With α = 3 at layer 2, 90 % of the tokens")


def test_the_papers_claims_are_asked_of_every_way(sweep: Sweep):
    said = sweep_words(sweep, depth=3)[0]
    for words in (
        "The convert rate rises with α, or stays, in 3 of 3 layers.",
        "At layer 1 of 3 it is 0.00 at α = 0, 0.20 at α = 1, 0.40 at α = 2, 0.60 at α = 3.",
        "Above the embeddings, BLEU-1 is best at layer 1, α = 3: 17.0 [",
        "]; the unchanged source has 4.0, what the model decodes without a shift 5.0.",
        "Tokens of neither language are at most 0.0 %",
        "of the 90 tokens that the dictionary judges 50 % are right; the distinct-type ratio is 0.11.",
    ):
        assert words in said


def test_words_and_table_name_the_same_best_bleu(sweep: Sweep):
    """Also where the embeddings have more, which the paper leaves out."""
    high = replace(sweep.scores[Cell(0, 3.0)], bleu=Bleu(90.0, "BLEU-1|test"))
    odd = replace(sweep, scores=sweep.scores | {Cell(0, 3.0): high})
    assert best_bleu(odd) == (1, 3.0, 17.0)
    assert "Above the embeddings, BLEU-1 is best at layer 1, α = 3: 17.0 [" in sweep_words(odd, depth=3)[0]
    assert next(row.ours for row in table_2([odd], depth=3) if row.name == "best BLEU-1") == (17.0,)
    only = at_layer(odd, 0)
    assert best_bleu(only) is None
    assert "BLEU-1" not in sweep_words(only, depth=3)[0]


def test_words_and_table_name_the_same_bleu_without_a_shift(sweep: Sweep):
    """With parts of their own for languages it depends on the layer."""
    other = replace(sweep.scores[Cell(2, 0.0)], bleu=Bleu(7.0, "BLEU-1|test"))
    odd = replace(sweep, scores=sweep.scores | {Cell(2, 0.0): other})
    for one, value in ((odd, 7.0), (at_layer(odd, 1), 5.0)):
        assert f"what the model decodes without a shift {value:.1f}." in sweep_words(one, depth=3)[0]
        assert table_2([one], depth=3)[1].ours == (value,)


def test_no_cell_is_named_where_nothing_was_switched_or_little_was_judged(sweep: Sweep):
    nothing = {
        cell: replace(scores, switched=0, convert_rate=0.0, precision=None, judged=0, headline=0.0, coverage=None)
        for cell, scores in sweep.scores.items()
    }
    none = replace(sweep, scores=nothing)
    assert sweep_finding(none) == "en → fr: no token was switched, at no layer and no α."
    assert "rises" not in sweep_words(none, depth=3)[0]
    assert "headline" not in sweep_words(none, depth=3)[0]
    assert translation_finding(none) == "No token was switched to fr, at layer 0 and no α."
    few = replace(sweep, scores={cell: replace(scores, judged=4) for cell, scores in sweep.scores.items()})
    assert few.best("headline") is None
    assert few.has("headline")
    assert sweep_finding(few).endswith(
        "; how many are right cannot be said: the dictionary judges 4 of them at most, and 30 are needed."
    )
    wrong = {cell: replace(scores, precision=0.0, headline=0.0) for cell, scores in sweep.scores.items()}
    assert sweep_finding(replace(sweep, scores=wrong)).endswith("none of those that the dictionary judges is right.")


def test_examples_are_of_a_cell_with_enough_judged_tokens(sweep: Sweep):
    """Not of one with the best headline by a handful of them."""
    lucky = replace(sweep.scores[Cell(0, 1.0)], judged=4, headline=0.99)
    odd = replace(sweep, scores=sweep.scores | {Cell(0, 1.0): lucky})
    assert example_cell(odd) == example_cell(sweep) == Cell(2, 3.0)
    made = sweep_page([odd], 3, sets=odd.about_sets(), origin="here").html()
    assert "layer 2: the first 1 of 1 sentences; 90 switched tokens judged, 30 needed" in made
    assert "<tr class='reference'><td>reference</td><td>le homme voit</td></tr>" in made
    assert "beside this page" not in made
    judged_by_none = {cell: replace(scores, headline=None, judged=None) for cell, scores in sweep.scores.items()}
    assert example_cell(replace(sweep, scores=judged_by_none)) == Cell(1, 3.0)  # the best BLEU-1


def test_the_page_of_a_sweep_begins_with_figure_8_and_table_2_and_folds_the_heat_maps(sweep: Sweep):
    page = sweep_page([sweep], 3, sets=sweep.about_sets(), origin="here")
    titles = [section.title for section in page.sections]
    for title, words in zip(titles, ("BLEU-1 by α", "convert rate by α", "Table 2", "Outputs"), strict=False):
        assert words in title
    figure = page.figures()["bleu-en-fr"]
    assert {row["s"] for row in figure.spec["data"]["values"]} == {"layer 0", "layer 1", "layer 2"}
    assert page.html().count('<details class="more"') == 1


def test_every_signature_of_bleu_is_printed(sweep: Sweep):
    other = {cell: replace(scores, bleu=Bleu(1.0, "BLEU-1|zh")) for cell, scores in sweep.scores.items()}
    both = [sweep, replace(sweep, target="zh", scores=other)]
    shown = io.StringIO()
    Console(file=shown, width=200).print(sweep_view(both, 3, sets=sweep.about_sets(), origin="here"))
    for text in (shown.getvalue(), sweep_page(both, 3, sets=sweep.about_sets(), origin="here").html()):
        assert "BLEU-1|test" in text
        assert "BLEU-1|zh" in text


# --- pages ---


def test_pages_hold_to_their_screens(sweep: Sweep, seen):
    about = sweep.about_sets()
    made = sweep_page([sweep, replace(sweep, source="fr", target="en")], 3, sets=about, origin="here", facts=["fact"])
    assert len(made.figures()) == 10  # two charts and three heat maps of each way
    seen(made)
    seen(translation_page(sweep, ["le homme"], origin="here"))


def traded(name: str, probe: float, retrieval: float) -> ErasureScore:
    return ErasureScore(
        name=name, probe=probe, spread=0.8, retrieval=retrieval, control=2 - 2 * probe, harmonic=retrieval, change=0.1
    )


@pytest.fixture
def trade() -> TradeOff:
    """Two languages: two ways to take them out, one of them for the better."""
    rows = (traded("nothing", 0.99, 0.2), traded("LEACE", 0.5, 0.4), traded("shift, alpha 1", 0.51, 0.39))
    return TradeOff(languages=("en", "de"), pivot="en", sentences=100, folds=5, layer=4, rows=rows)


def test_the_trade_off_in_words_and_as_a_page(trade: TradeOff, seen):
    assert erase_finding(trade) == (
        "In layer 4, LEACE brings the language probe from 99 % to 50 % (chance is 50 %), and translations found go from "
        "20 % to 40 %. With squared coordinates, a probe still identifies the language of 80 %."
    )
    kept = replace(trade, rows=(traded("nothing", 0.5, 0.4), *trade.rows[2:]))
    assert erase_finding(kept) == "In layer 4, no eraser or shift is better than leaving the vectors as they are."
    seen(erase_page([trade, replace(trade, layer=5)], trade, saved="eraser.safetensors has LEACE."))


def test_every_way_is_drawn_and_those_that_are_not_are_named(trade: TradeOff):
    ways = ("mean removal", "LIR", "LSAR", "LEACE", "shift, alpha 1", "transport")
    wide = replace(trade, rows=(trade.rows[0], *(traded(name, 0.5, 0.4 + 0.01 * at) for at, name in enumerate(ways))))
    assert [row["s"] for row in erase_figure(wide).spec["data"]["values"]] == ["as it is", *ways]
    more = replace(wide, rows=(*wide.rows, traded("shift, alpha 2", 0.5, 0.3)))
    page = erase_page([more, more], more, saved="")
    assert "Not drawn, because they stay lowest: as it is." in page.html()
    assert len({row["s"] for row in page.figures()["erase-layers"].spec["data"]["values"]}) == 7
