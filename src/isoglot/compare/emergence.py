"""Emergence of similarity: any measure at every checkpoint of a training run, or during training.

A run keeps its two newest checkpoints by default (:data:`KEEP_ALL` keeps all). A :class:`SimilarityProbe` needs none:
it measures at every evaluation of the run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.compare.measures.registry import compute, find_measure
from isoglot.compare.parallel_sentences import SentencePair, check_count, language_for
from isoglot.core.display import Displayed
from isoglot.core.errors import ConfigError, StorageError
from isoglot.core.progress import SILENT, Progress
from isoglot.model.folder import INDEX, open_encoder
from isoglot.model.load import BEST, LAST, RUN
from isoglot.pretrain.run_folder import MODEL, Checkpoints
from isoglot.represent import extract

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.model import EncoderLike
    from isoglot.model.encoder import Encoder
    from isoglot.represent.extraction import Pool
    from isoglot.represent.layer_pass import Layers

KEEP_ALL = "--set checkpoints.every=100 --set checkpoints.keep=1000"
"""Option of ``isoglot pretrain`` for a curve of more than two points."""


@dataclass(frozen=True, kw_only=True)
class CheckpointMeasures:
    """Measures at one training step."""

    step: int
    tokens: int | None
    """Number of training tokens so far; None if unknown."""
    values: dict[str, dict[int, float]]
    """Value of each measure in each layer."""


@dataclass(frozen=True, kw_only=True)
class Emergence(Displayed):
    """Measures over the steps of a training run.

    >>> from isoglot.compare.emergence import CheckpointMeasures
    >>> steps = (100, 0.2), (200, 0.5)
    >>> moments = [CheckpointMeasures(step=step, tokens=None, values={"cka": {8: value}}) for step, value in steps]
    >>> given = {"run": "run", "languages": ("en", "de"), "sentences": 500, "measures": ("cka",), "layers": (8,)}
    >>> Emergence(**given, moments=tuple(moments)).curve("cka", 8)
    [(100, 0.2), (200, 0.5)]
    """

    run: str
    languages: tuple[str, str]
    sentences: int
    cut: tuple[int, int] = (0, 0)
    """Number of truncated sentences, by language."""
    measures: tuple[str, ...]
    layers: tuple[int, ...]
    moments: tuple[CheckpointMeasures, ...]
    """Measures in the order of steps."""

    def curve(self, measure: str, layer: int) -> list[tuple[int, float]]:
        """Value of a measure in a layer at every step."""
        return [(moment.step, moment.values[measure][layer]) for moment in self.moments]

    def as_rows(self) -> list[dict[str, Any]]:
        """One row per step, measure and layer, for a table."""
        return [
            {"step": moment.step, "tokens": moment.tokens, "measure": name, "layer": layer, "value": value}
            for moment in self.moments
            for name, found in moment.values.items()
            for layer, value in found.items()
        ]

    def as_dict(self) -> dict[str, Any]:
        """JSON-serializable form."""
        return asdict(self)


class SimilarityProbe:
    """Measures two languages of an encoder whenever it is called: a probe for :func:`isoglot.pretrain.pretrain`.

    ``pretrain(…, probes=[SimilarityProbe(pairs, ("en", "fr"))])`` adds the values to ``metrics.jsonl`` at every
    evaluation, and here to ``moments``.

    Args:
        pairs: Sentences of the first language with their translations.
        languages: The two languages.
        measures: Names of the measures.
        layers: ``all``, or layer numbers.
        pool: Sentence pooling.
        seed: Random seed for sampling rows, where a measure takes fewer.

    >>> pairs = [("He sleeps.", "Er schläft."), ("It is old.", "Es ist alt."), ("Yes.", "Ja."), ("No.", "Nein.")]
    >>> SimilarityProbe(pairs, ("en", "de"), measures=["cka", "debiased-cka"], layers=[8]).measures
    ('cka', 'debiased-cka')

    Raises:
        ConfigError: A measure does not exist.
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
            raise ConfigError("no measures given", "choose one, such as debiased-cka", "missing-data")
        self.measures = tuple(find_measure(name).name for name in dict.fromkeys(measures))
        check_count(len(pairs), self.measures)
        self.sides = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        self.languages, self.layers, self.pool, self.seed = languages, layers, pool, seed
        self.moments: dict[int, dict[str, dict[int, float]]] = {}
        self.cut = (0, 0)

    def measure(self, encoder: EncoderLike) -> dict[str, dict[int, float]]:
        """Value of each measure in each layer.

        Raises:
            ConfigError: The encoder does not have that language or layer.
            InputError: A hidden state is not finite, or all sentences have the same vector.
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
        """Measure and append to ``moments``."""
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
        run: Folder of a training run, finished or not.
        pairs: Sentences of the first language with their translations.
        languages: The two languages.
        measures: Names of the measures.
        layers: ``all``, or layer numbers.
        pool: Sentence pooling.
        device: Where the encoder computes.
        seed: Random seed for sampling rows, where a measure takes fewer.
        progress: Progress in checkpoints.

    Returns:
        Every measure at every checkpoint, ordered by tokens.

    Raises:
        ConfigError: A measure, language or layer does not exist.
        CorruptFileError: A checkpoint is damaged.
        InputError: There are too few sentences.
        StorageError: The folder holds no run, or the run has no checkpoints.
    """
    from isoglot.core.devices import choose_device

    probe = SimilarityProbe(pairs, languages, measures=measures, layers=layers, pool=pool, seed=seed)
    run = Path(run).expanduser()
    encoder = open_run(run).to(choose_device(device))
    kept = Checkpoints(run)
    names = [path.name.removeprefix("step-") for path in kept.folder.glob("step-*")]
    steps = sorted(int(name) for name in names if name.isdecimal())
    if not steps:
        raise StorageError("the run has no checkpoints", f"train with {KEEP_ALL}", "unfinished", file=run)
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


def open_run(run: str | Path) -> Encoder:
    """Encoder of a training run, finished or not, into which the weights of its checkpoints fit.

    Raises:
        StorageError: The folder holds no run, or the run has not written an encoder yet.
    """
    run = Path(run).expanduser()
    if not run.is_dir() or not (run / RUN).exists():
        problem = f"not a training run: there is no {RUN}" if run.is_dir() else "no such folder"
        raise StorageError(problem, "name what isoglot pretrain wrote with --out", "not-found", file=run)
    for folder in (run / LAST, run / BEST):
        if (folder / INDEX).exists():
            return open_encoder(folder)
    problem = "the run has written no encoder yet"
    raise StorageError(problem, "wait for its first evaluation, or for its end", "unfinished", file=run)
