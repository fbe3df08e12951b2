"""One pass through an encoder with every layer pooled as it is computed; nothing else is kept.

On a GPU, the next batches are submitted before the results of earlier ones are read: reading a result waits for all
work before it and would leave the GPU idle. Results are read some batches later, when they have long been copied.

Shape legend: ``B`` rows, ``T`` tokens, ``D`` hidden size, ``L`` chosen layers, ``K`` items (texts, words, tokens) of a
batch.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, TypeVar

import numpy as np
import torch
from torch import nn

from isoglot.core.errors import ConfigError, InputError, check_name, check_range, shown
from isoglot.core.language_codes import language_code
from isoglot.model.hf.sentence_transformers import SentenceHead, pool_tokens
from isoglot.model.protocol import Batch, EncoderLike, batch_of_ids, first_places, to_device

if TYPE_CHECKING:
    from isoglot.represent.sentences import TokenRows

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

IN_FLIGHT = {"cuda": 3}
"""Number of batches submitted ahead, by device type; 0 elsewhere, where calls are synchronous."""


class HostCopy:
    """Asynchronous copy of vectors to the host.

    Args:
        vectors_LKD: Vectors on a device, perhaps not computed yet.
    """

    def __init__(self, vectors_LKD: torch.Tensor) -> None:
        self._event: torch.cuda.Event | None = None
        if vectors_LKD.device.type == "cuda":
            # One number per layer shows whether all are finite: a maximum over NaN is NaN.
            self._peaks_L = _copied(vectors_LKD.abs().amax(dim=(1, 2)))
            self._vectors_LKD = _copied(vectors_LKD)
            self._event = torch.cuda.Event()
            self._event.record(torch.cuda.current_stream(vectors_LKD.device))
        else:
            self._peaks_L = self._vectors_LKD = vectors_LKD.cpu()

    def wait(self) -> tuple[torch.Tensor, np.ndarray]:
        """Numbers that show whether all are finite (L × …), and the vectors, once they have arrived."""
        if self._event is not None:
            self._event.synchronize()
        return self._peaks_L, self._vectors_LKD.numpy()


def delayed(made: Iterable[ItemT], count: int) -> Iterator[ItemT]:
    """Delay a stream of items by ``count`` items.

    >>> made = []
    >>> for item in delayed(map(lambda item: made.append(item) or item, "abcd"), 2):
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
    """Copy to pinned host memory, complete once the device has reached this point."""
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    return host.copy_(tensor, non_blocking=True)


Layers = Literal["all"] | Sequence[int]
"""Layer numbers, 0 for the embeddings, negative ones from the end; or all of them."""
Precision = Literal["float32", "bfloat16"]
"""Precision of the encoder; pooling and results are float32."""
Pooling = Literal["mean", "first", "word-first", "tokens", "all-tokens", "mean-all", "max", "last", "weighted", "model"]
"""Mean of an item's tokens, first token of its row (``[CLS]``), its first token, every token as an item (with
``all-tokens`` special tokens too); mean, maximum, last and position-weighted mean of all tokens of a row, special ones
included; or the sentence vector of the model's own modules.
"""
_OVER_ROWS = {"mean-all": "mean", "max": "max", "last": "lasttoken", "weighted": "weightedmean"}
"""Poolings over all tokens of a row, and their names in :func:`pool_tokens`."""

LENGTH = 512  # default maximum: enough for a sentence
_CORE_TOKENS = 1024  # per batch on one core, fits its caches; 512 and 2048 are 7 and 12 % slower
_DEVICE_TOKENS = 32_768  # fills a GPU: half is 20 to 40 % slower (12 x 768), twice no faster


def chosen_layers(layers: Layers, depth: int) -> tuple[int, ...]:
    """Layers as sorted numbers from 0.

    >>> chosen_layers("all", 2), chosen_layers([-1, 0], 2)
    ((0, 1, 2), (0, 2))

    Raises:
        ConfigError: A layer does not exist or is given twice, or none is given.
    """
    if isinstance(layers, str):
        if layers != "all":
            problem = f"invalid layers {shown(layers)}"
            raise ConfigError(problem, "give 'all' or numbers such as [0, 4, -1]", "invalid-value")
        return tuple(range(depth + 1))
    found = []
    for layer in layers:
        if not -depth - 1 <= layer <= depth:
            problem = f"there is no layer {layer}"
            raise ConfigError(problem, f"choose from 0 (the embeddings) to {depth}", "unknown-layer")
        found.append(layer + depth + 1 if layer < 0 else layer)
    if not found or len(set(found)) < len(found):
        problem = "no layers given" if not found else f"duplicate layer in {shown(list(layers))}"
        raise ConfigError(problem, "name each once, or all", "invalid-value")
    return tuple(sorted(found))


