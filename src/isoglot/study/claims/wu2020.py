"""The claims W1 to W17 of Wu et al. (2020), Emerging Cross-lingual Structure in Pretrained Language Models.

Unless a test says otherwise it is on the average over the languages that all arms of the comparison have, task by task.

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

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.compare.measures.cka import FORMS
from isoglot.study.claims.claim import Claim, declare
from isoglot.study.claims.evidence import average
from isoglot.study.claims.statistics import FAR, MARGIN, Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.study.claims.evidence import Alias, Evidence
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
"""Arms of Table 1. Beside them: ``default-cut``, Default with the other language cut to the size of Wiki-CC's."""
ROLES = {"near": ("de", "fr"), "middle": ("ru",), "distant": ("zh",)}
"""Languages by their distance to English."""

WU2020: dict[str, Claim] = {}
"""The claims by name."""
_claim = partial(declare, WU2020)

_TABLE1 = "nli(arm, language); ner(arm, language); parsing(arm, language)"
_FLOORS = "nli(arm, language, variant); ner(arm, language, variant); parsing(arm, language, variant)"
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


@_claim(
    "W1",
    "Domain mismatch costs a little, NER most.",
    test="Default - Wiki-CC above 0 on every task, largest on NER; with Default cut to the same size where there is "
    "such an arm",
    reads=f"{_TABLE1}; {_FLOORS}",
)
def _domain(e: Evidence) -> list[Part]:
    losses, parts = {}, []
    for task, title in TASKS.items():
        languages = _languages(e, task, "default", "wiki-cc")
        reference = {
            language: "default-cut" if e.has(task, arm="default-cut", language=language) else "default"
            for language in languages
        }
        default = average([e.value(task, arm=arm, language=language) for language, arm in reference.items()])
        losses[task] = default - _mean(e, task, "wiki-cc", languages)
        parts.append(_part(e, f"Default - Wiki-CC, {title}", losses[task], task, languages))
        if "default-cut" in reference.values():
            e.notes["Default cut to the size of Wiki-CC in " + ", ".join(_where(reference, "default-cut"))] = None
    lead = losses["ner"] - np.maximum(losses["nli"], losses["parsing"])
    languages = _languages(e, "ner", "default", "wiki-cc")
    return [*parts, _part(e, "loss in NER - the larger of the others", lead, "nli ner parsing", languages)]


@_claim(
    "W2",
    "Transfer survives without any anchor.",
    test="No anchors within 3 points of Default on every task, and more than 6 points above its floor",
    reads=f"{_TABLE1}; {_FLOORS}",
)
def _no_anchors(e: Evidence) -> list[Part]:
    parts = []
    for task, title in TASKS.items():
        languages = _languages(e, task, "default", "no-anchors")
        arm = _mean(e, task, "no-anchors", languages)
        floor = _mean(e, task, "no-anchors", languages, variant="untrained")
        change = arm - _mean(e, task, "default", languages)
        parts += [
            _part(e, f"No anchors - Default, {title}", change, task, languages, above=-MARGIN, below=MARGIN),
            _part(e, f"No anchors - its floor, {title}", arm - floor, task, languages, above=2 * MARGIN),
        ]
    return parts


@_claim(
    "W3",
    "Joint BPE is not needed.",
    test="Default anchors within 3 points of Default on NLI and parsing",
    reads="nli(arm, language); parsing(arm, language); nli(arm, language, variant); parsing(arm, language, variant)",
)
def _joint_bpe(e: Evidence) -> list[Part]:
    return [
        _difference(e, task, "default-anchors", "default", above=-MARGIN, below=MARGIN) for task in ("nli", "parsing")
    ]


