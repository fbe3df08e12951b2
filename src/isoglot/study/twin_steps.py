"""Steps of studies on a language and its twins: the factorial study, whose cells are arms, and the demo's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoglot.core.errors import check_name
from isoglot.study.build import Inputs, Measurement, StudyBuilder
from isoglot.study.demo.twin_pairs import LayerScores, TwinLanguage, held_out, pair_documents, paired, twin_precision
from isoglot.study.factorial.design import CELLS, CODES, SHARES, FactorialCell, cell_pairs, topic_draws
from isoglot.study.factorial.outcomes import DEV_P1, TEST_P1
from isoglot.study.factorial.real_text import CONTRAST_CELLS, SOURCE_FILES, TEXT_CELLS, half, held_out_pairs
from isoglot.study.kinds.pretrain import ENCODER, MOMENTS
from isoglot.study.kinds.text import SHARDS, TEXT, VOCABULARY
from isoglot.study.numbers import Coordinate, Number
from isoglot.study.recipe import ArmConfig, TwinConfig
from isoglot.study.steps import Step, Work

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.text.provenance import Provenance

EVERY = 250
"""Training steps between two measurements of the demo's encoders."""
SLICE = 250
"""Training steps of such an encoder until it is the next one's turn."""
MOMENT_P1, RAW_P1 = "emergence_p1", "sentence_p1_raw"


def cell_measurements(builder: StudyBuilder, seed: int) -> Iterator[Measurement]:
    """Every cell of a block, or those that were asked for as arms: its encoder, its shards, its retrieval.

    Raises:
        ConfigError: There is no such cell.
    """
    yield from _cells(builder, seed, CELLS)


def text_cell_measurements(builder: StudyBuilder, seed: int) -> Iterator[Measurement]:
    """The cells of the stated contrast on a real text, or those that were asked for as arms.

    Raises:
        ConfigError: There is no such cell of a real text.
    """
    language = builder.languages[0]
    files: Inputs = {f"text.{number}": file for number, file in enumerate(builder.data.text[language])}
    source = Step("twin-source", {"language": language}, files, title=f"words of {language}", heavy=SOURCE_FILES)
    yield from _cells(builder, seed, TEXT_CELLS, unless_named=CONTRAST_CELLS, source=source)


def _cells(
    builder: StudyBuilder,
    seed: int,
    possible: Sequence[FactorialCell],
    *,
    unless_named: Sequence[FactorialCell] | None = None,
    source: Step | None = None,
) -> Iterator[Measurement]:
    """The cells that were asked for as arms, or all, or those that are measured unless cells are named."""
    cells = {cell.name: cell for cell in possible}
    for name in builder.options.arms:
        check_name("arm", name, cells)
    depth, code = _depth(builder, seed), f"{builder.languages[0]}-x-twin"
    for cell in [cells[name] for name in builder.options.arms] or unless_named or possible:
        twin = TwinConfig(code=code, order=cell.order, anchors=SHARES[cell.anchors])
        yield from TwinBuilder(builder, twin, seed, cell.domain, source).cell_steps(cell, depth)


def _depth(builder: StudyBuilder, seed: int) -> int:
    from isoglot.model.config import SIZES

    model = builder.config(ArmConfig(), seed).model
    return model.layers or SIZES[model.size]["layers"]


