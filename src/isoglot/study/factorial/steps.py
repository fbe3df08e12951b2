"""The steps of the factorial study: every cell of a block is an arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.errors import check_name
from isoglot.study.build import Measurement, StudyBuilder
from isoglot.study.factorial.design import CELLS, CODES, SHARES, FactorialCell
from isoglot.study.recipe import ArmConfig
from isoglot.study.steps import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoglot.study.numbers import Coordinate


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
        """What is trained and measured of the cell, in an encoder of so many layers."""
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