def row_length(encoder: EncoderLike, length: int | None) -> int:
    """Maximum number of tokens per row, special tokens included. Default: the encoder's, at most 512.

    Raises:
        ConfigError: It exceeds the encoder's maximum.
    """
    if length is None:
        return min(encoder.max_length, LENGTH)
    check_range("length", length, 1, encoder.max_length)
    return length


def batch_budget(encoder: EncoderLike, batch_tokens: int | None) -> int:
    """Maximum number of tokens per batch, padding included. Default: suited to the encoder's device.

    Raises:
        ConfigError: It is less than 1.
    """
    if batch_tokens is None:
        return _CORE_TOKENS if encoder.device.type == "cpu" else _DEVICE_TOKENS
    check_range("batch_tokens", batch_tokens, 1)
    return batch_tokens


@contextmanager
def evaluation_mode(encoder: EncoderLike) -> Iterator[None]:
    """Evaluation mode for the duration of the block; then every module returns to its previous mode."""
    parts = [part for part in encoder.modules() if part.training] if isinstance(encoder, nn.Module) else []
    if parts and isinstance(encoder, nn.Module):  # setting the mode of every module takes milliseconds
        encoder.eval()
    try:
        yield
    finally:
        for part in parts:
            part.training = True


class PooledBatch(NamedTuple):
    """Numbers of a batch's items, and their vectors in each chosen layer."""

    items_K: np.ndarray
    vectors_LKD: torch.Tensor


class PassOptions(TypedDict, total=False):
    """Options of a pass, the same in every function that runs one."""

    layers: Layers
    """``all`` (the default), or layer numbers: 0 is the embeddings, -1 the last layer."""
    language: str | None
    """Language of the text, for encoders and vocabularies with language-specific parts."""
    length: int | None
    """Maximum number of tokens per row, special tokens included. Default: the encoder's, at most 512."""
    batch_tokens: int | None
    """Tokens per batch, padding included. Default: suited to the device."""
    precision: Precision
    """Precision of the encoder; results are float32."""