class TwinBuilder(StudyBuilder):
    """The steps of an encoder of English, or of another language with a text, and a twin of it.

    Args:
        study: The builder of the study.
        twin: The twin.
        seed: Decides the text, the test sentences, the anchors and the initial weights.
        domain: What the twin's text is about in the factorial study; None: both texts are about all topics.
        source: The words of a real text; None: built-in English.
    """

    def __init__(
        self, study: StudyBuilder, twin: TwinConfig, seed: int, domain: str | None = None, source: Step | None = None
    ) -> None:
        super().__init__(study.recipe, study.scale, study.data, (study.languages[0], twin.code), study.options)
        self.source = source
        self.keeps_moments = True
        self.study_pair, self.seed, self.domain = study.pair, seed, domain
        self.every = EVERY if domain is None else None
        self.twin = {"order": twin.order, "anchors": twin.anchors}
        self.topics = {} if domain is None else {"domain": domain}

    def retrieval(self, encoder: Step, inputs: Inputs, **settings: object) -> Step:
        """The retrieval of twins over training."""
        common = {"seed": self.seed, "count": self.scale.pairs, "tokens_per_step": self.tokens_per_step(encoder)}
        title = f"twins of {encoder.title}"
        return Step("twin-retrieval", {**self.twin, **common, **settings}, {"encoder": encoder, **inputs}, title=title)

    def cell_steps(self, cell: FactorialCell, depth: int) -> Iterator[Measurement]:
        """Measurements of a cell of the factorial study, for an encoder with ``depth`` layers."""
        masking = {"masking": {"random_from": "language"}}
        arm = ArmConfig(vocabulary=cell.vocabulary_mode, plan=cell.plan(depth), settings=masking)
        at: dict[str, Coordinate] = {"arm": cell.name, **cell.levels, "seed": self.seed}
        yield from self.encoder_and_shards(cell.name, arm, at, self.seed)
        encoder, untrained = (self.encoder(cell.name, arm, self.seed, trained=one) for one in (True, False))
        inputs: Inputs = {"untrained": untrained}
        if self.source is None:
            yield Measurement(self.retrieval(encoder, inputs), at)
        else:
            inputs |= {"source": self.source}
            yield Measurement(self.retrieval(encoder, inputs, languages=list(self.languages)), at)

    def arm_steps(self, name: str, arm: ArmConfig) -> Iterator[Measurement]:
        """Measurements of an arm, which is trained in turn with the others."""
        at: dict[str, Coordinate] = {"arm": name, "pair": self.study_pair, "seed": self.seed}
        encoder, *shards = self.encoder_and_shards(name, arm, at, self.seed)
        in_turn = replace(encoder.step, execution={**encoder.step.execution, "slice": SLICE})
        yield from (Measurement(in_turn, at), *shards)
        inputs: Inputs = {name: one for name, one in in_turn.inputs.items() if not name.startswith("dictionary.")}
        yield Measurement(self.retrieval(in_turn, inputs, languages=list(self.languages)), at)

    def _texts(self, arm: ArmConfig) -> dict[str, Step]:
        """English, which is one step for all cells of a block, and the twin, one for all sharings; or a real text's."""
        if self.source is not None:
            return {
                code: Step(
                    "twin-text",
                    {"language": code, "seed": self.seed, **twin},
                    {"source": self.source},
                    title=f"half of {self.languages[0]}, seed {self.seed}" + ", as the twin" * bool(twin),
                    heavy=(TEXT,),
                )
                for code, twin in zip(self.languages, ({}, self.twin), strict=True)
            }
        common: dict[str, object] = {"seed": self.seed, "sentences": self.scale.builtin_sentences}
        common |= {"domain": "all"} if self.domain is None else {}
        one, other = self.languages
        twin = {"language": other, **common, **self.twin, **self.topics}
        return {
            one: Step("twin-text", {"language": one, **common}, title=f"text {one}, seed {self.seed}"),
            other: Step("twin-text", twin, title=f"text of the twin, seed {self.seed}"),
        }


# --- what the steps compute ---


def write_text(work: Work) -> list[Number]:
    """Write the text of English, or of a twin.

    Settings: ``language``, ``seed``, ``sentences``; ``domain``, ``same`` or ``other`` in the factorial study, or
    ``all``; for the twin ``order`` and ``anchors`` (a share). With an input ``source`` it is half of a real text.
    """
    from isoglot.text.formats.plain import write_documents

    text, provenance = _half(work) if "source" in work.inputs else _builtin_text(work)
    write_documents(work.folder / TEXT, text, provenance=provenance)
    return [Number("text_bytes", (work.folder / TEXT).stat().st_size, {"language": work.settings["language"]})]


