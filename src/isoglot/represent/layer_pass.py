"""Results on their way from the device: the next batches are given to it before the last ones are looked at.

A GPU does what it is given in order and by itself. Whoever asks for a number waits until all before it is done, and
meanwhile gives it nothing to do; so nothing is asked for until some batches later, when it has long been copied.

Shapes: ``L`` layers, ``K`` items of a batch, ``D`` hidden size.

One pass through an encoder, each layer pooled as it is produced; nothing is kept that was not asked for.

Shapes: ``B`` rows, ``T`` tokens, ``D`` hidden size, ``L`` chosen layers, ``K`` items (texts, words, tokens) of a batch.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import numpy as np
import torch
from torch import nn

from isoglot.core.errors import ConfigError, InputError, shown
from isoglot.core.language_codes import language_code
from isoglot.model.batch import Batch, batch_of_ids, first_places
from isoglot.model.hf.sentence_transformers import sentence_head_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoglot.model.protocol import EncoderLike
    from isoglot.represent.token_rows import TokenRows

ItemT = TypeVar("ItemT")

IN_FLIGHT = {"cuda": 3}
"""Batches that a kind of device is given ahead; elsewhere none: there, computing is over when the call is."""


def sent(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor on a device; on its way there, if that is a GPU: from memory that the GPU can read by itself."""
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class HostCopy:
    """Vectors on their way to the host.

    Args:
        vectors_LKD: Where they are, perhaps not computed yet.
    """

    def __init__(self, vectors_LKD: torch.Tensor) -> None:
        self._event: torch.cuda.Event | None = None
        if vectors_LKD.device.type == "cuda":
            # One number for each layer says whether all are numbers: a maximum of NaN is NaN.
            self._peaks_L = _copied(vectors_LKD.abs().amax(dim=(1, 2)))
            self._vectors_LKD = _copied(vectors_LKD)
            self._event = torch.cuda.Event()
            self._event.record(torch.cuda.current_stream(vectors_LKD.device))
        else:
            self._peaks_L = self._vectors_LKD = vectors_LKD.cpu()

    def wait(self) -> tuple[torch.Tensor, np.ndarray]:
        """What to look at to see whether all are finite numbers (L x …), and the vectors; once they are there."""
        if self._event is not None:
            self._event.synchronize()
        return self._peaks_L, self._vectors_LKD.numpy()


def behind(made: Iterable[ItemT], count: int) -> Iterator[ItemT]:
    """The same items, each only once so many more have been made.

    >>> made = []
    >>> for item in behind(map(lambda item: made.append(item) or item, "abcd"), 2):
    ...     print(item, "".join(made))
    a abc
    b abcd
    c abcd
    d abcd
    """
    waiting: deque[ItemT] = deque()
    for item in made:
        waiting.append(item)
        if len(waiting) > count:
            yield waiting.popleft()
    yield from waiting


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    """A copy on the host, there once the device has come so far."""
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    return host.copy_(tensor, non_blocking=True)


Layers = Literal["all"] | Sequence[int]
"""Numbers of layers, 0 the embeddings, negative ones from the end; or all of them."""
Precision = Literal["float32", "bfloat16"]
"""What the encoder computes in; pooling and results are float32."""
Pooling = Literal["mean", "first", "word-first", "tokens", "all-tokens", "model"]
"""The mean of an item's tokens, the first token of its row (``[CLS]``), its first token, each token as an item (with
``all-tokens``, special ones too), or the vector that the model's own modules make of a row."""

LENGTH = 512  # where nobody says otherwise: a sentence is not longer
_CORE_TOKENS = 1024  # of a batch on one core: what its caches hold; 512 and 2048 are 7 and 12 % slower
_DEVICE_TOKENS = 32_768  # fills a GPU: half is a fifth to two fifths slower (12 x 768), twice no faster


def chosen_layers(layers: Layers, depth: int) -> tuple[int, ...]:
    """The layers as numbers from 0, sorted.

    >>> chosen_layers("all", 2), chosen_layers([-1, 0], 2)
    ((0, 1, 2), (0, 2))

    Raises:
        ConfigError: There is no such layer, it is named twice, or none is.
    """
    if isinstance(layers, str):
        if layers != "all":
            raise ConfigError(
                f"layers {shown(layers)}",
                remedy="give 'all' or numbers such as [0, 4, -1]",
                code="config.invalid-value",
            )
        return tuple(range(depth + 1))
    found = []
    for layer in layers:
        if not -depth - 1 <= layer <= depth:
            raise ConfigError(
                f"there is no layer {layer}",
                remedy=f"choose from 0 (the embeddings) to {depth}, or all",
                code="config.unknown-layer",
            )
        found.append(layer + depth + 1 if layer < 0 else layer)
    if not found or len(set(found)) < len(found):
        raise ConfigError(
            "no layer is chosen" if not found else f"a layer is named twice in {shown(list(layers))}",
            remedy="name each once, or all",
            code="config.invalid-value",
        )
    return tuple(sorted(found))


