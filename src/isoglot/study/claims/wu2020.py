"""The tests of claims W1 to W17 of Wu et al. (2020), Emerging Cross-lingual Structure in Pretrained Language Models.

``claims.toml`` has the claims in words. Unless a test says otherwise it is on the average over the languages that all
arms of the comparison have, task by task.

- *Near* languages are German and French, the *middle* one is Russian, the *distant* one Chinese. The paper has French,
  Russian and Chinese; German stands for French. A role with several languages is their average.
- *Close to the floor* and *much larger* mean three times: W6, W7, W9.
- *At floor*: an arm's floor is the same arm untrained. A part on a task is at floor unless Default is more than
  6 points (twice the margin of 3) above its floor, on average over the languages of the part. Where untrained arms were
  not measured, a note says so. CKA (W13, W15) is at floor unless the bilingual model has learned something, which its
  dev perplexity says.
- Layers are compared by relative depth: layer 1 of 8 is 0.125.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoglot.compare.measures.cka import FORMS
from isoglot.study.claims.evidence import Alias, Claim, Evidence, average, declare
from isoglot.study.claims.statistics import FAR, MARGIN, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from isoglot.study.numbers import Coordinate

TASKS = {"nli": "NLI", "ner": "NER", "parsing": "parsing"}
"""Measures of Table 1, in the paper's order from easy to hard."""
ARMS = {
    "default": "Default",
    "wiki-cc": "Wiki-CC",
    "no-anchors": "No anchors",
    "default-anchors": "Default anchors",
    "extra-anchors": "Extra anchors",
    "sep-emb": "Sep Emb",
    "sep-l1-3": "Sep L1-3",
    "sep-l1-6": "Sep L1-6",
    "sep-emb+l1-3": "Sep Emb + L1-3",
    "sep-emb+l1-6": "Sep Emb + L1-6",
}
"""Arms of Table 1; there is also ``default-cut``, Default with the other language cut to the size of Wiki-CC's."""
ROLES = {"near": ("de", "fr"), "middle": ("ru",), "distant": ("zh",)}
"""Languages by their distance to English."""

WU2020: dict[str, Claim] = {}
"""The claims by name."""
_REFERENCES: dict[str, list[Alias]] = {
    "against Default anchors": [({"arm": "default"}, {"arm": "default-anchors"})],
    "against Default with the same parts frozen": [
        ({"arm": "default", "against": arm}, {"variant": arm.replace("sep-", "frozen-")})
        for arm in ARMS
        if arm.startswith("sep-")
    ],
}
_CKA: dict[str, list[Alias]] = {
    f"with {name} CKA": [({"estimator": "paper"}, {"estimator": name})] for name in FORMS if name != "paper"
}
_MAPPED, _BILINGUAL = {"arm": "monolingual", "map": "procrustes"}, {"arm": "bilingual"}


# --- Table 1 ---


@declare(WU2020, "W1")
def _domain(e: Evidence) -> Iterator[Part]:
    losses = {}
    for task in TASKS:
        languages = _languages(e, task, "default", "wiki-cc")
        cut = [code for code in languages if e.has(task, arm="default-cut", language=code)]
        arms = {code: "default-cut" if code in cut else "default" for code in languages}
        default = average([e.value(task, arm=arm, language=code) for code, arm in arms.items()])
        losses[task] = default - _mean(e, task, "wiki-cc", languages)
        yield _part(e, "Default - Wiki-CC", losses[task], task, languages)
        if cut:
            e.notes[f"Default cut to the size of Wiki-CC in {', '.join(cut)}"] = None
    lead = losses["ner"] - np.maximum(losses["nli"], losses["parsing"])
    headroom = _headroom(e, TASKS, _languages(e, "ner", "default", "wiki-cc"))
    yield Part(name="loss in NER - the larger of the others", values=lead, above=0.0, headroom=headroom)


@declare(WU2020, "W2")
def _no_anchors(e: Evidence) -> Iterator[Part]:
    for task in TASKS:
        yield _difference(e, task, "no-anchors", "default", above=-MARGIN, below=MARGIN)
        languages = _languages(e, task, "default", "no-anchors")
        arm, floor = (_mean(e, task, "no-anchors", languages, variant=one) for one in (None, "untrained"))
        yield _part(e, "No anchors - its floor", arm - floor, task, languages, above=2 * MARGIN)