def _builtin_text(work: Work) -> tuple[Iterator[list[str]], Provenance]:
    from isoglot.languages.builtin import builtin_provenance

    settings = work.settings
    side, seed, domain = int(settings["language"] != CODES[0]), settings["seed"], settings.get("domain", "same")
    topics = (None, None) if domain == "all" else topic_draws(domain, seed)
    text = pair_documents(_language(work), settings["sentences"], seed=seed, topics=topics)[side]
    return text, builtin_provenance(TEXT, "en", 2 * seed + side)


def _half(work: Work) -> tuple[Iterator[list[str]], Provenance]:
    """Half of a real text, or the other half as a twin."""
    from isoglot.text.provenance import derived

    settings, source = work.settings, work.inputs["source"]
    is_twin = "order" in settings
    text = half(source, int(is_twin), settings["seed"])
    if is_twin:
        language = _language(work)
        text = ([" ".join(words) for words in language.translate(line.split(" ") for line in lines)] for lines in text)
    return text, derived([source / TEXT], {"step": "half of a text", **settings})


def retrieve(work: Work) -> list[Number]:
    """Retrieve the twin of every held-out sentence, in every layer, at every moment of training.

    Settings: ``order``, ``anchors``, ``seed``; ``count`` of test pairs; ``tokens_per_step``; input ``encoder`` with
    its moments; ``languages`` if not English and its twin. In the factorial study there are as many pairs to choose the
    layer by, and the inputs ``untrained`` and, for a real text, ``source``. In others scores at the end and the number
    of anchors as well; inputs ``vocabulary`` and ``shards.LANG``.
    """
    from isoglot.model import load_encoder

    language, seed, count = _language(work), work.settings["seed"], work.settings["count"]
    is_cell = "untrained" in work.inputs
    if is_cell:
        source = work.inputs.get("source")
        both = cell_pairs(language, seed, count) if source is None else held_out_pairs(source, language, seed, count)
        tests = {TEST_P1: both[1], DEV_P1: both[0]}
    else:
        tests = {MOMENT_P1: paired(held_out(count, seed), language)}
    one, other = work.settings.get("languages", CODES)
    found: dict[str, list[Number]] = {measure: [] for measure in tests}
    moments = sorted((work.inputs["encoder"] / MOMENTS).iterdir())
    encoders = {int(folder.name): folder for folder in moments}
    if is_cell:
        encoders = {0: work.inputs["untrained"] / ENCODER} | encoders
    with work.progress.task("twins", total=len(encoders), unit="moments") as task:
        for step, folder in encoders.items():
            encoder = load_encoder(folder, device=work.device)
            tokens = step * work.settings["tokens_per_step"]
            for measure, pairs in tests.items():
                raw, centered = twin_precision(encoder, (one, other), pairs)
                found[measure] += [Number(measure, p1, {"layer": n, "tokens": tokens}) for n, p1 in enumerate(centered)]
            task.advance()
    numbers = [number for some in found.values() for number in some]
    return numbers if is_cell else [*numbers, *_at_the_end(work, one, other, raw, centered)]


def _at_the_end(work: Work, one: str, other: str, raw: LayerScores, centered: LayerScores) -> Iterator[Number]:
    """Scores of the trained encoder, and the number of ids that both languages have and use."""
    from isoglot.vocab import Shards, Vocabulary

    vocabulary = Vocabulary.load(work.inputs["vocabulary"] / VOCABULARY)
    counts = [Shards.open(path / SHARDS).counts(len(vocabulary)) for _, path in work.named("shards")]
    anchors = sum(bool(counts[0][index] and counts[1][index]) for index in vocabulary.anchors(one, other))
    yield Number("used_anchors", anchors)
    for measure, values in ((RAW_P1, raw), (TEST_P1, centered)):
        for layer, value in enumerate(values):
            yield Number(measure, value, {"layer": layer, "depth": len(values) - 1})


def _language(work: Work) -> TwinLanguage:
    asked = work.settings
    return TwinLanguage(order=asked.get("order", "same"), anchors=asked.get("anchors", 0.0), seed=asked["seed"])
