"""How a likeness comes about: any measure at every checkpoint of a training run, or while it runs.

A run keeps its two newest checkpoints unless told otherwise (:data:`KEEP_ALL`).
A :class:`SimilarityProbe` needs none: it measures whenever dev perplexity is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.compare.measures.registry import compute, find_measure
from isoglot.compare.parallel_sentences import check_count, language_for
from isoglot.core.errors import ConfigError, StorageError
from isoglot.core.progress import SILENT
from isoglot.model.folder import INDEX, open_encoder
from isoglot.model.load import BEST, LAST, RUN
from isoglot.pretrain.checkpoint import MODEL, Checkpoints
from isoglot.represent import extract

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.compare.parallel_sentences import SentencePair
    from isoglot.core.progress import Progress
    from isoglot.model import EncoderLike
    from isoglot.model.encoder import Encoder
    from isoglot.represent.extraction import Pool
    from isoglot.represent.layer_pass import Layers

KEEP_ALL = "--set checkpoints.every=100 --set checkpoints.keep=1000"
"""What to give ``isoglot pretrain`` for a curve of more than two points."""


@dataclass(frozen=True, kw_only=True)
class CheckpointMeasures:
    """What was measured at one step."""

    step: int
    tokens: int | None
    """Tokens of text the encoder had seen; None where nobody counted."""
    values: dict[str, dict[int, float]]
    """The value of each measure in each layer."""

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        values = {name: {str(layer): value for layer, value in found.items()} for name, found in self.values.items()}
        return {"step": self.step, "tokens": self.tokens, "values": values}


@dataclass(frozen=True, kw_only=True)
class Emergence:
    """Measures over the steps of a run."""

    run: str
    languages: tuple[str, str]
    sentences: int
    cut: tuple[int, int] = (0, 0)
    """How many of them were longer than the encoder takes, by language."""
    measures: tuple[str, ...]
    layers: tuple[int, ...]
    moments: tuple[CheckpointMeasures, ...]
    """By step."""

    def curve(self, measure: str, layer: int) -> list[tuple[int, float]]:
        """The value of a measure in a layer at every step."""
        return [(moment.step, moment.values[measure][layer]) for moment in self.moments]

    def as_rows(self) -> list[dict[str, Any]]:
        """A row for each step, measure and layer, for a table."""
        return [
            {"step": moment.step, "tokens": moment.tokens, "measure": name, "layer": layer, "value": value}
            for moment in self.moments
            for name, found in moment.values.items()
            for layer, value in found.items()
        ]

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "run": self.run,
            "languages": list(self.languages),
            "sentences": self.sentences,
            "cut": list(self.cut),
            "measures": list(self.measures),
            "layers": list(self.layers),
            "moments": [moment.as_dict() for moment in self.moments],
        }


class SimilarityProbe:
    """Measures an encoder's two languages whenever it is called: a probe for :func:`isoglot.pretrain.pretrain`.

    ``pretrain(…, probes=[SimilarityProbe(pairs, ("en", "fr"))])`` puts the values into ``metrics.jsonl`` at every
    evaluation, and here into ``moments``.

    Args:
        pairs: Sentences of the first language with their translations.
        languages: The two languages.
        measures: Which, by name.
        layers: ``all``, or numbers.
        pool: What a sentence's vector is.
        seed: Chooses rows where a measure takes fewer.

    Raises:
        ConfigError: There is no such measure.
        InputError: There are too few sentences.
    """

    def __init__(
        self,
        pairs: Sequence[SentencePair],
        languages: tuple[str, str],
        *,
        measures: Sequence[str] = ("debiased-cka",),
        layers: Layers = "all",
        pool: Pool = "mean",
        seed: int = 0,
    ) -> None:
        if not measures:
            raise ConfigError(
                "no measure to watch", remedy="name one, such as debiased-cka", code="config.missing-data"
            )
        self.measures = tuple(find_measure(name).name for name in dict.fromkeys(measures))
        check_count(len(pairs), self.measures)
        self.sides = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        self.languages, self.layers, self.pool, self.seed = languages, layers, pool, seed
        self.moments: dict[int, dict[str, dict[int, float]]] = {}
        self.cut = (0, 0)

    def measure(self, encoder: EncoderLike) -> dict[str, dict[int, float]]:
        """The value of each measure in each layer.

        Raises:
            ConfigError: The encoder has no such language or layer.
            InputError: The encoder gives something that is no number, or the same for every sentence.
        """
        one, other = (
            extract(encoder, side, layers=self.layers, pool=self.pool, language=language_for(encoder, code))
            for side, code in zip(self.sides, self.languages, strict=True)
        )
        self.cut = (one.header["cut"], other.header["cut"])
        return {
            name: {layer: compute(name, one[layer], other[layer], seed=self.seed).value for layer in one.layers}
            for name in self.measures
        }

    def __call__(self, encoder: Encoder, step: int) -> dict[str, float]:
        """Measure, and remember it."""
        found = self.measure(encoder)
        self.moments[step] = found
        return {
            f"{name}, layer {layer}": value for name, by_layer in found.items() for layer, value in by_layer.items()
        }


def trace_emergence(
    run: str | Path,
    pairs: Sequence[SentencePair],
    languages: tuple[str, str],
    *,
    measures: Sequence[str] = ("debiased-cka",),
    layers: Layers = "all",
    pool: Pool = "mean",
    device: str = "auto",
    seed: int = 0,
    progress: Progress = SILENT,
) -> Emergence:
    """Measure every checkpoint that a run has kept.

    Args:
        run: The folder of a run, finished or not.
        pairs: Sentences of the first language with their translations.
        languages: The two languages.
        measures: Which, by name.
        layers: ``all``, or numbers.
        pool: What a sentence's vector is.
        device: Where the encoder computes.
        seed: Chooses rows where a measure takes fewer.
        progress: Shows checkpoints done.

    Raises:
        ConfigError: There is no such measure, language or layer.
        CorruptFileError: A checkpoint is not whole.
        InputError: There are too few sentences.
        StorageError: There is no run in the folder, or none of its checkpoints.
    """
    from isoglot.core.devices import choose_device

    probe = SimilarityProbe(pairs, languages, measures=measures, layers=layers, pool=pool, seed=seed)
    run = Path(run).expanduser()
    encoder = open_run(run).to(choose_device(device))
    kept = Checkpoints(run)
    steps = checkpoint_steps(run)
    moments = []
    with progress.task("emergence", total=len(steps), unit="checkpoints") as task:
        for step in steps:
            checkpoint = kept.at(step)
            encoder.load_state_dict(checkpoint.tensors(MODEL))
            values = probe.measure(encoder.eval())
            moments.append(CheckpointMeasures(step=step, tokens=checkpoint.state.get("tokens"), values=values))
            task.advance()
    return Emergence(
        run=str(run),
        languages=languages,
        sentences=len(pairs),
        cut=probe.cut,
        measures=probe.measures,
        layers=tuple(moments[0].values[probe.measures[0]]),
        moments=tuple(moments),
    )


def checkpoint_steps(run: Path) -> list[int]:
    """The steps of a run that have checkpoints, in order.

    Raises:
        StorageError: There are none.
    """
    names = [path.name.removeprefix("step-") for path in Checkpoints(run).folder.glob("step-*")]
    steps = sorted(int(name) for name in names if name.isdecimal())
    if not steps:
        raise StorageError(
            "the run has no checkpoints", remedy=f"train with {KEEP_ALL}", code="storage.unfinished", file=run
        )
    return steps


def open_run(run: str | Path) -> Encoder:
    """The encoder of a run, finished or not: the weights of its checkpoints fit it.

    Raises:
        StorageError: There is no run in the folder, or none that has written an encoder.
    """
    run = Path(run).expanduser()
    if not run.is_dir() or not (run / RUN).exists():
        problem = f"not a training run: there is no {RUN}" if run.is_dir() else "no such folder"
        raise StorageError(
            problem, remedy="name what isoglot pretrain wrote with --out", code="storage.not-found", file=run
        )
    for folder in (run / LAST, run / BEST):
        if (folder / INDEX).exists():
            return open_encoder(folder)
    raise StorageError(
        "the run has written no encoder yet",
        remedy="wait for its first evaluation, or for its end",
        code="storage.unfinished",
        file=run,
    )
