"""Encoder with rows for the subwords of a new language; all other weights stay as they are.

Shapes: ``O`` old rows, ``N`` new rows, ``D`` hidden size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from isoglot.core.errors import ConfigError
from isoglot.core.language_codes import language_code
from isoglot.core.rng import derive_seed
from isoglot.model.encoder import Encoder
from isoglot.model.head import no_head

if TYPE_CHECKING:
    from isoglot.vocab import Vocabulary

NewRows = Callable[[torch.Tensor, int], torch.Tensor]
"""Returns new rows (N x D) for a table (O x D) and their number N."""


def mean_rows(seed: int = 0, noise: float = 0.1) -> NewRows:
    """New rows at the mean of a table, apart from each other by some noise.

    Args:
        seed: Random seed of the noise.
        noise: Its standard deviation as a share of the table's, in each dimension.
    """

    def rows(table_OD: torch.Tensor, count: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(derive_seed(seed, "new rows"))
        drawn_ND = torch.empty(count, table_OD.shape[1]).normal_(generator=generator)
        return table_OD.mean(0) + noise * table_OD.std(0) * drawn_ND

    return rows


def check_growable(encoder: Encoder) -> None:
    """Check that a language can be added to an encoder.

    Raises:
        ConfigError: It has no language modeling head, or languages have private parts.
    """
    if not encoder.has_head:
        raise no_head()
    if encoder.has_private_parts:
        raise ConfigError(
            f"languages of this encoder have parts of their own ({encoder.config.sharing.name})",
            "choose an encoder whose languages share all parts",
            "not-supported",
        )


def grown_encoder(encoder: Encoder, vocabulary: Vocabulary, language: str, rows: NewRows) -> Encoder:
    """Add a language to an encoder, on the CPU.

    Args:
        encoder: The encoder; it does not change.
        vocabulary: Its vocabulary with the language added (:func:`isoglot.vocab.extend_vocabulary`).
        language: The language.
        rows: Makes rows of the embeddings and, if it is not tied to them, of the softmax.

    Raises:
        ConfigError: The encoder has no head, or its languages have private parts.
    """
    check_growable(encoder)
    old = {name: tensor.detach().cpu() for name, tensor in encoder.state_dict().items()}
    code, extra = language_code(language), len(vocabulary) - encoder.config.vocabulary_size
    languages = (*encoder.config.languages, code) if encoder.config.languages else ()
    changes = {"vocabulary_size": len(vocabulary), "languages": languages}
    grown = Encoder(encoder.config.model_copy(update=changes), vocabulary, seed=None)
    state = {}
    for name, tensor in grown.state_dict().items():
        if name not in old:  # the new language's own embedding
            others = [old[f"embedding.languages.{other}"] for other in encoder.config.languages]
            state[name] = torch.stack(others).mean(0)
        elif old[name].shape == tensor.shape:
            state[name] = old[name]
        elif tensor.dim() == 2:
            state[name] = torch.cat([old[name], rows(old[name], extra)])
        else:
            state[name] = torch.cat([old[name], old[name].mean().expand(extra)])
    grown.load_state_dict(state)
    grown.provenance = encoder.provenance
    return grown.eval()
