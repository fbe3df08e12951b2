"""The page of a ranking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from isoglot.diagnose import RankConfig, Ranking
from isoglot.diagnose.ranking import RankedModel
from isoglot.report.ranking import ranking_finding, ranking_page
from isoglot.retrieve import Interval


def ranked(p: float) -> Ranking:
    models = [
        RankedModel(
            name=name,
            layers=(1, 2),
            score=Interval(score, score - 0.02, score + 0.02),
            behind=None if score == 0.5 else Interval(0.5 - score, 0.0, 0.2),
            ranks=(1, 3),
            groups="a",
            by_language={"en": score, "de": score},
        )
        for name, score in (("<b>", 0.5), ("two", 0.48), ("three", 0.4))
    ]
    return Ranking(
        models=tuple(models),
        p_MM=np.array([[1, p, 0.001], [p, 1, 0.2], [0.001, 0.2, 1]]),
        ties=(("<b>", "two"), ("two", "three")),
        over="sentences",
        sentences={"a": 500},
        pairs=(("en", "de"),),
        settings=RankConfig().model_dump(),
        remarks=("two: 3 sentences were cut",),
    )


def test_the_finding_names_what_is_tied():
    assert ranking_finding(ranked(0.01)) == (
        "<b> finds most translations, 50.0 % (48.0 to 52.0), significantly more than every other"
    )
    assert ranking_finding(ranked(0.3)).endswith("cannot be told apart from two; the others are significantly behind")
    three = replace(ranked(0.3), p_MM=np.ones((3, 3)))
    assert ranking_finding(three).endswith("cannot be told apart from two and three")


def test_the_page_in_a_browser(seen):
    page = ranking_page(ranked(0.3), facts=["isoglot rank"])
    assert "&lt;b&gt; finds most" in page.html()
    seen(page)