@_claim(
    "W4",
    "Extra anchors help, the distant pair most.",
    test="Extra anchors - Default above 0 on NLI and parsing, and on NER of the distant language; the gain on NLI "
    "larger for the distant language than for the near one",
    reads=f"{_TABLE1}; {_FLOORS}",
)
def _extra_anchors(e: Evidence) -> list[Part]:
    gains = {
        (task, role): _mean(e, task, "extra-anchors", languages) - _mean(e, task, "default", languages)
        for task, role in (("ner", "distant"), ("nli", "distant"), ("nli", "near"))
        for languages in [_role(e, role, task, "default", "extra-anchors")]
    }
    return [
        *(_difference(e, task, "extra-anchors", "default") for task in ("nli", "parsing")),
        _part(e, "gain in NER, distant", gains["ner", "distant"], "ner", _role(e, "distant", "ner", "default")),
        _part(
            e,
            "gain in NLI, distant - near",
            gains["nli", "distant"] - gains["nli", "near"],
            "nli",
            _languages(e, "nli", "default", "extra-anchors"),
        ),
    ]


@_claim(
    "W5",
    "A shared softmax helps beyond anchors.",
    test="No anchors - Sep Emb above 0 on every task",
    reads=f"{_TABLE1}; {_FLOORS}",
)
def _softmax(e: Evidence) -> list[Part]:
    return [_difference(e, task, "no-anchors", "sep-emb") for task in TASKS]


@_claim(
    "W6",
    "Separating layers 1 to 3 costs little, 1 to 6 a lot.",
    test="Default > Sep L1-3 > Sep L1-6 on every task, and the loss of Sep L1-6 at least three times that of Sep L1-3",
    reads=f"{_TABLE1}; {_FLOORS}",
    beside=_REFERENCES,
)
def _layers(e: Evidence) -> list[Part]:
    parts = []
    for task, title in TASKS.items():
        languages = _languages(e, task, "default", "sep-l1-3", "sep-l1-6")
        three, six = (_mean(e, task, arm, languages) for arm in ("sep-l1-3", "sep-l1-6"))
        losses = [
            _mean(e, task, "default", languages, against=against) - arm
            for against, arm in (("sep-l1-3", three), ("sep-l1-6", six))
        ]
        parts += [
            _part(e, f"{name}, {title}", values, task, languages)
            for name, values in (
                ("Default - Sep L1-3", losses[0]),
                ("Sep L1-3 - Sep L1-6", three - six),
                ("loss of Sep L1-6 - 3 × loss of Sep L1-3", losses[1] - FAR * losses[0]),
            )
        ]
    return parts


@_claim(
    "W7",
    "Sep Emb + L1-6 is near chance.",
    test="in each language but the near ones, on every task, the loss against Default is at least three times what is "
    "left above the floor",
    reads=f"{_TABLE1}; {_FLOORS}",
    beside=_REFERENCES,
)
def _near_chance(e: Evidence) -> list[Part]:
    parts = []
    for task, title in TASKS.items():
        there = _languages(e, task, "default", "sep-emb+l1-6")
        languages = [language for language in there if language in ROLES["middle"] + ROLES["distant"]]
        if not languages:
            e.absent(f"{task} in a language that is not near")
        for language in languages:
            arm, floor = (
                _mean(e, task, "sep-emb+l1-6", [language], variant=variant) for variant in (None, "untrained")
            )
            default = _mean(e, task, "default", [language], against="sep-emb+l1-6")
            name = f"loss - 3 × (Sep Emb + L1-6 - its floor), {title} {language}"
            parts.append(_part(e, name, default - arm - FAR * (arm - floor), task, [language]))
    return parts


@_claim(
    "W8",
    "Closer languages transfer better.",
    test="in each arm, near above middle and distant on NLI, and near > middle > distant on parsing; other arms than "
    "Default that are at most 6 points above their own floor are left out",
    reads="nli(arm, language); parsing(arm, language); nli(arm, language, variant); parsing(arm, language, variant)",
)
def _closer(e: Evidence) -> list[Part]:
    parts: list[Part] = []
    for task in ("nli", "parsing"):
        before = len(parts)
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
                name = f"{'/'.join(closer)} - {'/'.join(farther)}, {TASKS[task]}, {title}"
                parts.append(_part(e, name, gap, task, _languages(e, task, "default")))
        if len(parts) == before:
            e.absent(f"{task} in languages of two distances to English, in an arm")
    return parts


