"""The encoder, what its languages share, and the bridge to Hugging Face."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.model.batch import Batch, batch_of_ids, make_batch
    from isoglot.model.config import EncoderConfig, encoder_config
    from isoglot.model.encoder import Encoder
    from isoglot.model.folder import save_encoder
    from isoglot.model.hf.export import export_to_hf
    from isoglot.model.hf.hooked import HookedEncoder
    from isoglot.model.hf.import_weights import encoder_from_hf
    from isoglot.model.load import load_encoder
    from isoglot.model.plan import SharingPlan
    from isoglot.model.protocol import EncoderLike
    from isoglot.model.static_table import TableEncoder

_HOMES = {
    "Batch": "batch",
    "batch_of_ids": "batch",
    "make_batch": "batch",
    "Encoder": "encoder",
    "save_encoder": "folder",
    "encoder_from_hf": "hf.import_weights",
    "HookedEncoder": "hf.hooked",
    "load_encoder": "load",
    "SharingPlan": "plan",
    "EncoderLike": "protocol",
    "EncoderConfig": "config",
    "encoder_config": "config",
    "TableEncoder": "static_table",
    "export_to_hf": "hf.export",
}

__all__ = [
    "Batch",
    "Encoder",
    "EncoderConfig",
    "EncoderLike",
    "HookedEncoder",
    "SharingPlan",
    "TableEncoder",
    "batch_of_ids",
    "encoder_config",
    "encoder_from_hf",
    "export_to_hf",
    "load_encoder",
    "make_batch",
    "save_encoder",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
