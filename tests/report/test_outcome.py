"""The page of a task that was learned in one language and tested in others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from isoglot.report.transfer import outcome_finding, outcome_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoglot.report.page import Page


def outcome(scores: dict[str, float], *, seeds: int = 2) -> Any:
    """An outcome as far as a page looks at it."""

    def line(code: str, way: str, score: float) -> Any:
        facts = {"score": score, "low": score - 2, "high": score + 2, "seeds": seeds, "seed_deviation": 0.7}
        estimate = SimpleNamespace(over_seeds=SimpleNamespace(seeds=seeds))
        given = {"language": code, "way": way, **facts, "uas": score + 5}
        return SimpleNamespace(language=code, way=way, estimate=estimate, others={"uas": 0.0}, facts=lambda: given)

    lines = [line(code, way, score) for code, score in scores.items() for way in ("source dev", "oracle")]
    history = [{"epoch": at, "dev": {"en": 60.0 + at, "de": 40.0 + at}} for at in (1, 2, 3)]
    return SimpleNamespace(
        task="pos",
        metric="accuracy",
        languages=("en",),
        lines=lines,
        best=SimpleNamespace(history=history, epoch=3),
        learned=SimpleNamespace(finding=lambda: "Learned from en: accuracy 63.0 on its dev set, epoch 3."),
    )


def test_the_page_has_every_score(seen: Callable[[Page], None]) -> None:
    page = outcome_page(outcome({"de": 71.04, "<zh>": 34.5}), facts=["isoglot transfer pos"])
    assert list(page.figures()) == ["scores", "training"]
    assert page.lead.startswith("de gets 71.0 %, <zh> 34.5 % (accuracy)")
    assert page.tables()[0].column("score") == [71.04, 71.04, 34.5, 34.5]
    assert "71.0 [69.0, 73.0]" in page.html()
    seen(page)


@pytest.mark.parametrize(("seeds", "shown"), [(1, False), (2, True)])
def test_seeds_differ_only_where_there_are_several(seeds: int, shown: bool) -> None:
    assert ("deviation over seeds" in outcome_page(outcome({"de": 50.0}, seeds=seeds)).html()) == shown


def test_one_language_alone_is_not_compared() -> None:
    assert outcome_finding(outcome({"de": 50.0})) == "de gets 50.0 % (accuracy)"
