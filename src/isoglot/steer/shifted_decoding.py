"""Decoding of sentences under shifts: its protocol, and one pass for all layers and alphas.

The layers below a shift run once for all shifts, with the private parts of the source language; those above it run with
the private parts of the target. Every position of the text is decoded, without masking. Special tokens (``[CLS]``,
``[SEP]``) are neither decoded nor predicted unless the protocol includes them.

The protocol has the choices that Liu et al. (2020) leave open, with their likely values. The paper translates XNLI's
test set. Its French example has one token more than its input, so premise and hypothesis were probably fed together and
the separator between them was decoded as well.

Shapes: ``B`` rows, ``T`` tokens, ``D`` hidden size, ``N`` decoded tokens of a batch.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import torch

from isoglot.core.errors import ConfigError, InputError, check_name, shown
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.model.protocol import Batch, EncoderLike, batch_of_ids, first_places
from isoglot.represent.layer_pass import Layers, batch_budget, chosen_layers, evaluation_mode, row_length
from isoglot.represent.sentences import RowMaker, Sentences, TokenRows, read_sentences
from isoglot.steer.bleu import BleuTokens
from isoglot.steer.shifts import DEFAULT_SHIFT, Shift, ShiftOptions, make_shift

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoglot.steer.means import LanguageMeans

Reads = Literal["sentences", "pairs"]
"""``sentences``: a row is one sentence; ``pairs``: two, with ``[SEP]`` between them, from lines with a tab."""
Special = Literal["exclude", "include"]
"""Whether ``[CLS]`` and ``[SEP]`` are counted in means, or decoded and predicted."""
Preset = Literal["default", "paper"]
"""``paper``: what Liu et al. 2020 probably did."""


@dataclass(frozen=True, kw_only=True)
class TranslationProtocol:
    """How token translation is run and scored.

    Args:
        reads: Whether a row is a sentence or a pair. Both texts of a pair have the segment embedding of the first.
        special: Whether special positions are decoded and special tokens may be predicted. Positions where one is
            predicted are empty in the output and not scored.
        bleu_tokens: Tokens that BLEU-1 counts.

    >>> TranslationProtocol(bleu_tokens="words").reads
    'sentences'

    Raises:
        ConfigError: An option does not exist.
    """

    reads: Reads = "sentences"
    special: Special = "exclude"
    bleu_tokens: BleuTokens = "standard"

    def __post_init__(self) -> None:
        for name, choices in (("reads", Reads), ("special", Special), ("bleu_tokens", BleuTokens)):
            check_name(name, getattr(self, name), get_args(choices))


PROTOCOLS: dict[Preset, TranslationProtocol] = {
    "default": TranslationProtocol(),
    # By whitespace: with punctuation or subwords, unchanged English scores higher in German than the paper's best.
    "paper": TranslationProtocol(reads="pairs", special="include", bleu_tokens="whitespace"),
}
MEANS_SPECIAL: dict[Preset, Special] = {"default": "exclude", "paper": "include"}
"""Whether special tokens are counted in means."""


@dataclass(frozen=True, kw_only=True)
class TranslationOptions:
    """Options of token translation.

    Args:
        shift: Kind of shift and positions.
        protocol: Input, decoded positions, and the tokens that BLEU-1 counts.
        length: Maximum number of tokens of a sentence, special tokens included. Default: the encoder's, at most 512.
        batch_tokens: Tokens per batch. Default: depends on the device. Affects only rounding.

    >>> from isoglot.steer import ShiftOptions
    >>> TranslationOptions(shift=ShiftOptions(kind="transport")).shift.kind
    'transport'
    """

    shift: ShiftOptions = DEFAULT_SHIFT
    protocol: TranslationProtocol = PROTOCOLS["default"]
    length: int | None = None
    batch_tokens: int | None = None


DEFAULT_TRANSLATION = TranslationOptions()


def protocol_of(preset: Preset, **changes: str | None) -> TranslationProtocol:
    """A preset with the fields that are not None replaced."""
    given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    return replace(PROTOCOLS[preset], **given)


def two_columns(line: str) -> list[str] | None:
    r"""The two texts of a line; further columns, such as XNLI's label, are ignored.

    >>> two_columns("A man sleeps.\tHe is awake.\tcontradiction"), two_columns("A man sleeps.")
    (['A man sleeps.', 'He is awake.'], None)
    """
    found = line.split("\t")[:2]
    return found if len(found) == 2 and all(part.strip() for part in found) else None


@torch.inference_mode()
def best_tokens(
    encoder: EncoderLike, hidden_ND: torch.Tensor, language: str | None = None, *, special: Special = "exclude"
) -> torch.Tensor:
    """The token with the highest logit at every position (N), the first among ties.

    Args:
        encoder: Any encoder with a language modeling head.
        hidden_ND: Output of the last layer.
        language: The language of the head, if heads are private.
        special: Whether special tokens may be predicted.

    Raises:
        ConfigError: It has no language modeling head.
    """
    ids = sorted(encoder.vocabulary.special.values()) if special == "exclude" else []
    barred = torch.tensor(ids, device=hidden_ND.device, dtype=torch.int64)
    return encoder.best_ids(hidden_ND, language, barred)


def check_softmax(encoder: EncoderLike) -> None:
    """Check that an encoder has a language modeling head.

    Raises:
        ConfigError: It has no language modeling head.
    """
    if not encoder.has_head:
        encoder.logits(torch.zeros(1, encoder.hidden_size, device=encoder.device))  # raises the error with its reason


def check_alphas(alphas: Sequence[float]) -> list[float]:
    """Check that there are alphas, that all are finite and that none is given twice.

    Raises:
        ConfigError: This is not so.
    """
    found = [float(alpha) for alpha in alphas]
    problem = "" if found else "no alpha"
    for alpha in found:
        if not math.isfinite(alpha) or found.count(alpha) > 1:
            problem = f"alpha {alpha:g} is given twice" if math.isfinite(alpha) else f"alpha = {alpha}"
    if problem:
        raise ConfigError(problem, "give numbers such as 0.5, 1 and 2, each once", "invalid-value")
    return found


CLOCK = time.perf_counter


class Cell(NamedTuple):
    """Layer and alpha of a shift."""

    layer: int
    alpha: float


@dataclass
class Seconds:
    """Time in seconds by stage."""

    encoder: float = 0.0
    decoding: float = 0.0
    scoring: float = 0.0


@dataclass(frozen=True)
class DecodedGrid:
    """Decoded ids of every sentence in every cell.

    Args:
        given: Input ids, without special tokens unless these are decoded.
        made: Decoded ids at the same positions.
        cut: Number of sentences truncated to the encoder's maximum length.
        seconds: Time by stage.
    """

    given: list[np.ndarray]
    made: dict[Cell, list[np.ndarray]]
    cut: int
    seconds: Seconds = field(default_factory=Seconds)


def decode_shifted(
    encoder: EncoderLike,
    sentences: Sentences,
    source: str,
    target: str,
    means: LanguageMeans,
    *,
    layers: Layers,
    alphas: Sequence[float],
    options: TranslationOptions = DEFAULT_TRANSLATION,
    progress: Progress = SILENT,
) -> DecodedGrid:
    """Decode sentences under every shift of a grid: each layer with each alpha.

    Args:
        encoder: Any encoder with a language modeling head.
        sentences: Texts of the source language, or a file with one per line.
        source: Their language.
        target: The language to shift to.
        means: Language means of the encoder.
        layers: Layers to shift at, one at a time.
        alphas: Lengths of the shift.
        options: Kind of shift, positions, input and decoded positions.
        progress: Reports progress.

    Raises:
        ConfigError: A language has no mean, a layer does not exist, an option is invalid, or there is no language
            modeling head.
        InputError: There is no sentence, one is empty, or a line is not a pair and pairs are expected.
        StorageError: The file cannot be read.
    """
    source, target = language_code(source), language_code(target)
    if source == target:
        raise ConfigError(f"source and target are both {source}", "name two languages", "other-language")
    check_softmax(encoder)
    shifts = _shifts(encoder, means, (source, target), chosen_layers(layers, encoder.depth), alphas, options)
    vocabulary, layout = encoder.vocabulary, encoder.vocabulary.layout
    size = row_length(encoder, options.length)
    maker = RowMaker(vocabulary, source, "text", size)
    texts = [str(text) for text in read_sentences(sentences, "text")]
    rows, between = (maker.rows(texts), ()) if options.protocol.reads == "sentences" else _pair_rows(maker, texts)
    if options.protocol.special == "include":
        offsets = [np.arange(-len(layout.before), len(ids) + len(layout.after)) for ids in rows.ids]
    else:
        offsets = [np.flatnonzero(~np.isin(ids, between)) for ids in rows.ids]
    cells = [Cell(layer, shift.alpha) for layer, each in shifts.items() for shift in each]
    made = {cell: [np.empty(0, dtype=np.int64)] * len(rows.ids) for cell in cells}
    walk = _GridDecoder(encoder, source, target, options.protocol.special)
    with (
        evaluation_mode(encoder),
        torch.inference_mode(),
        progress.task(f"{source} to {target}", total=len(rows.ids) * len(made), unit="translations") as task,
    ):
        for group in rows.batches(batch_budget(encoder, options.batch_tokens)):
            batch = batch_of_ids(vocabulary, [rows.ids[row] for row in group], length=size).to(encoder.device)
            wanted = [offsets[row] for row in group]
            width = batch.ids_BT.shape[1]
            sizes_B = np.array([len(rows.ids[row]) for row in group])
            firsts_B = first_places(vocabulary, sizes_B, width) + np.arange(len(batch)) * width
            places_N = np.concatenate([first + each for first, each in zip(firsts_B, wanted, strict=True)])
            ends = np.cumsum([len(each) for each in wanted])[:-1]
            for cell, ids_N in walk.cells(batch, torch.from_numpy(places_N).to(encoder.device), shifts):
                for row, ids in zip(group, np.split(ids_N, ends), strict=True):
                    made[cell][row] = ids
                task.advance(len(group))
    given = [
        np.asarray(layout.framed([ids.tolist()]), dtype=np.int64)[len(layout.before) + each]
        for ids, each in zip(rows.ids, offsets, strict=True)
    ]
    return DecodedGrid(given, made, rows.events["cut"], walk.seconds)


def _shifts(
    encoder: EncoderLike,
    means: LanguageMeans,
    languages: tuple[str, str],
    layers: Sequence[int],
    alphas: Sequence[float],
    options: TranslationOptions,
) -> dict[int, list[Shift]]:
    """Shifts at each layer, one for each alpha."""
    alphas = check_alphas(alphas)
    shifts: dict[int, list[Shift]] = {}
    for layer in layers:
        at = partial(make_shift, encoder, means, *languages, layer, options=options.shift)
        first = at(alpha=alphas[0])  # costly parts are computed once, unless some tokens have their own alpha
        shifts[layer] = [first.with_alpha(alpha) if first.alphas_V is None else at(alpha=alpha) for alpha in alphas]
    return shifts


def _pair_rows(maker: RowMaker, lines: Sequence[str]) -> tuple[TokenRows, tuple[int, ...]]:
    """Rows of two texts with the tokenizer's separator between them, truncated; and the separator.

    Raises:
        InputError: A line does not have two tab-separated texts.
    """
    pairs = []
    for number, line in enumerate(lines, start=1):
        pair = two_columns(line)
        if pair is None:
            problem = f"line {number}: expected two tab-separated texts, found {shown(line)}"
            raise InputError(problem, "add a tab, or read sentences instead of pairs", "malformed-line")
        pairs.append(pair)
    first, second = (maker.rows([pair[side] for pair in pairs]) for side in (0, 1))
    between = maker.vocabulary.layout.pair_between
    rows = TokenRows(special=maker.vocabulary.layout.size)
    for one, other in zip(first.ids, second.ids, strict=True):
        ids = np.concatenate([one, np.array(between, dtype=one.dtype), other])
        rows.events["cut"] += len(ids) > maker.room
        kept = ids[: maker.room]
        rows.add(kept, np.zeros(1, dtype=np.int64), np.array([len(kept)]))
    return rows, between


@dataclass
class _GridDecoder:
    """Runs a batch through the lower layers once, and through the upper layers for every shift."""

    encoder: EncoderLike
    source: str
    target: str
    special: Special
    seconds: Seconds = field(default_factory=Seconds)

    def cells(
        self, batch: Batch, places_N: torch.Tensor, shifts: dict[int, list[Shift]]
    ) -> Iterator[tuple[Cell, np.ndarray]]:
        """Decoded ids of a batch under each shift, row by row.

        Args:
            batch: The rows.
            places_N: Positions to decode, among those of all rows.
            shifts: Shifts at each layer.
        """
        unshifted: np.ndarray | None = None
        begin = CLOCK()
        for layer, hidden_BTD in enumerate(self.encoder.states(batch, self.source, max(shifts))):
            if layer not in shifts:
                continue
            self.seconds.encoder += self._since(begin)
            for shift in shifts[layer]:
                ids_N = unshifted if shift.nothing else None
                if ids_N is None:
                    ids_N = self._decode(layer, shift, hidden_BTD, batch, places_N)
                if shift.nothing and not self.encoder.has_private_parts:  # then the layer makes no difference
                    unshifted = ids_N
                yield Cell(layer, shift.alpha), ids_N
            begin = CLOCK()

    def _decode(
        self, layer: int, shift: Shift, hidden_BTD: torch.Tensor, batch: Batch, places_N: torch.Tensor
    ) -> np.ndarray:
        begin = CLOCK()
        last_BTD = self.encoder.run_from(layer, shift(hidden_BTD, batch.ids_BT), batch, self.target)
        last_ND = last_BTD.flatten(0, 1).index_select(0, places_N)
        self.seconds.encoder += self._since(begin)
        begin = CLOCK()
        ids_N = best_tokens(self.encoder, last_ND, self.target, special=self.special).cpu().numpy()
        self.seconds.decoding += self._since(begin)
        return ids_N

    def _since(self, begin: float) -> float:
        if self.encoder.device.type == "cuda":
            torch.cuda.synchronize(self.encoder.device)
        return CLOCK() - begin
