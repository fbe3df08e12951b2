"""The figures of Wu et al. (2020) as measurements of a study: what compares encoders of several arms.

All of them read the arms ``default`` (the bilingual encoder), ``monolingual-first`` and ``monolingual-second``;
Figure 7 also reads ``monolingual-again``, the first language with another seed, and ``twice``, the first language under
two names with embeddings of its own for each.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from isoglot.core.config import build_config, load_recipe
from isoglot.study.build import BUILTIN_SEED, TASKS, Inputs, Measurement, StudyBuilder, second_name
from isoglot.study.kinds.words import FASTTEXT
from isoglot.study.steps import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from isoglot.study.numbers import Coordinate

BILINGUAL, FIRST, SECOND = "default", "monolingual-first", "monolingual-second"
AGAIN, TWICE = "monolingual-again", "twice"


# --- words: Figure 4 ---


def _words(builder: StudyBuilder, seed: int, *, figure: str) -> Iterator[Measurement]:
    """Words of two monolingual encoders, mapped by a dictionary, beside fastText of the same text.

    Figure 4a has rows of the embedding matrices, Figure 4b averages over contexts in every layer.
    """
    encoders = _encoders(builder, seed, figure, FIRST, SECOND)
    dictionaries = _dictionaries(builder, figure)
    if encoders is None or dictionaries is None:
        return
    inputs: Inputs = {"encoder": encoders[0], "other": encoders[1], **dictionaries}
    inputs |= {f"fasttext.{code}": _fasttext(builder, code, seed) for code in builder.languages}
    settings: dict[str, Any] = {"languages": list(builder.languages)}
    kind = "mapped-embeddings"
    if figure == "figure4b":
        kind = "mapped-contexts"
        settings |= {"sentences": builder.scale.word_sentences, "words": builder.scale.words}
        inputs |= {f"text.{code}": builder.text(code) for code in builder.languages}
    title = f"figure {figure.removeprefix('figure')} {builder.pair}, seed {seed}"
    yield Measurement(Step(kind, settings, inputs, title=title), {"pair": builder.pair, "seed": seed})


def _fasttext(builder: StudyBuilder, language: str, seed: int) -> Step:
    from isoglot.static.config import FastTextConfig
    from isoglot.static.gensim_models import MOST_WORDS

    config = build_config(FastTextConfig, values={**builder.scale.fasttext, "seed": seed})
    changed = config.model_dump(mode="json", exclude_defaults=True)
    settings = {"language": language, "config": changed, "words": MOST_WORDS, **builder.static_workers("fasttext")}
    title = f"fastText {language}, seed {seed}"
    return Step("fasttext", settings, {"text": builder.text(language)}, title=title, heavy=(FASTTEXT,))


def _dictionaries(builder: StudyBuilder, figure: str) -> Inputs | None:
    if builder.data.is_builtin:
        one, other = builder.languages
        return {"dictionary.train": Step("builtin-dictionary", {"source": one, "target": other})}
    files, names = builder.data.dictionary.get(builder.pair, {}), {"train": "training", "test": "test"}
    for split, name in names.items():
        if split not in files:
            option = f"--dictionary {builder.pair}.{split}=FILE"
            builder.left_out.append(f"{builder.pair}, {figure}: no {name} dictionary ({option})")
            return None
    return {f"dictionary.{split}": files[split] for split in names}


# --- words in context: Figure 5 ---


def figure5(builder: StudyBuilder, seed: int) -> Iterator[Measurement]:
    """NER and parsing on frozen layers, read from another encoder through maps; and from the bilingual encoder.

    The bilingual encoder is read as it is and through a map, as in the paper's appendix; untrained, it is the floor.
    """
    found = _with_map_pairs(builder, seed, "figure5", "pairs")
    if found is None:
        return
    (one, other, both), pairs, files = found
    order = list(reversed(builder.languages))
    links = Step("word-links", {"languages": order, **pairs}, files, title=f"word links {builder.pair}")
    for arm, sides in {"monolingual": {"encoder": one, "other": other}, "bilingual": {"encoder": both}}.items():
        at: dict[str, Coordinate] = {"arm": arm, "pair": builder.pair, "seed": seed}
        title = f"maps {builder.pair}, {arm}, seed {seed}"
        maps = Step("layer-maps", {"languages": order}, {**sides, "bitext": links}, title=title, heavy=("maps",))
        yield Measurement(maps, at)
        yield from _mapped_tasks(builder, {**sides, "maps": maps}, at)
    if not seed:
        floor = builder.arm_encoder(BILINGUAL, seed, trained=False)
        at = {"arm": "bilingual", "pair": builder.pair, "seed": seed, "variant": "untrained"}
        yield from _mapped_tasks(builder, {"encoder": floor}, at)


def _mapped_tasks(
    builder: StudyBuilder, sides: Mapping[str, Step], at: Mapping[str, Coordinate]
) -> Iterator[Measurement]:
    from isoglot.transfer.map_protocol import MapTransferConfig

    values = {**load_recipe("map", room="transfer").values, **builder.scale.map_transfer, "seed": at["seed"]}
    config = build_config(MapTransferConfig, values=values).model_dump(mode="json", exclude_defaults=True)
    for measure in ("ner", "parsing"):
        tuned = builder.transfer(measure, sides["encoder"], int(at["seed"]))
        if tuned is None:
            builder.left_out.append(f"{builder.pair}, figure5: no examples of {measure}")
            continue
        words = f"{at['arm']}, {at['variant']}" if "variant" in at else f"{at['arm']}, seed {at['seed']}"
        title = f"figure 5 {builder.pair}, {TASKS[measure]}, {words}"
        settings = {**tuned.settings, "config": config}
        yield Measurement(Step("mapped-transfer", settings, {**tuned.inputs, **sides}, title=title), at)


# --- sentences: Figures 6 and 7 ---


def figure6(builder: StudyBuilder, seed: int) -> Iterator[Measurement]:
    """Sentence retrieval after an orthogonal map: of the bilingual encoder, and between the monolingual ones."""
    found = _with_map_pairs(builder, seed, "figure6", "map_pairs", BUILTIN_SEED + 1)  # not the sentences of the test
    if found is None:
        return
    (one, other, both), pairs, files = found
    asked: dict[str, Any] = {"map": "procrustes", "normalize": "iterative", "center": "none", "map_pairs": pairs}
    for arm, (first, second) in {"bilingual": (both, None), "monolingual": (one, other)}.items():
        step = builder.sentences("retrieval", first, second, **asked)
        if step is None:
            builder.left_out.append(f"{builder.pair}, figure6: no test pairs (--parallel)")
            return
        step = replace(step, inputs={**step.inputs, **files})
        yield _titled(step, f"figure 6 {builder.pair}, {arm}", arm, builder.pair, seed)


def figure7(builder: StudyBuilder, seed: int) -> Iterator[Measurement]:
    """CKA of the bilingual encoder, between the monolingual ones, and with a random one for the second language.

    The ceiling is that of two encoders of the first language. All three rows are also measured for the first language
    twice, on paraphrases.
    """
    encoders = _encoders(builder, seed, "figure7", FIRST, SECOND, BILINGUAL)
    if encoders is None:
        return
    one, other, both = encoders
    random = builder.arm_encoder(SECOND, seed, trained=False)
    rows = {"bilingual": (both, None), "monolingual": (one, other), "random": (one, random)}
    for arm, (first, second) in rows.items():
        step = builder.sentences("similarity", first, second)
        if step is None:
            builder.left_out.append(f"{builder.pair}, figure7: no test pairs (--parallel)")
            return
        yield _titled(step, f"figure 7 {builder.pair}, {arm}", arm, builder.pair, seed)
    again = _encoders(builder, seed, "figure7", AGAIN)
    if again is not None:
        step = builder.sentences("similarity", one, again[0], read="first")
        if step is not None:
            yield _titled(step, f"figure 7 {builder.pair}, ceiling", "ceiling", builder.pair, seed)
        yield from _twice(builder, seed, one, again[0])


def _twice(builder: StudyBuilder, seed: int, one: Step, again: Step) -> Iterator[Measurement]:
    """The rows of Figure 7 for the first language twice, on paraphrases: shown, and not read by any claim."""
    language, paraphrases = builder.languages[0], builder.paraphrases()
    if paraphrases is None or TWICE not in builder.arms:
        return
    pairs, files = paraphrases
    random = builder.arm_encoder(AGAIN, seed, trained=False)
    rows: dict[str, dict[str, Step]] = {
        "bilingual": {"encoder": builder.arm_encoder(TWICE, seed)},
        "monolingual": {"encoder": one, "other": again},
        "random": {"encoder": one, "other": random},
    }
    languages = [language, second_name(language)]
    for arm, sides in rows.items():
        step = Step("similarity", {"languages": languages, **pairs}, {**sides, **files})
        yield _titled(step, f"figure 7 {language} twice, {arm}", arm, "-".join(languages), seed)


def _titled(step: Step, title: str, arm: str, pair: str, seed: int) -> Measurement:
    return Measurement(replace(step, title=title), {"arm": arm, "pair": pair, "seed": seed})


# --- arms ---


def _encoders(builder: StudyBuilder, seed: int, figure: str, *names: str) -> list[Step] | None:
    """The encoders of arms; None where one of them is not wanted."""
    missing = [name for name in names if name not in builder.arms]
    if missing:
        builder.left_out.append(f"{builder.pair}, {figure}: without the arm {missing[0]}")
        return None
    return [builder.arm_encoder(name, seed) for name in names]


def _with_map_pairs(
    builder: StudyBuilder, seed: int, figure: str, name: str, builtin_seed: int = BUILTIN_SEED
) -> tuple[list[Step], dict[str, Any], Inputs] | None:
    """The monolingual encoders and the bilingual one, and settings and inputs for sentences to fit maps on.

    None where something is missing.
    """
    encoders = _encoders(builder, seed, figure, FIRST, SECOND, BILINGUAL)
    pairs = builder.pair_inputs(name, builder.data.map_parallel, builder.scale.map_pairs, seed=builtin_seed)
    if pairs is None:
        builder.left_out.append(f"{builder.pair}, {figure}: no parallel sentences to fit maps on (--map-parallel)")
    return None if encoders is None or pairs is None else (encoders, *pairs)


FIGURES: dict[str, Callable[[StudyBuilder, int], Iterator[Measurement]]] = {
    "figure4a": partial(_words, figure="figure4a"),
    "figure4b": partial(_words, figure="figure4b"),
    "figure5": figure5,
    "figure6": figure6,
    "figure7": figure7,
}
"""Functions that plan the measurements of a figure, by name."""
