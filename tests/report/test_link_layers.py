"""The page of an encoder's word alignment."""

from __future__ import annotations

from isoglot.align.words.encoder_links import LayerChoice, LinkSettings, TriedSettings
from isoglot.align.words.links import LinkScores
from isoglot.report.alignment import choice_in_words, link_layers_page


def tried(layer: int, rule, threshold: float | None, hits: int, center="mean") -> TriedSettings:
    scores = LinkScores(links=10, sure=10, hit_sure=hits, hit_possible=hits)
    return TriedSettings(way=LinkSettings(layer=layer, rule=rule, threshold=threshold, center=center), scores=scores)


def choice(layers: int) -> LayerChoice:
    every = []
    for layer in range(layers):
        for center in ("mean", "none"):
            every.append(tried(layer, "argmax", None, 2 + layer, center))
            every += [
                tried(layer, "softmax", threshold, 3 + layer + 2 * (threshold > 0.1), center)
                for threshold in (0.1, 0.2)
            ]
    return LayerChoice(tried=tuple(every), chosen=max(every, key=lambda each: each.scores.hit_sure), pairs=1234)


def test_it_says_what_was_chosen_and_shows_every_layer():
    found = choice(3)
    words = (
        "Of what could be chosen, layer 2 by softmax above 0.2, means removed, has the lowest alignment error rate on "
        "1,234 pairs with gold links: 0.300."
    )
    assert choice_in_words(found) == words
    page = link_layers_page(found, ("en", "fr"), facts=["model X"])
    assert len({row["s"] for row in page.figures()["link-layers"].spec["data"]["values"]}) == 4
    (section,) = page.sections
    assert len(section.body[1].rows) == 4 * 3  # the best threshold of each layer only
    text = page.html()
    assert words in text
    assert "By softmax, means removed, layer 2 is the best of 3" in text
    assert "<th scope='row'>softmax, means removed</th><td class='number'>0</td><td class='number'>0.2</td>" in text
    assert (
        "<th scope='row'>argmax, as it is</th><td class='number'>2</td><td class='number'>–</td><td class='number'>0.600</td>"
        in text
    )
    assert "model X" in text


def test_one_layer_needs_no_figure():
    page = link_layers_page(choice(1), ("en", "fr"))
    assert not page.figures()
    assert len(page.sections[0].body[1].rows) == 4


def test_means_that_were_kept_are_named():
    only = tried(0, "argmax", None, 4, "none")
    said = choice_in_words(LayerChoice(tried=(only,), chosen=only, pairs=2))
    assert said.startswith("Of what could be chosen, layer 0 by argmax, means kept, has the lowest")