def row_length(encoder: EncoderLike, length: int | None) -> int:
    """Tokens of a row at most, special ones included: what was asked for, else the encoder's, and 512 at most.

    Raises:
        ConfigError: It is more than the encoder takes.
    """
    if length is None:
        return min(encoder.max_length, LENGTH)
    if length > encoder.max_length:
        longest = encoder.max_length
        raise ConfigError(
            f"a length of {length} for an encoder of {longest} tokens",
            remedy="give that or less",
            code="config.invalid-value",
        )
    return length


def batch_budget(encoder: EncoderLike, batch_tokens: int | None) -> int:
    """Tokens of a batch at most, padding included: what was asked for, else what suits the encoder's device.

    Raises:
        ConfigError: It is less than one.
    """
    if batch_tokens is None:
        return _CORE_TOKENS if encoder.device.type == "cpu" else _DEVICE_TOKENS
    if batch_tokens < 1:
        raise ConfigError(f"batches of {batch_tokens} tokens", remedy="give 1 or more", code="config.invalid-value")
    return batch_tokens


@contextmanager
def evaluating(encoder: EncoderLike) -> Iterator[None]:
    """The encoder in evaluation mode while the block lasts; then every part as it was."""
    parts = list(encoder.modules()) if isinstance(encoder, nn.Module) else []
    training = [part.training for part in parts]
    if isinstance(encoder, nn.Module):
        encoder.eval()
    try:
        yield
    finally:
        for part, mode in zip(parts, training, strict=True):
            part.training = mode


class PooledBatch(NamedTuple):
    """What a batch gave: the numbers of its items, and their vectors in each chosen layer."""

    items_K: np.ndarray
    vectors_LKD: torch.Tensor


