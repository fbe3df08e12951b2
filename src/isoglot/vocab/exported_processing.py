"""Text processing of exported tokenizers, which ``tokenizer.json`` cannot describe.

An export to Hugging Face has ``isoglot_text.json`` beside ``tokenizer.json`` if its vocabulary cleans or segments text.
``config.json`` has its hash under :data:`MARK`, so that a missing file is detected.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

from isoglot.core.artifact import read_sealed, sealed
from isoglot.core.errors import CorruptFileError
from isoglot.core.files import as_json, check_file, read_json
from isoglot.text.cleaning.processing import Segmentation, TextProcessing

if TYPE_CHECKING:
    from collections.abc import Sequence

MARK = "isoglot"
"""The key in ``config.json`` that marks a folder as an export, which may be replaced."""
FILE = "isoglot_text.json"
PROCESSING_FORM = {...: {"clean": bool, "segmentation": get_args(Segmentation)}}
_AGAIN = "copy the folder again, whole, or export the encoder again"


class ExportedText(NamedTuple):
    """Languages of an exported tokenizer and the processing of their text."""

    languages: Sequence[str] = ()
    processing: Sequence[TextProcessing] = ()

    def __str__(self) -> str:
        """What another program has to do to text, in one line; empty if nothing.

        >>> str(ExportedText(["zh"], [TextProcessing("zh", clean=True, segmentation="jieba")]))[:56]
        'tokenizer.json does not process text. Text of zh must be'
        """
        if not self.processing:
            return ""
        done = ", ".join(f"{one.language} must be {one}" for one in self.processing)
        one = self.processing[0]
        return (
            f"tokenizer.json does not process text. Text of {done} before it is given to another program: "
            f'isoglot.text.cleaning.processing.TextProcessing("{one.language}", clean={one.clean}, '
            f'segmentation="{one.segmentation}")(text). isoglot does this itself.'
        )

    def as_file(self) -> tuple[bytes, str]:
        """The content of ``isoglot_text.json`` and its hash for ``config.json``."""
        processing = {one.language: one.facts() for one in self.processing}
        content = {"languages": list(self.languages), "processing": processing, "note": str(self)}
        data = as_json(sealed(content))
        return data, hashlib.sha256(data).hexdigest()


def exported_text(source: str | Path) -> ExportedText:
    """Read the text processing of an exported tokenizer; None for other tokenizers.

    Args:
        source: A folder, its ``tokenizer.json``, or a name on the hub whose files were downloaded.

    Raises:
        CorruptFileError: ``isoglot_text.json`` is missing or altered.
    """
    path = Path(source).expanduser()
    folder = path.parent if path.name == "tokenizer.json" and path.is_file() else path
    config, facts = folder / "config.json", folder / FILE
    if not folder.exists():
        config, facts = _fetched(str(source), "config.json"), _fetched(str(source), FILE)
    mark = _mark(config)
    if "text" not in mark:
        return ExportedText()
    if not facts.is_file():
        raise CorruptFileError(
            f"{FILE} is missing: how text is segmented for this tokenizer",
            remedy=_AGAIN,
            code="corrupt-file.missing-part",
            file=folder / FILE,
        )
    check_file(facts, sha256=str(mark["text"]))
    found = read_sealed(facts, {"languages": [str], "processing": PROCESSING_FORM}, remedy=_AGAIN)
    return ExportedText(
        found["languages"], [TextProcessing(code, **each) for code, each in found["processing"].items()]
    )


def _mark(config: Path) -> dict[str, object]:
    if not config.is_file():
        return {}
    content = read_json(config)
    mark = content.get(MARK) if isinstance(content, dict) else None
    return mark if isinstance(mark, dict) else {}


def _fetched(name: str, file: str) -> Path:
    """A downloaded file of a repository on the hub; a path that does not exist if there is none."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(name, file))
    except (HfHubHTTPError, LocalEntryNotFoundError):
        return Path(name) / file