class LayerPass:
    """Settings of passes through an encoder, used for any number of batches.

    Args:
        encoder: Any encoder; used in evaluation mode inside ``with ready()``.
        pooling: How the tokens of an item are pooled.
        layers: This and the others as in :class:`PassOptions`.
        language: See there.
        length: See there.
        batch_tokens: See there.
        precision: See there.

    Raises:
        ConfigError: The encoder does not have that layer or language, or the length exceeds its maximum.
    """

    def __init__(
        self,
        encoder: EncoderLike,
        pooling: Pooling,
        *,
        layers: Layers = "all",
        language: str | None = None,
        length: int | None = None,
        batch_tokens: int | None = None,
        precision: Precision = "float32",
    ) -> None:
        self.encoder = encoder
        self.layers = chosen_layers(layers, encoder.depth)
        self.head = encoder.sentence_head if pooling == "model" else None
        if pooling == "model":
            if self.head is None:
                problem = "the model has no sentence vectors of its own"
                raise ConfigError(problem, "pool with mean, or another of the poolings", "not-supported")
            if layers != "all" and self.layers != (encoder.depth,):
                problem = "the model's own sentence vectors exist in the last layer only"
                raise ConfigError(problem, "pool with mean", "not-supported")
            self.layers = (encoder.depth,)
            length = min(encoder.max_length, self.head.length or encoder.max_length) if length is None else length
        self.pooling = pooling
        self._skip = _prompt_tokens(encoder, self.head)
        self.language = None if language is None else language_code(language)
        self.head = self.head and self.head.routed(self.language)
        self.length = row_length(encoder, length)
        self.batch_tokens = batch_budget(encoder, batch_tokens)
        check_name("precision", precision, ("float32", "bfloat16"))
        if precision == "bfloat16" and not isinstance(encoder, nn.Module):
            raise ConfigError("bfloat16 needs an encoder that is a torch module", "choose float32", "not-supported")
        self.precision = precision

    @property
    def hidden_size(self) -> int:
        """Number of columns of the vectors."""
        return self.encoder.hidden_size if self.head is None else self.head.width(self.encoder.hidden_size)

    @contextmanager
    def ready(self) -> Iterator[LayerPass]:
        """Evaluation mode and precision for the duration of the block, checked with a single token first."""
        given = self.encoder
        with evaluation_mode(given):
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
        """Run one token, so that a missing or unknown language is an error before anything is written."""
        vocabulary = self.encoder.vocabulary
        batch = batch_of_ids(vocabulary, [[vocabulary.unknown_id]]).to(self.encoder.device)
        for _ in self._states(batch):
            pass

    def run(self, rows: TokenRows) -> Iterator[tuple[list[int], PooledBatch]]:
        """Run all rows in batches, in a fixed order; yields the row numbers and vectors of each batch.

        On the CPU every core runs batches of its own: no core waits for the slowest one after each operation, and
        results do not depend on the number of cores. An encoder that is not thread-safe runs in one thread.
        """
        groups = rows.batches(self.batch_tokens)
        is_parallel = self.encoder.device.type == "cpu" and self.encoder.is_thread_safe
        run = on_all_cores if is_parallel else map
        yield from run(lambda group: (group, self.batch(rows, group)), groups)

    @torch.inference_mode()
    def batch(self, rows: TokenRows, group: Sequence[int]) -> PooledBatch:
        """Run some rows; their items pooled, float32 on the encoder's device."""
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
        places, lengths = (to_device(torch.from_numpy(array), encoder.device) for array in (places_N, lengths_K))
        found = []
        moved = batch.to(encoder.device)
        for layer, hidden_BTD in self._states(moved):
            if layer in self.layers and self.head is not None:
                found.append(self.head(hidden_BTD, moved.mask_BT, skip=self._skip))
            elif layer in self.layers and self.pooling in _OVER_ROWS:
                found.append(pool_tokens(_OVER_ROWS[self.pooling], hidden_BTD, moved.mask_BT))
            elif layer in self.layers:
                # Hidden states of padding are never used: they may be anything.
                states_ND = hidden_BTD.flatten(0, 1).index_select(0, places).float()
                found.append(_means(states_ND, lengths) if self.pooling == "mean" else states_ND)
        return PooledBatch(items_K, torch.stack(found))

    def _states(self, batch: Batch) -> Iterator[tuple[int, torch.Tensor]]:
        """Hidden states layer by layer, up to the last one needed."""
        yield from enumerate(self.encoder.states(batch, self.language, self.layers[-1]))


def on_all_cores(work: Callable[[ItemT], ResultT], items: Iterable[ItemT]) -> Iterator[ResultT]:
    """``work(item)`` for every item, in order, on as many cores as torch has threads; it has one thread inside.

    >>> list(on_all_cores(len, ["a", "bc"]))
    [1, 2]
    """
    cores = torch.get_num_threads()
    if cores == 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,))
    try:
        running: deque[Future[ResultT]] = deque()
        for item in items:
            running.append(pool.submit(work, item))
            if len(running) > 2 * cores:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(cores)  # new threads inherit the last setting


def _prompt_tokens(encoder: EncoderLike, head: SentenceHead | None) -> int:
    """Number of tokens of a prompt that do not count in pooling, ``[CLS]`` before them included."""
    if head is None or head.include_prompt or not head.prompt:
        return 0
    layout = encoder.vocabulary.layout
    ids = encoder.vocabulary.encode_batch([head.as_read("")], None)[0]
    return len(layout.before) + len(ids) + max(len(layout.after) - 1, 0)


def _means(states_ND: torch.Tensor, lengths_K: torch.Tensor) -> torch.Tensor:
    """Mean of each run of rows."""
    if states_ND.device.type == "mps":  # MPS has no such kernel
        return _means(states_ND.cpu(), lengths_K.cpu()).to(states_ND.device)
    # Checking the lengths would make a GPU wait.
    sums_KD = torch.segment_reduce(states_ND, "sum", lengths=lengths_K, unsafe=True)
    return sums_KD / lengths_K[:, None]


def check_finite(vectors_LKD: torch.Tensor, layers: Sequence[int]) -> None:
    """Check that vectors are finite, given the vectors or the maximum of each layer.

    Raises:
        InputError: They are not; the message has the first layer.
    """
    good_L = torch.isfinite(vectors_LKD).reshape(len(vectors_LKD), -1).all(dim=1)
    if not bool(good_L.all()):
        layer = layers[int((~good_L).nonzero()[0])]
        remedy = "the weights are damaged or training diverged; check them, or compute in float32"
        raise InputError(f"the output of layer {layer} is not finite", remedy, "not-finite")