@declare(WU2020, "W3")
def _joint_bpe(e: Evidence) -> Iterator[Part]:
    for task in ("nli", "parsing"):
        yield _difference(e, task, "default-anchors", "default", above=-MARGIN, below=MARGIN)


@declare(WU2020, "W4")
def _extra_anchors(e: Evidence) -> Iterator[Part]:
    arms = ("extra-anchors", "default")

    def gain(task: str, role: str) -> np.ndarray:
        there = _role(e, role, _languages(e, task, *reversed(arms)), task)
        extra, default = (_mean(e, task, arm, there) for arm in arms)
        return np.asarray(extra - default)

    gains = [gain("ner", "distant"), gain("nli", "distant"), gain("nli", "near")]
    for task in ("nli", "parsing"):
        yield _difference(e, task, *arms)
    distant = _role(e, "distant", _languages(e, "ner", "default"), "ner")
    headroom = _headroom(e, ["ner"], distant)
    yield Part(name="gain in NER, distant", values=gains[0], above=0.0, headroom=headroom)
    headroom = _headroom(e, ["nli"], _languages(e, "nli", *arms))
    yield Part(name="gain in NLI, distant - near", values=gains[1] - gains[2], above=0.0, headroom=headroom)


@declare(WU2020, "W5")
def _softmax(e: Evidence) -> Iterator[Part]:
    for task in TASKS:
        yield _difference(e, task, "no-anchors", "sep-emb")


@declare(WU2020, "W6", beside=_REFERENCES)
def _layers(e: Evidence) -> Iterator[Part]:
    for task in TASKS:
        languages = _languages(e, task, "default", "sep-l1-3", "sep-l1-6")
        three, six = (_mean(e, task, arm, languages) for arm in ("sep-l1-3", "sep-l1-6"))
        defaults = [_mean(e, task, "default", languages, against=arm) for arm in ("sep-l1-3", "sep-l1-6")]
        little, much = defaults[0] - three, defaults[1] - six
        yield _part(e, "Default - Sep L1-3", little, task, languages)
        yield _part(e, "Sep L1-3 - Sep L1-6", three - six, task, languages)
        yield _part(e, "loss of Sep L1-6 - 3 × loss of Sep L1-3", much - FAR * little, task, languages)


@declare(WU2020, "W7", beside=_REFERENCES)
def _near_chance(e: Evidence) -> Iterator[Part]:
    name = "sep-emb+l1-6"
    for task, title in TASKS.items():
        languages = [one for one in _languages(e, task, "default", name) if one in ROLES["middle"] + ROLES["distant"]]
        if not languages:
            e.absent(f"{task} in a language that is not near")
        for language in languages:
            arm, floor = (_mean(e, task, name, [language], variant=variant) for variant in (None, "untrained"))
            default = _mean(e, task, "default", [language], against=name)
            values, headroom = default - arm - FAR * (arm - floor), _headroom(e, [task], [language])
            words = f"loss - 3 × (Sep Emb + L1-6 - its floor), {title} {language}"
            yield Part(name=words, values=values, above=0.0, headroom=headroom)


@declare(WU2020, "W8")
def _closer(e: Evidence) -> Iterator[Part]:
    for task in ("nli", "parsing"):
        tested = False
        there = {arm for arm, _ in e.places(task, "arm", "language")}
        for arm, title in ((arm, title) for arm, title in ARMS.items() if arm in there):
            languages = _languages(e, task, arm)
            headroom = _headroom(e, [task], languages, arm)
            if arm != "default" and headroom is not None and headroom <= 2 * MARGIN:
                e.notes[f"{title} is at floor in {TASKS[task]} and left out"] = None
                continue
            roles = [[one for one in languages if one in codes] for codes in ROLES.values()]
            ordered = [codes for codes in roles if codes]
            from_near = [(roles[0], one) for one in ordered[1:] if roles[0]]
            for closer, farther in from_near if task == "nli" else pairwise(ordered):
                gap = _mean(e, task, arm, closer) - _mean(e, task, arm, farther)
                words = f"{'/'.join(closer)} - {'/'.join(farther)}, {TASKS[task]}, {title}"
                headroom = _headroom(e, [task], _languages(e, task, "default"))
                yield Part(name=words, values=gap, above=0.0, headroom=headroom)
                tested = True
        if not tested:
            e.absent(f"{task} in languages of two distances to English, in an arm")


