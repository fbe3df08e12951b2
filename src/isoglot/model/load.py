"""Open an encoder, whoever made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.model.folder import INDEX, open_encoder

if TYPE_CHECKING:
    from isoglot.model.protocol import EncoderLike


def load_encoder(source: str | Path, *, device: str = "auto") -> EncoderLike:
    """Open our folder, a Hugging Face folder, or a name on its hub."""
    from isoglot.core.devices import choose_device

    if (Path(source) / INDEX).exists():
        return open_encoder(source).to(choose_device(device))
    raise NotImplementedError