@_claim(
    "W9",
    "Embedding matrices of two monolingual BERTs align with one orthogonal map, about as well as fastText on the same "
    "words.",
    test="P@1 of the encoder's embeddings at least three times what it lacks beside fastText's; at floor unless "
    "fastText has more than 0.06",
    reads="word_p1(language, layer, system, vectors); word_p1(language, system, vectors)",
    printed=False,
)
def _embeddings(e: Evidence) -> list[Part]:
    encoder: dict[str, Any] = {"system": "encoder", "layer": 0, "vectors": "embeddings"}
    fasttext = {"system": "fasttext", "vectors": "embeddings"}
    languages = e.shared("language", ("word_p1", encoder), ("word_p1", fasttext))
    ours, theirs = (e.mean("word_p1", {"language": languages}, **one) for one in (encoder, fasttext))
    return [
        Part(
            name="P@1 - 3 × (fastText's P@1 - P@1)",
            values=ours - FAR * (theirs - ours),
            above=0.0,
            digits=3,
            headroom=float(theirs[0]),
            margin=MARGIN / 100,
        )
    ]


@_claim(
    "W10",
    "Word vectors averaged over contexts align too, better in higher layers than in lower ones, below fastText.",
    test="P@1 rises with relative depth (slope of a line); fastText's P@1 above that of every layer; at floor unless "
    "fastText has more than 0.06",
    reads="word_p1(language, layer, system, vectors); word_p1(language, system, vectors)",
    printed=False,
)
def _contexts(e: Evidence) -> list[Part]:
    encoder, fasttext = ({"system": system, "vectors": "contexts"} for system in ("encoder", "fasttext"))
    languages, layers, depths = _grid(e, ("word_p1", encoder))
    languages = [one for one in e.shared("language", ("word_p1", fasttext)) if one in languages]
    if not languages:
        e.absent("word_p1 of encoder and fasttext in the same language")
    curve = _curve(e, "word_p1", layers, languages, **encoder)
    baseline = e.mean("word_p1", {"language": languages}, **fasttext)
    return [
        Part(name=name, values=values, above=0.0, digits=3, headroom=float(baseline[0]), margin=MARGIN / 100)
        for name, values in (
            ("slope of P@1 over relative depth", slope(depths, curve)),
            ("fastText's P@1 - best layer's", baseline - np.max(curve, axis=0)),
        )
    ]


@_claim(
    "W11",
    "A map of contextual words at layer i lets an English tagger or parser read another language's model: middle "
    "layers are best; below the bilingual model (but for parsing of the near language), the gap larger in NER than in "
    "parsing.",
    test="the best middle layer (relative depth 0.25 to 0.75) above all others, on both tasks; bilingual - mapped, "
    "averaged over layers, above 0 on NER, and on parsing in languages that are not near; larger on NER than parsing",
    reads="ner(arm, language, layer, map); ner(arm, language, layer); parsing(arm, language, layer, map); "
    "parsing(arm, language, layer); ner(arm, language, layer, variant); parsing(arm, language, layer, variant)",
    printed=False,
)
def _mapped(e: Evidence) -> list[Part]:
    mapped, bilingual = {"arm": "monolingual", "map": "procrustes"}, {"arm": "bilingual"}
    parts, gaps, headrooms = [], {}, {}
    for task in ("ner", "parsing"):
        languages, layers, depths = _grid(e, (task, mapped), (task, bilingual))
        curve = _curve(e, task, layers, languages, **mapped)
        gaps[task] = average(_curve(e, task, layers, languages, **bilingual)) - average(curve)
        headroom = headrooms[task] = _layer_headroom(e, task, languages, layers)
        middle = [0.25 <= depth <= 0.75 for depth in depths]
        name = f"best middle layer - best other, {TASKS[task]}"
        parts.append(Part(name=name, values=_lead(e, curve, middle), above=0.0, headroom=headroom))
        farther = languages if task == "ner" else [one for one in languages if one not in ROLES["near"]]
        if farther:
            gap = average(_curve(e, task, layers, farther, **bilingual)) - average(
                _curve(e, task, layers, farther, **mapped)
            )
            name = f"bilingual - mapped, {TASKS[task]}, {'/'.join(farther)}"
            parts.append(Part(name=name, values=gap, above=0.0, headroom=headroom))
        else:
            e.notes["no language but near ones: bilingual - mapped is not tested on parsing"] = None
    name = "bilingual - mapped, NER - parsing"
    least = min((one for one in headrooms.values() if one is not None), default=None)
    return [*parts, Part(name=name, values=gaps["ner"] - gaps["parsing"], above=0.0, headroom=least)]