@declare(WU2020, "W16", beside=_REFERENCES)
def _distant_loss(e: Evidence) -> Iterator[Part]:
    for task, title in TASKS.items():
        losses, headrooms = [], []
        for role in ("distant", "near"):
            languages = _role(e, role, _languages(e, task, "default", "sep-l1-6"), task)
            arm = _mean(e, task, "sep-l1-6", languages)
            default = _mean(e, task, "default", languages, against="sep-l1-6")
            room = default - _mean(e, task, "default", languages, variant="untrained")
            losses.append(_ratio(default - arm, room))
            headrooms.append(float(room[0]))
        name, values = f"relative loss, distant - near, {title}", losses[0] - losses[1]
        yield Part(name=name, values=values, above=0.0, digits=2, headroom=min(headrooms))


@declare(WU2020, "W17")
def _harder(e: Evidence) -> Iterator[Part]:
    gaps = {}
    for task in TASKS:
        both = _languages(e, task, "default", "extra-anchors")
        roles = [_role(e, role, both, task) for role in ("near", "distant")]
        for arm in ("default", "extra-anchors"):
            near, distant = (_mean(e, task, arm, languages) for languages in roles)
            gaps[task, arm] = near - distant
    for easier, harder in pairwise(TASKS):
        values = gaps[harder, "default"] - gaps[easier, "default"]
        headroom = _headroom(e, [easier, harder], _languages(e, harder, "default"))
        name = f"gap in {TASKS[harder]} - gap in {TASKS[easier]}"
        yield Part(name=name, values=values, above=0.0, headroom=headroom)
    for task in TASKS:
        values = gaps[task, "default"] - gaps[task, "extra-anchors"]
        yield _part(e, "gap of Default - gap of Extra anchors", values, task, _languages(e, task, "default"))


# --- figures ---


@declare(WU2020, "W9")
def _embeddings(e: Evidence) -> Iterator[Part]:
    encoder: dict[str, Any] = {"system": "encoder", "layer": 0, "vectors": "embeddings"}
    fasttext = {"system": "fasttext", "vectors": "embeddings"}
    languages = e.shared("language", ("word_p1", encoder), ("word_p1", fasttext))
    ours, theirs = (e.mean("word_p1", {"language": languages}, **one) for one in (encoder, fasttext))
    yield _found("P@1 - 3 × (fastText's P@1 - P@1)", ours - FAR * (theirs - ours), theirs)


@declare(WU2020, "W10")
def _contexts(e: Evidence) -> Iterator[Part]:
    encoder, fasttext = ({"system": system, "vectors": "contexts"} for system in ("encoder", "fasttext"))
    grid = _grid(e, ("word_p1", encoder))
    languages = [one for one in e.shared("language", ("word_p1", fasttext)) if one in grid.languages]
    if not languages:
        e.absent("word_p1 of encoder and fasttext in the same language")
    curve = _curve(e, "word_p1", grid, languages, **encoder)
    baseline = e.mean("word_p1", {"language": languages}, **fasttext)
    yield _found("slope of P@1 over relative depth", slope(grid.depths, curve), baseline)
    yield _found("fastText's P@1 - best layer's", baseline - np.max(curve, axis=0), baseline)


@declare(WU2020, "W11")
def _mapped(e: Evidence) -> Iterator[Part]:
    gaps, headrooms = {}, []
    for task in ("ner", "parsing"):
        grid = _grid(e, (task, _MAPPED), (task, _BILINGUAL))
        gaps[task] = _gap(e, task, grid, _BILINGUAL, _MAPPED)
        headroom = _layer_headroom(e, task, grid)
        headrooms += [] if headroom is None else [headroom]
        middle = _lead(e, _curve(e, task, grid, **_MAPPED), [0.25 <= depth <= 0.75 for depth in grid.depths])
        name = f"best middle layer - best other, {TASKS[task]}"
        yield Part(name=name, values=middle, above=0.0, headroom=headroom)
        farther = [one for one in grid.languages if task == "ner" or one not in ROLES["near"]]
        if farther:
            name = f"bilingual - mapped, {TASKS[task]}, {'/'.join(farther)}"
            gap = _gap(e, task, grid, _BILINGUAL, _MAPPED, farther)
            yield Part(name=name, values=gap, above=0.0, headroom=headroom)
        else:
            e.notes["no language but near ones: bilingual - mapped is not tested on parsing"] = None
    values, least = gaps["ner"] - gaps["parsing"], min(headrooms, default=None)
    yield Part(name="bilingual - mapped, NER - parsing", values=values, above=0.0, headroom=least)


