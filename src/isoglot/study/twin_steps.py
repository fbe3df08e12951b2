"""The steps of the factorial study: every cell of a block is an arm; text of English and its twins, and retrieval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.errors import check_name
from isoglot.study.build import Measurement, StudyBuilder
from isoglot.study.demo.twin_pairs import TwinLanguage, TwinProbe, pair_documents
from isoglot.study.factorial.design import CELLS, CODES, SHARES, FactorialCell, cell_pairs, topic_draws
from isoglot.study.factorial.outcomes import DEV_P1, TEST_P1
from isoglot.study.kinds.pretrain import ENCODER, MOMENTS
from isoglot.study.kinds.text import TEXT
from isoglot.study.numbers import Number
from isoglot.study.recipe import ArmConfig
from isoglot.study.steps import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoglot.study.numbers import Coordinate
    from isoglot.study.steps import Work


def cell_measurements(builder: StudyBuilder, seed: int) -> Iterator[Measurement]:
    """Every cell of a block, or those that were asked for as arms: its encoder, its shards, its retrieval.

    Raises:
        ConfigError: There is no such cell.
    """
    cells = {cell.name: cell for cell in CELLS}
    for name in builder.options.arms:
        check_name("arm", name, cells)
    depth = _depth(builder, seed)
    for name in builder.options.arms or cells:
        yield from CellBuilder(builder, cells[name], seed).cell_steps(depth)


def _depth(builder: StudyBuilder, seed: int) -> int:
    from isoglot.model.config import SIZES

    model = builder.config(ArmConfig(), seed).model
    return model.layers or SIZES[model.size]["layers"]


class CellBuilder(StudyBuilder):
    """The steps of a cell in a block.

    Args:
        study: The builder of the study.
        cell: The cell.
        seed: The block.
    """

    def __init__(self, study: StudyBuilder, cell: FactorialCell, seed: int) -> None:
        super().__init__(study.recipe, study.scale, study.data, tuple(CODES), study.options)
        self.keeps_moments = True
        self.cell, self.seed = cell, seed

    def cell_steps(self, depth: int) -> Iterator[Measurement]:
        """Measurements of the cell, for an encoder with ``depth`` layers."""
        cell = self.cell
        masking = {"masking": {"random_from": "language"}}
        arm = ArmConfig(vocabulary=cell.vocabulary_mode, plan=cell.plan(depth), settings=masking)
        at: dict[str, Coordinate] = {"arm": cell.name, **cell.levels, "seed": self.seed}
        encoder = self.encoder(cell.name, arm, self.seed)
        yield Measurement(encoder, at)
        for code, shards in self.shards(arm).items():
            yield Measurement(shards, {**at, "language": code})
        settings = {
            **self._twin(),
            "seed": self.seed,
            "count": self.scale.pairs,
            "tokens_per_step": self.tokens_per_step(encoder),
        }
        untrained = self.encoder(cell.name, arm, self.seed, trained=False)
        inputs = {"encoder": encoder, "untrained": untrained}
        yield Measurement(Step("twin-retrieval", settings, inputs, title=f"twins of {encoder.title}"), at)

    def _twin(self) -> dict[str, object]:
        return {"order": self.cell.order, "anchors": SHARES[self.cell.anchors]}

    def _texts(self, arm: ArmConfig) -> dict[str, Step]:
        """English, which is one step for all cells of a block, and the twin, one for all sharings."""
        common = {"seed": self.seed, "sentences": self.scale.builtin_sentences}
        one, other = CODES
        twin = {"language": other, **common, **self._twin(), "domain": self.cell.domain}
        return {
            one: Step("twin-text", {"language": one, **common}, title=f"text {one}, seed {self.seed}"),
            other: Step("twin-text", twin, title=f"text of the twin, seed {self.seed}"),
        }


# --- what the steps compute ---


def write_text(work: Work) -> list[Number]:
    """Write the text of English, or of a twin, in a block of the factorial study.

    Settings: ``language``, ``seed``, ``sentences``; for the twin ``order``, ``anchors`` (a share) and ``domain``.
    """
    from isoglot.languages.builtin import builtin_provenance
    from isoglot.text.formats.plain import write_documents

    settings = work.settings
    side, seed = CODES.index(settings["language"]), settings["seed"]
    topics = topic_draws(settings.get("domain", "same"), seed)
    text = pair_documents(_language(work), settings["sentences"], seed=seed, topics=topics)[side]
    write_documents(work.folder / TEXT, text, provenance=builtin_provenance(TEXT, "en", 2 * seed + side))
    return [Number("text_bytes", (work.folder / TEXT).stat().st_size, {"language": settings["language"]})]


def retrieve(work: Work) -> list[Number]:
    """Retrieve the twin of every held-out sentence, in every layer, before training and at every moment of it.

    Settings: ``order``, ``anchors``, ``seed``; ``count`` of test pairs, and of as many to choose the layer by;
    ``tokens_per_step``; inputs ``encoder`` with its moments, and ``untrained``.
    """
    from isoglot.model import load_encoder

    choose, test = cell_pairs(_language(work), work.settings["seed"], work.settings["count"])
    probes = {TEST_P1: TwinProbe(CODES, test), DEV_P1: TwinProbe(CODES, choose)}
    moments = sorted((work.inputs["encoder"] / MOMENTS).iterdir())
    encoders = {0: work.inputs["untrained"] / ENCODER} | {int(folder.name): folder for folder in moments}
    with work.progress.task("twins", total=len(encoders), unit="moments") as task:
        for step, folder in encoders.items():
            encoder = load_encoder(folder, device=work.device)
            for probe in probes.values():
                probe(encoder, step)
            task.advance()
    return [
        Number(measure, value, {"layer": layer, "tokens": step * work.settings["tokens_per_step"]})
        for measure, probe in probes.items()
        for step, values in probe.moments.items()
        for layer, value in enumerate(values)
    ]


def _language(work: Work) -> TwinLanguage:
    settings = work.settings
    return TwinLanguage(
        order=settings.get("order", "same"), anchors=settings.get("anchors", 0.0), seed=settings["seed"]
    )
