"""Static vectors (Word2Vec, GloVe, fastText) as an encoder without layers, so that every analysis takes them.

A folder of static vectors::

    static.json              method, settings, hashes; written last
    static.safetensors       the vectors (V x D), and which ids have one
    provenance.json          the texts and dictionaries they were trained on
    vocabulary/              their vocabulary

Shapes: ``B`` sentences, ``T`` tokens, ``D`` hidden size, ``V`` vocabulary.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import load, save
from torch import nn

from isoglot.core.artifact import read_index_file, write_index
from isoglot.core.errors import ConfigError, InputError
from isoglot.core.files import file_hash, read_bytes, write_bytes
from isoglot.core.run import renewed_folder
from isoglot.model.folder import VOCABULARY, read_vocabulary
from isoglot.model.protocol import Batch, Change, Edits, EncoderLike, TokenTable, check_layer
from isoglot.text.provenance import Provenance, store_provenance, stored_provenance, unknown
from isoglot.vocab.vocabulary import Vocabulary, vocabulary_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager


INDEX = "static.json"
VECTORS = "static.safetensors"
FORMAT = 1


class TableEncoder(EncoderLike, nn.Module):
    """Static vectors as an encoder with layer 0 alone.

    Args:
        vectors_VD: A vector for every id; those of ids without one are set to zero.
        known_V: Which ids have a vector.
        vocabulary: The vocabulary of the ids.
        about: How they were trained.
    """

    weight: torch.Tensor
    known: torch.Tensor
    depth = 0
    max_length = 2**20  # there are no positions to run out of
    hidden_size: int
    vocabulary: Vocabulary
    provenance: Provenance

    def __init__(
        self,
        vectors_VD: torch.Tensor,
        known_V: torch.Tensor,
        vocabulary: Vocabulary,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if vectors_VD.shape[:1] != known_V.shape or len(known_V) != len(vocabulary):
            problem = f"vectors of shape {tuple(vectors_VD.shape)} for a vocabulary of {len(vocabulary):,}"
            raise ConfigError(problem, "give a vector for every id", "other-size")
        self.register_buffer("weight", vectors_VD * known_V[:, None])
        self.register_buffer("known", known_V)
        self.about = dict(about or {})
        self.provenance = unknown("vectors without a record")
        self.vocabulary, self.hidden_size = vocabulary, vectors_VD.shape[1]
        self._edits = Edits()

    @property
    def device(self) -> torch.device:
        """Device of the vectors."""
        return self.weight.device

    def layers(self, batch: Batch, language: str | None = None) -> tuple[torch.Tensor, ...]:
        """The vectors of the tokens (B x T x D); that of ``[CLS]`` is the mean of its row."""
        ids_BT = batch.ids_BT
        hidden_BTD = self.weight[ids_BT]
        counts_B = self.known[ids_BT].sum(dim=1).clamp(min=1)
        means_BD = hidden_BTD.sum(dim=1) / counts_B[:, None]
        first_BT1 = (ids_BT == self.vocabulary.special.get("[CLS]", -1))[:, :, None]
        return (self._edits.apply(0, torch.where(first_BT1, means_BD[:, None], hidden_BTD), ids_BT),)

    def run_from(
        self, layer: int, hidden: torch.Tensor, batch: Batch, language: str | None = None, to: int | None = None
    ) -> torch.Tensor:
        """Return the hidden states: there are no layers to run.

        Raises:
            ConfigError: The layer does not exist.
        """
        check_layer(layer, 0)
        check_layer(0 if to is None else to, 0)
        return hidden

    def logits(self, hidden: torch.Tensor, language: str | None = None) -> torch.Tensor:
        """Dot products with the vectors of all subwords (… x V)."""
        return hidden @ self.weight.T

    def edited(self, layer: int, change: Change) -> AbstractContextManager[None]:
        """Apply a change to the vectors while the block lasts.

        Raises:
            ConfigError: The layer does not exist.
        """
        check_layer(layer, 0)
        return self._edits.entered(layer, change)

    def token_table(self, language: str | None = None) -> TokenTable:
        """Return the vectors; ids without one have row -1."""
        known_V = self.known.cpu().numpy()
        return TokenTable(self.weight, np.where(known_V, np.arange(len(known_V)), -1))

    def untrained(self, seed: int) -> TableEncoder:
        """Return random normal vectors for the same ids."""
        drawn_VD = torch.randn(self.weight.shape, generator=torch.Generator().manual_seed(seed))
        return TableEncoder(drawn_VD, self.known.cpu(), self.vocabulary).to(self.device).eval()


def save_table(table: TableEncoder, folder: str | Path) -> list[Path]:
    """Save static vectors to a folder, created if missing, atomically; returns the files.

    Raises:
        InputError: A vector is not finite.
        StorageError: The folder cannot be written to.
    """
    if not torch.isfinite(table.weight).all():
        raise InputError("the vectors are not finite", "train them again with a lower learning rate", "not-finite")
    tensors = {"vectors": table.weight.cpu().contiguous(), "known": table.known.to(torch.uint8).cpu().contiguous()}
    own = [f"{VOCABULARY}/{name}" for name in vocabulary_files(Path(folder) / VOCABULARY)]
    with renewed_folder(folder, INDEX, stale=own) as target:
        write_bytes(target / VECTORS, save(tensors))
        record, record_hash = store_provenance(target, table.provenance)
        files = [target / VECTORS, record, *table.vocabulary.save(target / VOCABULARY)]
        index = {
            "hidden_size": table.hidden_size,
            "size": len(table.known),
            "known": int(table.known.sum()),
            "vocabulary": table.vocabulary.hash,
            "files": {VECTORS: file_hash(target / VECTORS)},
            "provenance": record_hash,
            "about": table.about,
        }
        files.append(write_index(target / INDEX, "static vectors", FORMAT, index))
    return [Path(folder) / path.relative_to(target) for path in files]


def open_table(folder: str | Path) -> TableEncoder:
    """Load static vectors that :func:`save_table` wrote.

    Raises:
        CorruptFileError: A file is damaged.
        InputError: ``static.json`` is not isoglot's.
        StorageError: A file is missing.
    """
    folder = Path(folder)
    keys = {"vocabulary": str, "files": {VECTORS: str}, "provenance": str, "about": dict}
    again = "make them with isoglot static train"
    index = read_index_file(folder / INDEX, keys, version=FORMAT, what="static vectors", remedy=again)
    remedy = "restore the vocabulary the vectors were trained with"
    vocabulary = read_vocabulary(folder / VOCABULARY, index["vocabulary"], remedy=remedy)
    tensors = load(read_bytes(folder / VECTORS, sha256=index["files"][VECTORS]))
    table = TableEncoder(tensors["vectors"], tensors["known"].bool(), vocabulary, index["about"])
    table.provenance = stored_provenance(folder, index["provenance"])
    return table.eval()