@declare(WU2020, "W12")
def _sentences(e: Evidence) -> Iterator[Part]:
    grid = _grid(e, ("sentence_p1", _MAPPED))
    curve = _curve(e, "sentence_p1", grid, **_MAPPED)
    lead = _lead(e, curve, [depth <= 0.5 for depth in grid.depths])
    yield _found("best lower layer - best upper layer, P@1", lead, np.max(curve, axis=0))


@declare(WU2020, "W13", beside=_CKA)
def _similarity(e: Evidence) -> Iterator[Part]:
    ats = {arm: {"arm": arm, "estimator": "paper"} for arm in ("bilingual", "monolingual", "random")}
    grid = _grid(e, *(("cka", at) for at in ats.values()))
    room = e.learned("default", grid.languages)
    for one, other in pairwise(ats):
        gap = _gap(e, "cka", grid, ats[one], ats[other])
        yield Part(name=f"{one} - {other}", values=gap, above=0.0, digits=3, **room)
    for arm in ("bilingual", "monolingual"):
        lead = _lead(e, _curve(e, "cka", grid, **ats[arm]), [depth <= 0.125 for depth in grid.depths])
        yield Part(name=f"best first layer - best other, {arm}", values=lead, above=0.0, digits=3, **room)


@declare(WU2020, "W14", beside=_CKA)
def _correlation(e: Evidence) -> Iterator[Part]:
    cells = (("cka", {"arm": "monolingual", "estimator": "paper"}), ("sentence_p1", _MAPPED))
    grid = _grid(e, *cells)
    if len(grid.layers) < 4:  # fewer points correlate by chance
        e.absent("cka and sentence_p1 in at least 4 layers")
    for language in grid.languages:
        similar, found = (_curve(e, measure, grid, [language], **at) for measure, at in cells)
        best = np.max(found, axis=0)
        yield _found(f"Pearson's r, {language}", pearson(similar, found), best, above=0.9, scale="fisher")


@declare(WU2020, "W15", beside=_CKA)
def _similarity_gap(e: Evidence) -> Iterator[Part]:
    one, other = ({"arm": arm, "estimator": "paper"} for arm in ("bilingual", "monolingual"))
    grid = _grid(e, ("cka", one), ("cka", other))
    near, distant = (
        _gap(e, "cka", grid, one, other, _role(e, role, grid.languages, "cka")) for role in ("near", "distant")
    )
    room = e.learned("default", grid.languages)
    yield Part(name="gap, near - distant", values=near - distant, above=0.0, digits=3, **room)


# --- statistics ---


def slope(places: Sequence[float], curve: Sequence[np.ndarray]) -> np.ndarray:
    """Slope of the least-squares line through values (arrays of replicates) at the given places.

    >>> slope([0.0, 0.5, 1.0], [np.array([1.0]), np.array([2.0]), np.array([3.0])])
    array([2.])
    """
    centered = np.asarray(places, float) - np.mean(places)
    return np.asarray((centered[:, None] * np.stack(curve)).sum(axis=0) / (centered**2).sum())