@_claim(
    "W12",
    "Sentence retrieval after Procrustes is best at lower layers.",
    test="the best layer of the lower half (relative depth up to 0.5) above all of the upper half; at floor unless the "
    "best layer has a P@1 above 0.06",
    reads="sentence_p1(arm, language, layer, map)",
    printed=False,
)
def _sentences(e: Evidence) -> list[Part]:
    at = {"arm": "monolingual", "map": "procrustes"}
    languages, layers, depths = _grid(e, ("sentence_p1", at))
    curve = _curve(e, "sentence_p1", layers, languages, **at)
    return [
        Part(
            name="best lower layer - best upper layer, P@1",
            values=_lead(e, curve, [depth <= 0.5 for depth in depths]),
            above=0.0,
            digits=3,
            headroom=float(np.max(curve, axis=0)[0]),
            margin=MARGIN / 100,
        )
    ]


@_claim(
    "W13",
    "CKA: bilingual ≥ monolingual > random, first layers highest.",
    test="averages over layers: bilingual - monolingual and monolingual - random above 0; in bilingual and monolingual "
    "models a layer of relative depth up to 0.125 (0 or 1 of 8) above all others; at floor unless the dev perplexity "
    "of the bilingual model is below a tenth of the ids that it reads",
    reads="cka(arm, estimator, language, layer)",
    beside=_CKA,
)
def _similarity(e: Evidence) -> list[Part]:
    arms = ("bilingual", "monolingual", "random")
    languages, layers, depths = _grid(e, *(("cka", {"arm": arm, "estimator": "paper"}) for arm in arms))
    curves = {arm: _curve(e, "cka", layers, languages, arm=arm, estimator="paper") for arm in arms}
    tests = {
        f"{higher} - {lower}": average(curves[higher]) - average(curves[lower])
        for higher, lower in (("bilingual", "monolingual"), ("monolingual", "random"))
    }
    first = [depth <= 0.125 for depth in depths]
    for arm in ("bilingual", "monolingual"):
        tests[f"best first layer - best other, {arm}"] = _lead(e, curves[arm], first)
    room = e.learned("default", languages)
    return [Part(name=name, values=values, above=0.0, digits=3, **room) for name, values in tests.items()]


@_claim(
    "W14",
    "CKA of monolingual models correlates with sentence retrieval after Procrustes, Pearson above 0.9 for each pair.",
    test="Pearson correlation over layers above 0.9 in each language; at floor unless the best layer has a P@1 above "
    "0.06",
    reads="cka(arm, estimator, language, layer); sentence_p1(arm, language, layer, map)",
    printed=False,
    beside=_CKA,
)
def _correlation(e: Evidence) -> list[Part]:
    cells = (
        ("cka", {"arm": "monolingual", "estimator": "paper"}),
        ("sentence_p1", {"arm": "monolingual", "map": "procrustes"}),
    )
    languages, layers, _ = _grid(e, *cells)
    if len(layers) < 4:  # fewer points correlate by chance
        e.absent("cka and sentence_p1 in at least 4 layers")
    parts = []
    for language in languages:
        curves = [_curve(e, measure, layers, [language], **at) for measure, at in cells]
        parts.append(
            Part(
                name=f"Pearson's r, {language}",
                values=pearson(*curves),
                above=0.9,
                digits=3,
                headroom=float(np.max(curves[1], axis=0)[0]),
                margin=MARGIN / 100,
                scale="fisher",
            )
        )
    return parts


@_claim(
    "W15",
    "The gap in CKA between bilingual and monolingual models shrinks as languages grow apart.",
    test="bilingual - monolingual, averaged over layers, larger for the near language than for the distant one; at "
    "floor as W13",
    reads="cka(arm, estimator, language, layer)",
    beside=_CKA,
)
def _similarity_gap(e: Evidence) -> list[Part]:
    arms = ("bilingual", "monolingual")
    languages, layers, _ = _grid(e, *(("cka", {"arm": arm, "estimator": "paper"}) for arm in arms))
    gaps = {}
    for role in ("near", "distant"):
        there = _in_role(e, role, languages, "cka")
        bilingual, monolingual = (average(_curve(e, "cka", layers, there, arm=arm, estimator="paper")) for arm in arms)
        gaps[role] = bilingual - monolingual
    room = e.learned("default", languages)
    return [Part(name="gap, near - distant", values=gaps["near"] - gaps["distant"], above=0.0, digits=3, **room)]


