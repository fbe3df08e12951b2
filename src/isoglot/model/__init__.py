"""The encoder, what its languages share, and the bridge to Hugging Face."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.model.config import EncoderConfig as EncoderConfig
    from isoglot.model.config import SharingPlan as SharingPlan
    from isoglot.model.config import encoder_config as encoder_config
    from isoglot.model.encoder import Encoder as Encoder
    from isoglot.model.folder import save_encoder as save_encoder
    from isoglot.model.hf.export import export_to_hf as export_to_hf
    from isoglot.model.hf.hooked import HookedEncoder as HookedEncoder
    from isoglot.model.hf.import_weights import encoder_from_hf as encoder_from_hf
    from isoglot.model.load import load_encoder as load_encoder
    from isoglot.model.protocol import Batch as Batch
    from isoglot.model.protocol import EncoderLike as EncoderLike
    from isoglot.model.protocol import batch_of_ids as batch_of_ids
    from isoglot.model.protocol import make_batch as make_batch
    from isoglot.model.static_table import TableEncoder as TableEncoder

__getattr__, __dir__, __all__ = lazy_exports(__name__)
