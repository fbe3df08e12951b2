"""The page of the thumbnail study: which encoders found translations that nobody had shown them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.model.plan import SharingPlan
from isoglot.report.lines import Line, line_chart
from isoglot.report.page import Figure, Section, page, table
from isoglot.report.plan import plan_svg
from isoglot.report.svg_file import svg_file
from isoglot.study.demo.thumbnail import ARMS, ArmResult

if TYPE_CHECKING:
    from collections.abc import Sequence

_ARMS = {arm.name: arm for arm in ARMS}
_EMERGES = "A shared space emerges while the model learns to fill in blanks"


def thumbnail_page(
    results: Sequence[ArmResult], *, tested: int, more: Sequence[Section] = (), facts: Sequence[str] = ()
) -> str:
    """The page.

    Args:
        results: What each arm came to.
        tested: How many sentences each was asked about.
        more: What else there is to see, after what the arms came to.
        facts: Lines for its foot.
    """
    chance = 100 / tested
    return page(
        "How two languages come to share one space",
        lead(results, tested),
        [
            _emergence(results, chance),
            _layers(results, chance),
            _arms(results, tested),
            *_drawings(results),
            *more,
            _next(),
        ],
        facts=facts,
    )


def lead(results: Sequence[ArmResult], tested: int) -> str:
    """What was found, whatever it was: the best first, chance last."""
    ranked = sorted(results, key=lambda result: -result.best)
    said = [f"“{_title(result)}” {_percent(result.best)}" for result in ranked]
    return (
        f"Nobody showed these encoders a translation. Asked for the twins of {tested:,} sentences they had never read, "
        f"they found: {'; '.join(said)}. Chance is {_percent(1 / tested)}."
    )


def emergence_svg(results: Sequence[ArmResult], *, tested: int) -> str:
    """How often each encoder found twins while it learned, as a file of its own."""
    note = f"Twins of {tested:,} held-out sentences; best layer, each language's mean removed (from other sentences)."
    return svg_file(_curves(results, 100 / tested), _EMERGES, note)


def _curves(results: Sequence[ArmResult], chance: float) -> str:
    lines = [
        Line(
            name=_title(result),
            points=[(moment.tokens / 1e6, 100 * max(moment.centered)) for moment in result.moments],
        )
        for result in results
    ]
    return line_chart(lines, across="text seen, million tokens", up="right twin found (P@1), %", floor_at=chance)


def _emergence(results: Sequence[ArmResult], chance: float) -> Section:
    best = max(results, key=lambda result: result.best)
    return Section(
        title=_EMERGES,
        words=(
            "Each encoder only ever reads text of one language at a time and guesses masked words.",
            "Every now and then it is asked: which held-out sentence of the other language is nearest to this one?",
        ),
        figures=(
            Figure(
                drawing=_curves(results, chance),
                caption="Share of held-out sentences whose nearest neighbor in the other language is their twin; "
                "best layer, each language's mean removed, estimated on other sentences. "
                f"At the end: “{_title(best)}” {_percent(best.best)}.",
            ),
        ),
    )


def _layers(results: Sequence[ArmResult], chance: float) -> Section:
    return Section(
        title="Where in the model the languages meet",
        words=(
            "Layer 0 is the embedding of the words; each further layer has mixed in more of the context.",
            "Taking each language's mean away, one vector a language, lets the two clouds of sentences meet.",
        ),
        figures=(
            Figure(
                drawing=line_chart(
                    [
                        Line(name=_title(result), points=[(n, 100 * p) for n, p in enumerate(result.centered)])
                        for result in results
                    ],
                    across="layer",
                    up="P@1, means removed, %",
                    floor_at=chance,
                    whole=True,
                ),
                caption="P@1 of every layer after training; means are estimated on other sentences than the query.",
            ),
        ),
        table=table(
            ["encoder", *(f"layer {n}" for n in range(len(results[0].raw)))],
            [
                [f"{_title(result)}{note}", *(_percent(value) for value in values)]
                for result in results
                for note, values in ((", as it is", result.raw), (", means removed", result.centered))
            ],
        ),
    )


def _arms(results: Sequence[ArmResult], tested: int) -> Section:
    rows = []
    for result in results:
        arm = _ARMS[result.name]
        low, high = wilson(result.best, tested)
        rows.append(
            [
                arm.title,
                arm.meaning,
                f"{result.anchors:,}",
                f"{result.tokens / 1e6:.1f} M",
                " / ".join(f"{value:.1f}" for value in result.perplexity.values()),
                f"{_percent(result.best)} ({100 * low:.0f} to {100 * high:.0f})",
            ]
        )
    return Section(
        title="What was compared",
        words=(
            "English here is a small built-in language, and its twin is the same language in a private script.",
            "So what translates what is known, and yet the two texts the encoder reads never say the same thing.",
        ),
        table=table(
            [
                "encoder",
                "what it shares",
                "shared pieces",
                "tokens",
                "dev perplexity, en / twin",
                "best P@1 (95 % interval)",
            ],
            rows,
            numbers_from=2,
        ),
    )


def _drawings(results: Sequence[ArmResult]) -> list[Section]:
    """The plan of the arm that is not all shared."""
    names = {result.name for result in results}
    if "separated" not in names:
        return []
    depth = len(results[0].raw) - 1
    plan = SharingPlan.parse(f"emb,pos,1-{depth - 1},transform,softmax", depth)
    return [
        Section(
            title="What separated means",
            figures=(Figure(drawing=plan_svg(plan, ("en", "twin"), depth=depth), caption="The separated encoder."),),
        )
    ]


def _next() -> Section:
    return Section(
        title="What to try next",
        words=(
            "isoglot languages twin makes a twin of any text.",
            "isoglot pretrain trains an encoder with any plan, vocabulary and languages.",
            "isoglot retrieve and isoglot align measure any encoder, layer by layer.",
        ),
    )


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a share of so many.

    >>> tuple(round(end, 3) for end in wilson(0.5, 100))
    (0.404, 0.596)
    """
    z = 1.96
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * (share * (1 - share) / count + z * z / (4 * count * count)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def _title(result: ArmResult) -> str:
    return _ARMS[result.name].title


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"
