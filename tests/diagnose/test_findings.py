"""What is said of numbers, and what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isoglot.diagnose import all_findings
from isoglot.diagnose.findings import WORTH, above_chance, points, suited, surely_gains
from isoglot.retrieve.estimates import Estimates
from isoglot.retrieve.metrics import Interval


def said(checkup, topic: str) -> list[str]:
    return [each.text for each in all_findings(checkup) if each.topic == topic]


def tones(checkup, topic: str) -> list[str]:
    return [each.tone for each in all_findings(checkup) if each.topic == topic]


def test_a_good_model(made_up):
    checkup = made_up.checkup()
    (verdict,) = said(checkup, "verdict")
    assert "90.0 % (89.0 to 91.0) of translations among 1,000 sentences (chance 0.1 %)" in verdict
    use, embeddings = said(checkup, "layer")
    assert use.startswith("Use layer 2 of 4")
    assert "20.0 points (19.0 to 21.0) fewer" in use
    assert "90.0 % (89.0 to 91.0)" in embeddings
    assert "30.0 points (29.0 to 31.0)" in embeddings
    assert "1.1 to 1.3 tokens per word" in said(checkup, "tokenizer")[0]
    assert [tones(checkup, topic) for topic in ("verdict", "languages", "tokenizer")] == [["good"]] * 3


def test_english_only(made_up):
    made_up.found = {"en": 0.02, "de": 0.02, "ru": 0.001}
    made_up.per_word = {"en": 1.2, "de": 2.0, "ru": 5.5}
    made_up.spelled = {"ru": 0.97}
    checkup = made_up.checkup()
    (verdict,) = said(checkup, "verdict")
    assert "English only" in verdict
    at_chance, lost = said(checkup, "languages")
    assert at_chance.endswith("(0.1 %): Russian.")
    assert "English (2.0 % with German) and German (2.0 % with English)" in lost
    spelled, split = said(checkup, "tokenizer")
    assert "Russian is spelled letter by letter: 5.5 tokens per word against 1.2 in English" in spelled
    assert "German 2.0 tokens per word" in split
    assert {*tones(checkup, "verdict"), *tones(checkup, "languages")} == {"bad"}


def test_all_at_chance(made_up):
    made_up.found = dict.fromkeys(made_up.found, 0.001)
    checkup = made_up.checkup()
    assert said(checkup, "verdict")[0].startswith("No better than chance on English, German and Russian")
    assert tones(checkup, "layer") == ["bad"]


def test_one_language_is_lost_and_the_others_are_not_blamed_for_it(made_up):
    made_up.found["ru"] = 0.03
    checkup = made_up.checkup()
    (lost,) = said(checkup, "languages")
    assert "for Russian (3.0 % with English)" in lost
    assert tones(checkup, "verdict") == ["plain"]


def test_a_language_behind(made_up):
    made_up.found["ru"] = 0.7
    (lag,) = said(made_up.checkup(), "languages")
    assert lag.startswith("Russian lags")
    assert "20.0 points (19.0 to 21.0) fewer" in lag


def test_layers_within_the_noise_are_named_and_a_small_lead_is_not(made_up):
    made_up.best = {"as_good": (1, 3), "undecided": (4,), "over_last": Interval(0.01, -0.002, 0.02)}
    text = said(made_up.checkup(), "layer")[0]
    assert "Layers 1 and 3 are as good, within 3 points" in text
    assert "whether layer 4 is as good" in text
    assert "last layer" not in text


def test_a_language_whose_best_layer_is_another_is_named(made_up):
    assert "is best in layer" not in " ".join(said(made_up.checkup(), "layer"))
    made_up.layers = {"ru": 0}
    text = said(made_up.checkup(), "layer")[1]
    assert text.startswith("Russian is best in layer 0, not 2: 90.0 % (89.0 to 91.0)")
    assert "16.0 points (15.0 to 17.0) more" in text


def test_gains_say_where_means_and_neighborhoods_come_from(made_up):
    removing, csls, _ = said(made_up.checkup(), "gain")
    assert removing.startswith(
        "Removing each language’s mean, estimated on other sentences of the same set (5 folds), makes no difference"
    )
    assert csls.startswith(
        "Searching by CSLS instead of cosine, neighborhoods made of other sentences of the same set (5 folds), gains"
    )
    checkup = replace(made_up.checkup(), estimates=Estimates(means="given", neighborhoods="own", origin="news.txt"))
    removing, csls, _ = said(checkup, "gain")
    assert "mean, estimated on other text (news.txt), makes" in removing
    assert "neighborhoods made of the searched rows themselves, gains" in csls


def test_words_alone_are_said_to_be_words_alone(made_up):
    made_up.best = {"over_first": Interval(0.01, -0.01, 0.03)}
    assert tones(made_up.checkup(), "layer")[1] == "warn"


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (Interval(0.12, 0.1, 0.14), "gains 12.0 points (10.0 to 14.0)"),
        (
            Interval(0.12, -0.01, 0.25),
            "makes no significant difference compared with unmodified vectors: +12.0 points (-1.0 to +25.0)",
        ),
        (Interval(0.004, 0.002, 0.006), "no difference that matters compared with unmodified vectors: +0.4 points"),
        (Interval(0.0, -0.004, 0.004), "no difference that matters compared with unmodified vectors: +0.0 points"),
        (
            Interval(-0.05, -0.06, -0.04),
            "loses 5.0 points (4.0 to 6.0) compared with unmodified vectors: do not use it.",
        ),
    ],
)
def test_gains_are_claimed_only_where_they_are_sure_and_matter(made_up, gain, words):
    made_up.best = {"centering": gain}
    assert words in said(made_up.checkup(), "gain")[0]


def test_a_map_that_is_no_better_than_one_of_words_is_said_to_learn_words(made_up):
    made_up.best = {"mapping_over_first": Interval(-0.01, -0.03, 0.01)}
    text = said(made_up.checkup(), "gain")[-1]
    assert "fitted on 800 pairs and tested on the rest, gains 5.0" in text
    assert "a rotation of layer 0" in text


def test_a_rotation_from_too_few_pairs_is_not_advised_against(made_up):
    made_up.best = {"mapping": Interval(-0.2, -0.22, -0.18)}
    few = replace(made_up.checkup(), sentences=300, width=384)
    text = said(few, "gain")[-1]
    assert "fitted on 240 pairs and tested on the rest, loses 20.0 points (18.0 to 22.0)" in text
    assert "384 dimensions" in text
    assert text.endswith("Use at least 2,000 sentences.")
    assert tones(few, "gain")[-1] == "plain"
    enough = replace(few, sentences=1440)
    assert said(enough, "gain")[-1].endswith(
        "loses 20.0 points (18.0 to 22.0) compared with plain cosine: do not use it."
    )


def test_two_languages_are_judged_once(made_up):
    made_up.found = {"en": 0.02, "de": 0.02}
    assert said(made_up.checkup(), "languages") == []


def test_gains_say_what_they_are_over(made_up):
    assert said(made_up.checkup(), "gain")[1].endswith("compared with plain cosine, at no cost.")
    made_up.best = {"way": "centered"}
    assert said(made_up.checkup(), "gain")[1].endswith("compared with removing means alone, at no cost.")


def test_unknown_tokens(made_up):
    made_up.unknown = {"de": 0.02, "ru": 0.5}
    checkup = made_up.checkup()
    german, russian = said(checkup, "tokenizer")
    assert german.startswith("2 % of the German tokens are unknown")
    assert russian.startswith("50 % of the Russian tokens are unknown")
    assert tones(checkup, "tokenizer") == ["warn", "bad"]
    assert suited(checkup.languages) == ["en"]


def test_chinese_characters_are_no_spelling(made_up):
    made_up.found = {"en": 0.9, "zh": 0.9}
    made_up.per_word = {"en": 1.2, "zh": 1.6}
    made_up.spelled = {"zh": 1.0}
    assert tones(made_up.checkup(), "tokenizer") == ["good"]


def test_the_space(made_up):
    made_up.layer = {"mean_cosine": 0.8, "hubness": 5.0, "cka": None}
    texts = " ".join(said(made_up.checkup(), "space"))
    assert "the language of 99.0 % (98.5 to 99.5) of sentences in layer 2 (chance 33 %)" in texts
    assert "a cosine of 0.80" in texts
    assert "hubness 5.0, with CSLS 0.5" in texts
    assert "CKA is" not in texts


def test_chance_is_claimed_only_where_chance_is_in_the_interval():
    assert not above_chance(Interval(0.004, 0.0009, 0.007), 0.001)
    assert above_chance(Interval(0.004, 0.0015, 0.007), 0.001)


def test_a_language_that_is_surely_above_chance_is_not_said_to_be_at_chance(made_up):
    """Little, but more than chance, over all its pairs; each alone is too little to tell."""
    made_up.found["ru"] = 0.004
    checkup = made_up.checkup()
    languages = [
        replace(each, best=Interval(0.007, 0.0005, 0.014), found=Interval(0.004, 0.0026, 0.0056))
        if each.code == "ru"
        else each
        for each in checkup.languages
    ]
    (lost,) = said(replace(checkup, languages=tuple(languages)), "languages")
    assert "for Russian (0.7 % with English)" in lost


def test_a_loss_turned_round_has_its_ends_in_order():
    assert points(Interval(-0.2, -0.3, -0.1), sign="", turned=True) == "20.0 points (10.0 to 30.0)"


def test_drowned_layers_are_named(made_up):
    checkup = made_up.checkup()
    assert "dominate" not in " ".join(said(checkup, "space"))
    layer = checkup.layers[0]
    found = {**layer.found, "centered": Interval(0.05, 0.04, 0.06), "trimmed": Interval(0.25, 0.22, 0.28)}
    drowned = replace(checkup, layers=(replace(layer, found=found), *checkup.layers[1:]))
    texts = [text for text in said(drowned, "space") if "dominate" in text]
    assert f"dominate layer {layer.layer}:" in texts[0]
    assert "25.0 % (22.0 to 28.0) without the two strongest and 5.0 % (4.0 to 6.0) with them" in texts[0]


@pytest.mark.parametrize(
    ("value", "low", "expected"), [(WORTH, 0.001, True), (WORTH - 1e-9, 0.001, False), (WORTH, 0.0, False)]
)
def test_a_gain_is_worth_it_from_one_point_on_if_its_interval_is_above_0(value: float, low: float, expected: bool):
    assert surely_gains(Interval(value, low, 0.1)) is expected