class LayerPass:
    """How to go through an encoder; made once, used for any number of batches.

    Args:
        encoder: Any encoder; used in evaluation mode inside ``with``.
        layers: Which layers.
        pooling: What becomes of the tokens of an item.
        language: The language, for encoders with parts for each.
        length: Tokens of a row at most, special ones included; by default the encoder's, and 512 at most.
        batch_tokens: Tokens of a batch at most, padding included; by default what suits the device.
        precision: What the encoder computes in.

    Raises:
        ConfigError: There is no such layer or language, or the length is more than the encoder takes.
    """

    def __init__(
        self,
        encoder: EncoderLike,
        *,
        layers: Layers,
        pooling: Pooling,
        language: str | None,
        length: int | None,
        batch_tokens: int | None,
        precision: Precision,
    ) -> None:
        self.encoder = encoder
        self.layers = chosen_layers(layers, encoder.depth)
        self.head = sentence_head_of(encoder) if pooling == "model" else None
        if pooling == "model":
            if self.head is None:
                raise ConfigError(
                    "the model makes no vector of a sentence by itself",
                    remedy="pool with mean or first",
                    code="config.not-supported",
                )
            if layers != "all" and self.layers != (encoder.depth,):
                raise ConfigError(
                    "the model makes its vector of a sentence of the last layer",
                    remedy="pool with mean",
                    code="config.not-supported",
                )
            self.layers = (encoder.depth,)
            longest = min(encoder.max_length, LENGTH if self.head.length is None else self.head.length)
            length = longest if length is None else length
        self.pooling = pooling
        self.language = None if language is None else language_code(language)
        self.length = row_length(encoder, length)
        self.batch_tokens = batch_budget(encoder, batch_tokens)
        if precision not in ("float32", "bfloat16"):
            raise ConfigError(
                f"precision {shown(precision)}", remedy="choose float32 or bfloat16", code="config.unknown-name"
            )
        if precision == "bfloat16" and not isinstance(encoder, nn.Module):
            raise ConfigError(
                "only a torch module can compute in bfloat16", remedy="choose float32", code="config.not-supported"
            )
        self.precision = precision

    @property
    def hidden_size(self) -> int:
        """Numbers in a vector."""
        return self.encoder.hidden_size if self.head is None else self.head.width(self.encoder.hidden_size)

    @contextmanager
    def ready(self) -> Iterator[LayerPass]:
        """The pass with its encoder in evaluation mode and in its precision, tried out; afterwards all is as it was."""
        given = self.encoder
        with evaluating(given):
            if self.precision == "bfloat16":
                assert isinstance(given, nn.Module)  # noqa: S101 - for the type checker
                known = {id(given.vocabulary): given.vocabulary}  # not copied
                self.encoder = copy.deepcopy(given, known).to(torch.bfloat16)
            try:
                self._try()
                yield self
            finally:
                self.encoder = given

    @torch.inference_mode()
    def _try(self) -> None:
        """One token: a language that is missing or wrong shows before anything is written."""
        vocabulary = self.encoder.vocabulary
        batch = batch_of_ids(vocabulary, [[vocabulary.unknown_id]]).to(self.encoder.device)
        for _ in self._states(batch):
            pass

    def run(self, rows: TokenRows) -> Iterator[tuple[list[int], PooledBatch]]:
        """Send all rows through, in batches; each with the rows that were in it, in a fixed order.

        On the CPU every core works on a batch of its own: nothing waits for the slowest core after each operation, and
        the numbers do not depend on how many cores there are. A foreign encoder may not bear that, and is left alone.
        """
        groups = rows.batches(self.batch_tokens)
        cores = torch.get_num_threads()
        if cores == 1 or self.encoder.device.type != "cpu" or not self.encoder.is_thread_safe:
            for group in groups:
                yield group, self.batch(rows, group)
            return
        pool = ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,))
        try:
            running: deque[tuple[list[int], Future[PooledBatch]]] = deque()
            for group in groups:
                running.append((group, pool.submit(self.batch, rows, group)))
                if len(running) > 2 * cores:
                    first, future = running.popleft()
                    yield first, future.result()
            for first, future in running:
                yield first, future.result()
        finally:
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(cores)  # new threads are given what was set last

    @torch.inference_mode()
    def batch(self, rows: TokenRows, group: Sequence[int]) -> PooledBatch:
        """Send some rows through; their items pooled, in float32 on the encoder's device."""
        encoder = self.encoder
        batch = batch_of_ids(encoder.vocabulary, [rows.ids[row] for row in group], length=self.length)
        width = batch.ids_BT.shape[1]
        lengths_K = np.concatenate([rows.lengths[row] for row in group])
        counts_B = np.array([len(rows.lengths[row]) for row in group])
        first_B = np.array([rows.first[row] for row in group])
        items_K = np.repeat(first_B - np.cumsum(counts_B) + counts_B, counts_B) + np.arange(len(lengths_K))
        texts_B = first_places(encoder.vocabulary, np.array([len(rows.ids[row]) for row in group]), width)
        begins_K = np.repeat(np.arange(len(group)) * width + texts_B, counts_B)
        begins_K += np.concatenate([rows.starts[row] for row in group])
        if self.pooling == "first":
            places_N = np.arange(len(group)) * width + texts_B - len(encoder.vocabulary.layout.before)
        elif self.pooling == "word-first":
            places_N = begins_K
        elif self.pooling == "all-tokens":
            places_N = np.flatnonzero(batch.mask_BT.numpy().ravel())
            items_K = np.repeat(first_B, batch.mask_BT.numpy().sum(axis=1))
        else:  # every token of every item
            before_K = np.cumsum(lengths_K) - lengths_K
            places_N = np.repeat(begins_K - before_K, lengths_K) + np.arange(int(lengths_K.sum()))
        if self.pooling == "tokens":
            items_K = np.repeat(items_K, lengths_K)
        places, lengths = (sent(torch.from_numpy(array), encoder.device) for array in (places_N, lengths_K))
        found = []
        moved = _sent(batch, encoder.device)
        for layer, hidden_BTD in self._states(moved):
            if layer in self.layers and self.head is not None:
                found.append(self.head(hidden_BTD, moved.mask_BT))
            elif layer in self.layers:
                # Padding is never touched: what an encoder leaves there may be anything.
                states_ND = hidden_BTD.flatten(0, 1).index_select(0, places).float()
                found.append(_means(states_ND, lengths) if self.pooling == "mean" else states_ND)
        return PooledBatch(items_K, torch.stack(found))

    def _states(self, batch: Batch) -> Iterator[tuple[int, torch.Tensor]]:
        """The layers one after the other, up to the last that is asked for."""
        yield from enumerate(self.encoder.states(batch, self.language, self.layers[-1]))


def _sent(batch: Batch, device: torch.device) -> Batch:
    """The batch on a device, or on its way there."""
    ids_BT, mask_BT, starts_BT = (sent(tensor, device) for tensor in (batch.ids_BT, batch.mask_BT, batch.starts_BT))
    return Batch(ids_BT, mask_BT, starts_BT, batch.full)


def _means(states_ND: torch.Tensor, lengths_K: torch.Tensor) -> torch.Tensor:
    """The mean of each run of rows."""
    if states_ND.device.type == "mps":  # has no such kernel
        return _means(states_ND.cpu(), lengths_K.cpu()).to(states_ND.device)
    # Lengths are ours and right; checking them would make a GPU wait.
    sums_KD = torch.segment_reduce(states_ND, "sum", lengths=lengths_K, unsafe=True)
    return sums_KD / lengths_K[:, None]


def check_finite(vectors_LKD: torch.Tensor, layers: Sequence[int]) -> None:
    """Refuse vectors that hold something else than numbers, or the largest of each layer for them.

    Raises:
        InputError: With the layer it began in.
    """
    good_L = torch.isfinite(vectors_LKD).reshape(len(vectors_LKD), -1).all(dim=1)
    if not bool(good_L.all()):
        layer = layers[int((~good_L).nonzero()[0])]
        raise InputError(
            f"the output of layer {layer} is not finite",
            remedy="the weights are damaged or their training went astray; check them, or compute in float32",
            code="input.not-finite",
        )