@_claim(
    "W16",
    "Distant pairs lose most from separation.",
    test="loss of Sep L1-6 / (Default - floor) larger for the distant language than for the near one, on every task",
    reads=f"{_TABLE1}; {_FLOORS}",
    beside=_REFERENCES,
)
def _distant_loss(e: Evidence) -> list[Part]:
    parts = []
    for task, title in TASKS.items():
        losses, headrooms = {}, []
        for role in ("near", "distant"):
            languages = _role(e, role, task, "default", "sep-l1-6")
            arm = _mean(e, task, "sep-l1-6", languages)
            default = _mean(e, task, "default", languages, against="sep-l1-6")
            headroom = default - _mean(e, task, "default", languages, variant="untrained")
            losses[role] = _ratio(default - arm, headroom)
            headrooms.append(float(headroom[0]))
        name = f"relative loss, distant - near, {title}"
        parts.append(
            Part(name=name, values=losses["distant"] - losses["near"], above=0.0, digits=2, headroom=min(headrooms))
        )
    return parts


@_claim(
    "W17",
    "Harder tasks have larger gaps between languages; extra anchors close the gap.",
    test="near - distant rises from NLI to NER to parsing, and is smaller with extra anchors on every task",
    reads=f"{_TABLE1}; {_FLOORS}",
)
def _harder(e: Evidence) -> list[Part]:
    gaps = {}
    for task in TASKS:
        roles = [_role(e, role, task, "default", "extra-anchors") for role in ("near", "distant")]
        for arm in ("default", "extra-anchors"):
            near, distant = (_mean(e, task, arm, languages) for languages in roles)
            gaps[task, arm] = near - distant
    steps = [
        _part(
            e,
            f"gap in {TASKS[harder]} - gap in {TASKS[easier]}",
            gaps[harder, "default"] - gaps[easier, "default"],
            f"{easier} {harder}",
            _languages(e, harder, "default"),
        )
        for easier, harder in (("nli", "ner"), ("ner", "parsing"))
    ]
    return steps + [
        _part(
            e,
            f"gap of Default - gap of Extra anchors, {title}",
            gaps[task, "default"] - gaps[task, "extra-anchors"],
            task,
            _languages(e, task, "default"),
        )
        for task, title in TASKS.items()
    ]


def slope(places: Sequence[float], curve: Sequence[np.ndarray]) -> np.ndarray:
    """Slope of the least-squares line through values (arrays of replicates) at the given places.

    >>> slope([0.0, 0.5, 1.0], [np.array([1.0]), np.array([2.0]), np.array([3.0])])
    array([2.])
    """
    centered = np.asarray(places, float) - np.mean(places)
    found: np.ndarray = (centered[:, None] * np.stack(curve)).sum(axis=0) / (centered**2).sum()
    return found