def pearson(one: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> np.ndarray:
    """Pearson correlation of two lists of values (arrays of replicates); 0 where one is constant.

    >>> pearson(list(np.array([[1.0], [2.0], [4.0]])), list(np.array([[-2.0], [-4.0], [-8.0]])))
    array([-1.])
    """
    x, y = (np.stack(each) - np.mean(each, axis=0) for each in (one, other))
    return _ratio((x * y).sum(axis=0), np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0)))


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient, 0 where the denominator is."""
    return np.asarray(np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0))


# --- tasks ---


def _languages(e: Evidence, task: str, *arms: str) -> list[str]:
    """Languages that all of the arms were tested on."""
    return e.shared("language", *((task, {"arm": arm}) for arm in arms))


def _role(e: Evidence, role: str, languages: Sequence[str], measure: str) -> list[str]:
    """The languages that have a role: near, middle or distant."""
    found = [language for language in languages if language in ROLES[role]]
    if not found:
        e.absent(f"{measure} in a {role} language ({' or '.join(ROLES[role])})")
    return found


def _mean(e: Evidence, task: str, arm: str, languages: Sequence[str], **at: Coordinate | None) -> np.ndarray:
    """The average of an arm over languages; the coordinate ``against`` is the arm that it is a reference for."""
    return e.mean(task, {"language": languages}, arm=arm, **at)


def _headroom(e: Evidence, tasks: Iterable[str], languages: Sequence[str], arm: str = "default") -> float | None:
    """Score of an arm minus its floor, averaged over languages, the least of the tasks; None where not measured."""
    found = [e.headroom(task, languages, {"arm": arm}) for task in tasks]
    return min((one for one in found if one is not None), default=None)


def _part(
    e: Evidence, name: str, values: np.ndarray, task: str, languages: Sequence[str], *, above: float = 0.0
) -> Part:
    """A part on one task, with the headroom of Default in the given languages."""
    headroom = _headroom(e, [task], languages)
    return Part(name=f"{name}, {TASKS[task]}", values=values, above=above, headroom=headroom)


def _difference(
    e: Evidence, task: str, arm: str, other: str, *, above: float = 0.0, below: float | None = None
) -> Part:
    """An arm minus another one, on average over the languages that both have."""
    languages = _languages(e, task, arm, other)
    values = _mean(e, task, arm, languages) - _mean(e, task, other, languages)
    name, headroom = f"{ARMS[arm]} - {ARMS[other]}, {TASKS[task]}", _headroom(e, [task], languages)
    return Part(name=name, values=values, above=above, below=below, headroom=headroom)


# --- layers ---


class _Grid(NamedTuple):
    """Languages, the layers that were measured in all of them, and the layers' relative depth."""

    languages: list[str]
    layers: list[int]
    depths: list[float]


def _grid(e: Evidence, *cells: tuple[str, dict[str, Any]]) -> _Grid:
    """Languages that all of the cells have, and layers that they have in all of these."""
    common = set.intersection(*(set(e.places(measure, "language", "layer", **at)) for measure, at in cells))
    languages = sorted({language for language, _ in common})
    layers = sorted({layer for _, layer in common if all((one, layer) in common for one in languages)})
    if not layers:
        e.absent(f"{' and '.join(dict(cells))} in the same layers of a language, in all arms")
    measure, at = cells[0]
    depth = e.depth(measure, layers, **at, language=languages[0])
    return _Grid(languages, layers, [layer / depth for layer in layers])


def _curve(
    e: Evidence, measure: str, grid: _Grid, languages: Sequence[str] | None = None, **at: Coordinate | None
) -> list[np.ndarray]:
    """The average over languages, layer by layer."""
    over = {"language": grid.languages if languages is None else languages}
    return [e.mean(measure, over, layer=layer, **at) for layer in grid.layers]


def _gap(
    e: Evidence, measure: str, grid: _Grid, one: dict[str, str], other: dict[str, str], there: list[str] | None = None
) -> np.ndarray:
    """The difference of two arms, averaged over layers and languages."""
    higher, lower = (average(_curve(e, measure, grid, there, **at)) for at in (one, other))
    return np.asarray(higher - lower)


def _lead(e: Evidence, curve: Sequence[np.ndarray], chosen: Sequence[bool]) -> np.ndarray:
    """The highest of the chosen layers minus the highest of the others."""
    ours, others = ([some for some, one in zip(curve, chosen, strict=True) if one is side] for side in (True, False))
    if not (ours and others):
        e.absent("layers of more relative depths")
    return np.asarray(np.max(ours, axis=0) - np.max(others, axis=0))


def _found(name: str, values: np.ndarray, reference: np.ndarray, *, above: float = 0.0, scale: Any = "plain") -> Part:  # noqa: ANN401
    """A part on P@1, whose reference must be above 0.06: the floor of retrieval is 0."""
    options: dict[str, Any] = {"headroom": float(reference[0]), "margin": MARGIN / 100}
    return Part(name=name, values=values, above=above, digits=3, scale=scale, **options)


def _layer_headroom(e: Evidence, task: str, grid: _Grid) -> float | None:
    """Best layer of the bilingual model minus its floor in Figure 5; None where the floor was not measured."""
    at = {"arm": "bilingual", "variant": "untrained"}
    if not all(e.has(task, language=one, layer=layer, **at) for one in grid.languages for layer in grid.layers):
        e.notes["floor not measured"] = None
        return None
    best, floor = (np.max(_curve(e, task, grid, **one), axis=0) for one in (_BILINGUAL, at))
    return float((best - floor)[0])
