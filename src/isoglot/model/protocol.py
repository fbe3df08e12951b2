"""The interface of every encoder (ours, wrapped Hugging Face models, static vectors, a user's class), and its batches.

Analyses never ask which class an encoder is: what only some encoders can do is a capability of the interface, with the
answer of an encoder without it as the default.

Shapes: ``B`` sentences, ``T`` tokens, ``D`` hidden size, ``N`` positions, ``R`` rows of a table, ``V`` vocabulary.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from isoglot.core.errors import ConfigError, check_range

if TYPE_CHECKING:
    from isoglot.model.config import EncoderConfig
    from isoglot.model.hf.sentence_transformers import SentenceHead
    from isoglot.text.provenance import Provenance
    from isoglot.vocab import Vocabulary


_SCORES = 2**20  # logits computed at a time on the CPU: 4 MB, which fits its cache
_DEVICE_SCORES = 2**28

Change = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Function of hidden states (B x T x D) and ids (B x T) that returns hidden states (B x T x D)."""


class TokenTable(NamedTuple):
    """The token embeddings of an encoder."""

    weight_RD: torch.Tensor
    rows_V: np.ndarray  # the row of each id; -1 for an id without one


class EncoderLike:
    """An encoder that every analysis works on.

    To analyze an encoder of your own, subclass it and implement the members below; the capabilities after them have
    defaults.

    >>> from isoglot.model import Encoder
    >>> issubclass(Encoder, EncoderLike)
    True
    """

    if TYPE_CHECKING:  # declared only, so that a subclass may delegate them with __getattr__

        @property
        def vocabulary(self) -> Vocabulary:
            """The vocabulary that turns text into its ids."""

        @property
        def provenance(self) -> Provenance:
            """The texts and dictionaries it was trained on."""

        @property
        def hidden_size(self) -> int:
            """Dimensions of the hidden states."""

        @property
        def depth(self) -> int:
            """Number of layers."""

        @property
        def max_length(self) -> int:
            """Maximum number of input tokens, special tokens included."""

        @property
        def device(self) -> torch.device:
            """Device of the weights."""

        def layers(self, batch: Batch, language: str | None = None) -> tuple[torch.Tensor, ...]:
            """Hidden states of every layer (each B x T x D); the first are the embeddings, after their norm."""

        def run_from(
            self, layer: int, hidden: torch.Tensor, batch: Batch, language: str | None = None, to: int | None = None
        ) -> torch.Tensor:
            """Continue from the output of one layer to the output of a later one (default: the last)."""

        def logits(self, hidden: torch.Tensor, language: str | None = None) -> torch.Tensor:
            """Logits over the vocabulary (… x V) for hidden states of the last layer (… x D)."""

        def edited(self, layer: int, change: Change) -> AbstractContextManager[None]:
            """Apply a change to the output of a layer (0: the embeddings) while the block lasts.

            ``layers`` shows it, ``run_from`` applies it in the layers after the one it starts from, and so does
            anything built on the encoder. Several changes apply in the order they were entered.
            """

    # --- capabilities ---

    config: EncoderConfig | None = None
    """The architecture, where it is one of isoglot's; None for any other."""
    languages: tuple[str, ...] = ()
    """The languages the encoder was built for; empty: not known, or any."""
    has_head: bool = True
    """Whether there is a language modeling head, so that ``logits`` works."""
    has_private_parts: bool = False
    """Whether each language has weights of its own, so that the language of a pass matters."""
    is_thread_safe: bool = False
    """Whether several threads may run it at the same time."""
    is_capturable: bool = False
    """Whether its forward and backward passes can be captured in a CUDA graph."""
    sentence_head: SentenceHead | None = None
    """Pooling and dense layers of sentence-transformers, if the model came with them."""

    def states(self, batch: Batch, language: str | None = None, to: int | None = None) -> Iterator[torch.Tensor]:
        """Yield the hidden states of layers 0 to ``to`` (default: the last), computing no later layer if it can."""
        return islice(self.layers(batch, language), None if to is None else to + 1)

    def best_ids(self, hidden_ND: torch.Tensor, language: str | None, barred: torch.Tensor) -> torch.Tensor:
        """Return the id with the highest logit at each position (N), the first of equals, none of the barred ids."""
        size = max(1, block_size(hidden_ND) // len(self.vocabulary))
        found = [
            self.logits(part_ND, language).index_fill(1, barred, -torch.inf).argmax(dim=1)
            for part_ND in hidden_ND.split(size)
        ]
        return torch.cat(found) if found else hidden_ND.new_empty(0, dtype=torch.int64)

    def lens_logits(self, hidden: torch.Tensor, layer: int, language: str | None = None) -> torch.Tensor:
        """Logits that the head gives for hidden states of any layer (logit lens), as if they were of the last."""
        return self.logits(hidden, language)

    def check_language(self, code: str) -> None:
        """Raise ConfigError if the encoder cannot process a language."""

    def token_table(self, language: str | None = None) -> TokenTable:
        """Return the token embeddings, of one language where each has its own.

        Raises:
            ConfigError: The encoder does not expose them.
        """
        raise _unsupported(f"a {type(self).__name__} shows no embedding matrix", "use layer 0 of extract or word_types")

    def untrained(self, seed: int) -> EncoderLike:
        """Return an encoder of the same architecture with random weights.

        Raises:
            ConfigError: It cannot be rebuilt.
        """
        problem = f"no untrained encoder can be made like a {type(self).__name__}"
        raise _unsupported(problem, "give one that load_encoder opens, or make the untrained one yourself")

    def is_body(self, name: str) -> bool:
        """Whether a parameter or module of that name belongs to the embeddings or layers, and not to the head."""
        return True


def needed_vocabulary(vocabulary: Vocabulary | None) -> Vocabulary:
    """The vocabulary of an encoder.

    Raises:
        ConfigError: It was built without one.
    """
    if vocabulary is None:
        raise _unsupported("the encoder has no vocabulary", "load it with its tokenizer, or give it one")
    return vocabulary


def _unsupported(problem: str, remedy: str) -> ConfigError:
    return ConfigError(problem, remedy, "not-supported")


class Edits:
    """The changes of each layer, in the order in which they were entered."""

    def __init__(self) -> None:
        self._at: dict[int, tuple[Change, ...]] = {}

    @contextmanager
    def entered(self, layer: int, change: Change) -> Iterator[None]:
        """Add a change while the block lasts."""

        def entry(hidden_BTD: torch.Tensor, ids_BT: torch.Tensor) -> torch.Tensor:
            return changed(change, hidden_BTD, ids_BT)  # a new function each time: a change may be entered twice

        self._at[layer] = (*self._at.get(layer, ()), entry)
        try:
            yield
        finally:
            left = tuple(each for each in self._at[layer] if each is not entry)
            if left:
                self._at[layer] = left
            else:
                del self._at[layer]

    def apply(self, layer: int, hidden_BTD: torch.Tensor, ids_BT: torch.Tensor) -> torch.Tensor:
        """Apply the changes of a layer to its output."""
        for entry in self._at.get(layer, ()):
            hidden_BTD = entry(hidden_BTD, ids_BT)
        return hidden_BTD


def changed(change: Change, hidden_BTD: torch.Tensor, ids_BT: torch.Tensor) -> torch.Tensor:
    """Apply a change and check the shape of its result.

    Raises:
        ConfigError: The change returns another shape.
    """
    found_BTD = change(hidden_BTD, ids_BT)
    if found_BTD.shape != hidden_BTD.shape:
        problem = f"an edit returns shape {tuple(found_BTD.shape)} for {tuple(hidden_BTD.shape)}"
        raise ConfigError(problem, "keep the shape", "other-size")
    return found_BTD


def check_layer(layer: int, depth: int) -> None:
    """Check that a layer exists.

    Raises:
        ConfigError: With the range of layers.
    """
    if not 0 <= layer <= depth:
        raise ConfigError(f"there is no layer {layer}", f"choose from 0 (the embeddings) to {depth}", "unknown-layer")


def layer_states(encoder: EncoderLike, layer: int, batch: Batch, language: str | None = None) -> torch.Tensor:
    """Return the hidden states of one layer (B x T x D)."""
    return deque(encoder.states(batch, language, layer), maxlen=1).pop()


def block_size(hidden_ND: torch.Tensor) -> int:
    """Number of logits to compute at a time."""
    return _SCORES if hidden_ND.device.type == "cpu" else _DEVICE_SCORES


def last_layer(layer: int, to: int | None, depth: int) -> int:
    """Return the layer at which ``run_from`` ends (default: the last).

    Raises:
        ConfigError: One of the layers does not exist, or the end comes before the start.
    """
    end = depth if to is None else to
    if not 0 <= layer <= end <= depth:
        raise ConfigError(f"cannot run from layer {layer} to {end}", f"layers go from 0 up to {depth}", "unknown-layer")
    return end


# --- batches of sentences ---


@dataclass(frozen=True)
class Batch:
    """A batch of sentences, padded on the side where the tokenizer pads.

    Args:
        ids_BT: Token ids, special tokens included.
        mask_BT: Attention mask, True at tokens, False at padding.
        starts_BT: True where a word begins; False at special tokens and padding.
        full: Whether nothing is padded, so that attention needs no mask.

    >>> import torch
    >>> ids_BT = torch.tensor([[2, 7, 9, 3], [2, 8, 3, 0]])
    >>> batch = Batch(ids_BT, ids_BT != 0, ids_BT > 3)
    >>> len(batch), batch.mask_BT.sum(dim=1).tolist()
    (2, [4, 3])
    """

    ids_BT: torch.Tensor
    mask_BT: torch.Tensor
    starts_BT: torch.Tensor
    full: bool = False

    def to(self, device: torch.device | str) -> Batch:
        """Move the batch to a device."""
        ids_BT, mask_BT, starts_BT = (to_device(each, device) for each in (self.ids_BT, self.mask_BT, self.starts_BT))
        return Batch(ids_BT, mask_BT, starts_BT, self.full)

    def __len__(self) -> int:
        return len(self.ids_BT)


def to_device(tensor: torch.Tensor, device: torch.device | str) -> torch.Tensor:
    """Copy a tensor to a device, asynchronously from pinned memory if it is a GPU."""
    if tensor.device.type == "cpu" and torch.device(device).type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def make_batch(
    vocabulary: Vocabulary, texts: Sequence[str], language: str | None = None, *, length: int = 512
) -> Batch:
    """Encode sentences as a batch, with the tokenizer's special tokens, truncated to a length.

    Args:
        vocabulary: The vocabulary.
        texts: The sentences.
        language: Their language, if the vocabulary needs it.
        length: Maximum number of tokens, special tokens included.

    Returns:
        Ids and mask, B × T.

    >>> from isoglot.model import load_encoder
    >>> encoder = load_encoder("isoglot-mini", device="cpu")
    >>> batch = make_batch(encoder.vocabulary, ["The house is old."], "en")
    >>> [tuple(layer.shape[-1:]) for layer in encoder.layers(batch, "en")][:2]
    [(384,), (384,)]

    Raises:
        ConfigError: There is no sentence, the length leaves no room for a token, or the vocabulary lacks the language.
    """
    return batch_of_ids(vocabulary, vocabulary.encode_batch(texts, language), length=length)


def batch_of_ids(vocabulary: Vocabulary, sentences: Sequence[Sequence[int]], *, length: int = 512) -> Batch:
    """Build a batch from ids without special tokens.

    Args:
        vocabulary: Its special tokens are added.
        sentences: Token ids of each sentence.
        length: Maximum number of tokens with special tokens; longer rows are truncated.

    Returns:
        Ids and mask, B × T.

    >>> import isoglot
    >>> encoder = isoglot.load_encoder("isoglot-mini", device="cpu")
    >>> batch_of_ids(encoder.vocabulary, [[100, 101], [102]]).ids_BT.shape[0]
    2

    Raises:
        ConfigError: There is no sentence, or the length leaves no room for a token.
    """
    if not sentences:
        raise ConfigError("a batch needs at least one sentence", "give at least one", "missing-data")
    layout = vocabulary.layout
    check_room(vocabulary, length)
    kept = [sentence[: length - layout.size] for sentence in sentences]
    sizes_B = np.array([len(sentence) for sentence in kept])
    width = max(int(sizes_B.max()) + layout.size, 1)
    firsts_B = first_places(vocabulary, sizes_B, width)
    ids_BT = np.full((len(kept), width), vocabulary.pad_id, dtype=np.int64)
    mask_BT = np.zeros((len(kept), width), dtype=bool)
    starts_BT = np.zeros((len(kept), width), dtype=bool)
    for row, (sentence, first) in enumerate(zip(kept, firsts_B.tolist(), strict=True)):
        begin, end = first - len(layout.before), first + len(sentence) + len(layout.after)
        ids_BT[row, begin:end] = layout.framed([sentence])
        mask_BT[row, begin:end] = True
        starts_BT[row, first : first + len(sentence)] = vocabulary.starts[ids_BT[row, first : first + len(sentence)]]
        starts_BT[row, first : first + 1] = bool(
            len(sentence)
        )  # a sentence begins with a word, whatever its first subword is
    full = bool((sizes_B + layout.size == width).all())
    return Batch(torch.from_numpy(ids_BT), torch.from_numpy(mask_BT), torch.from_numpy(starts_BT), full)


def in_second_text(ids_BT: torch.Tensor, separator_id: int, pad_id: int) -> torch.Tensor:
    """True after the first separator, except at padding: at the second of two texts (B x T).

    >>> in_second_text(torch.tensor([[2, 7, 3, 8, 3, 0], [2, 7, 8, 9, 3, 0]]), 3, 0).int().tolist()
    [[0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 0]]
    """
    ends_BT = (ids_BT == separator_id).long()
    return (ends_BT.cumsum(dim=1) > ends_BT) & (ids_BT != pad_id)


def check_room(vocabulary: Vocabulary, length: int) -> None:
    """Check that a length leaves room for a token beside the special tokens.

    Raises:
        ConfigError: The length is too small.
    """
    check_range("length", length, vocabulary.layout.size + 1)


def first_places(vocabulary: Vocabulary, sizes_B: np.ndarray, width: int) -> np.ndarray:
    """Position at which the text of each row begins, after padding on the left and special tokens.

    Args:
        vocabulary: Has the special tokens and the side of the padding.
        sizes_B: Tokens of each row, without special tokens.
        width: Columns of the batch.
    """
    layout = vocabulary.layout
    padding_B = width - layout.size - sizes_B if vocabulary.padding_side == "left" else np.zeros_like(sizes_B)
    return padding_B + len(layout.before)