def pearson(one: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> np.ndarray:
    """Pearson correlation of two lists of values (arrays of replicates); 0 where one is constant.

    >>> pearson(list(np.array([[1.0], [2.0], [4.0]])), list(np.array([[-2.0], [-4.0], [-8.0]])))
    array([-1.])
    """
    x, y = (np.stack(each) - np.mean(each, axis=0) for each in (one, other))
    return _ratio((x * y).sum(axis=0), np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0)))


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient, 0 where the denominator is."""
    found: np.ndarray = np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0)
    return found


def _languages(e: Evidence, task: str, *arms: str) -> list[str]:
    """Languages that all of the arms were tested on."""
    return e.shared("language", *((task, {"arm": arm}) for arm in arms))


def _role(e: Evidence, role: str, task: str, *arms: str) -> list[str]:
    return _in_role(e, role, _languages(e, task, *arms), task)


def _in_role(e: Evidence, role: str, languages: Sequence[str], measure: str) -> list[str]:
    found = [language for language in languages if language in ROLES[role]]
    if not found:
        e.absent(f"{measure} in a {role} language ({' or '.join(ROLES[role])})")
    return found


def _mean(
    e: Evidence,
    task: str,
    arm: str,
    languages: Sequence[str],
    *,
    variant: str | None = None,
    against: str | None = None,
) -> np.ndarray:
    """The average of an arm over languages; ``against`` is the arm that it is a reference for."""
    return e.mean(task, {"language": languages}, arm=arm, variant=variant, against=against)


def _headroom(e: Evidence, tasks: Sequence[str], languages: Sequence[str], arm: str = "default") -> float | None:
    """Score of an arm minus its floor, averaged over languages, the least of the tasks; None where not measured."""
    found = []
    for task in tasks:
        there = [one for one in languages if e.has(task, arm=arm, language=one, variant="untrained")]
        if there:
            floor = _mean(e, task, arm, there, variant="untrained")
            found.append(float((_mean(e, task, arm, there) - floor)[0]))
        else:
            e.notes["floor not measured"] = None
    return min(found, default=None)


def _part(
    e: Evidence,
    name: str,
    values: np.ndarray,
    tasks: str,
    languages: Sequence[str],
    *,
    above: float | None = 0.0,
    below: float | None = None,
) -> Part:
    """A part on one or more tasks, with the headroom of Default in the given languages."""
    return Part(name=name, values=values, above=above, below=below, headroom=_headroom(e, tasks.split(), languages))


def _difference(
    e: Evidence, task: str, arm: str, other: str, *, above: float | None = 0.0, below: float | None = None
) -> Part:
    """An arm minus another one, on average over the languages that both have."""
    languages = _languages(e, task, arm, other)
    values = _mean(e, task, arm, languages) - _mean(e, task, other, languages)
    return _part(e, f"{ARMS[arm]} - {ARMS[other]}, {TASKS[task]}", values, task, languages, above=above, below=below)


def _where(reference: dict[str, str], arm: str) -> list[str]:
    return [language for language, other in reference.items() if other == arm]


def _grid(e: Evidence, *cells: tuple[str, dict[str, Any]]) -> tuple[list[str], list[int], list[float]]:
    """Languages that all of the cells have, layers that they have in all of these, and the layers' relative depth."""
    common = set.intersection(*(set(e.places(measure, "language", "layer", **at)) for measure, at in cells))
    languages = sorted({language for language, _ in common})
    layers = sorted({layer for _, layer in common if all((one, layer) in common for one in languages)})
    if not layers:
        e.absent(f"{' and '.join(dict(cells))} in the same layers of a language, in all arms")
    measure, at = cells[0]
    depth = e.depth(measure, layers, **at, language=languages[0])
    return languages, layers, [layer / depth for layer in layers]


def _curve(
    e: Evidence, measure: str, layers: Sequence[int], languages: Sequence[str], **at: Coordinate | None
) -> list[np.ndarray]:
    """The average over languages, layer by layer."""
    return [e.mean(measure, {"language": languages}, layer=layer, **at) for layer in layers]


def _lead(e: Evidence, curve: Sequence[np.ndarray], chosen: Sequence[bool]) -> np.ndarray:
    """The highest of the chosen layers minus the highest of the others."""
    ours = [values for values, one in zip(curve, chosen, strict=True) if one]
    others = [values for values, one in zip(curve, chosen, strict=True) if not one]
    if not (ours and others):
        e.absent("layers of more relative depths")
    found: np.ndarray = np.max(ours, axis=0) - np.max(others, axis=0)
    return found


def _layer_headroom(e: Evidence, task: str, languages: Sequence[str], layers: Sequence[int]) -> float | None:
    """Best layer of the bilingual model minus its floor in Figure 5; None where the floor was not measured."""
    at = {"arm": "bilingual", "variant": "untrained"}
    if not all(e.has(task, language=one, layer=layer, **at) for one in languages for layer in layers):
        e.notes["floor not measured"] = None
        return None
    best, floor = (np.max(_curve(e, task, layers, languages, **one), axis=0) for one in ({"arm": "bilingual"}, at))
    return float((best - floor)[0])
