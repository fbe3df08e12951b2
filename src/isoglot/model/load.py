"""Loading of encoders: isoglot's own, training runs, static vectors and Hugging Face models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.artifact import is_stored, read_sealed
from isoglot.core.errors import ConfigError, CorruptFileError, IsoglotError, StorageError
from isoglot.core.files import check_file, read_json
from isoglot.model.folder import INDEX, VOCABULARY, folder_size, open_encoder, read_about
from isoglot.model.hf.sentence_transformers import MODULES
from isoglot.model.hf.source import WAYS, open_hf_model, open_hf_vocabulary, open_sentence_head
from isoglot.text.provenance import Provenance, stored_provenance, unknown
from isoglot.vocab.vocabulary import INDEX as VOCABULARY_INDEX
from isoglot.vocab.vocabulary import Vocabulary

if TYPE_CHECKING:
    from isoglot.model.encoder import Encoder
    from isoglot.model.hf.hooked import HookedEncoder
    from isoglot.model.protocol import EncoderLike

EMBEDDED = "isoglot-mini"  # the bundled encoder: English, French, German, Russian and Chinese
EMBEDDED_FOLDER = Path(__file__).with_name(EMBEDDED)  # its folder, in packed form, if this installation has it
_AGAIN = "install isoglot again"

Weights = Literal["best", "last"]  # weights of a training run: those with the lowest dev perplexity, or the final ones
# Names of folders in a run.
BEST: Weights = "best"
LAST: Weights = "last"
RUN = "pretrain.json"  # the file that identifies the folder of a training run
# The file that identifies a checkpoint of a run, in RUN/checkpoints/step-00001000, and its weights.
CHECKPOINT, CHECKPOINT_WEIGHTS = "state.json", "model.safetensors"


@dataclass(frozen=True)
class RunWeights:
    """The chosen weights of a training run."""

    folder: Path  # folder of the encoder: ``best`` or ``last`` in the run's folder
    weights: Weights
    step: int
    dev_perplexity: dict[str, float]  # dev perplexity at that step by language; empty for a run without evaluations
    only: bool = False  # whether these are the only weights, since no best ones were kept

    def facts(self) -> dict[str, Any]:
        """The same for JSON and run records."""
        return {"weights": self.weights, "step": self.step, "dev_perplexity": self.dev_perplexity}

    def __str__(self) -> str:
        """One line: ``run/best: best weights, step 250, dev perplexity en 12.3``."""
        measured = ", ".join(f"{code} {value:.1f}" for code, value in self.dev_perplexity.items())
        measured = f"dev perplexity {measured}" if measured else "dev perplexity not measured"
        only = " (the run kept no best weights)" if self.only else ""
        return f"{self.folder}: {self.weights} weights{only}, step {self.step:,}, {measured}"


def run_weights(source: str | Path, weights: Weights = BEST) -> RunWeights | None:
    """Choose the weights of a training run; None if the source is not a run.

    A run that kept no best weights (no evaluations, or ``evaluation.best = "counted"``) has only its last.

    Raises:
        StorageError: The run has not finished.
    """
    path = Path(source).expanduser()
    if not (path / RUN).is_file():
        return None
    if not (path / LAST / INDEX).exists():
        saved = f", or name the best weights so far: {path / BEST}" if (path / BEST / INDEX).exists() else ""
        problem = "the training run has not finished"
        raise StorageError(problem, f"finish it with isoglot pretrain --resume{saved}", "unfinished", file=source)
    only = not (path / BEST / INDEX).exists()
    chosen = LAST if only else weights
    about = read_about(path / chosen)
    perplexity = {str(code): float(value) for code, value in about.get("dev_perplexity", {}).items()}
    return RunWeights(path / chosen, chosen, int(about.get("step", 0)), perplexity, only)


def encoder_folder(source: str | Path, weights: Weights = BEST) -> Path | None:
    """The folder of an isoglot encoder, of a run or bundled (``isoglot-mini``); None for any other source."""
    run = run_weights(source, weights)
    if run is not None:
        return run.folder
    path = Path(source).expanduser()
    if str(source) == EMBEDDED and not path.exists():
        path = EMBEDDED_FOLDER
    return path if (path / INDEX).exists() else None


def embedded() -> dict[str, Any]:
    """Facts about the bundled encoder; ``size`` in bytes is None if it is not installed.

    ``problem`` is None if it can be loaded, else a line that says what is damaged.
    """
    if not EMBEDDED_FOLDER.is_dir():
        return {"name": EMBEDDED, "size": None, "languages": [], "problem": None}
    languages: list[str] = []
    problem = None
    try:
        languages = list(open_encoder(EMBEDDED_FOLDER).config.languages)
    except IsoglotError as error:
        problem = str(CorruptFileError(error.problem, _AGAIN, file=error.file))
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:  # an index with parts missing
        what = f"not what was written ({type(error).__name__})"
        problem = str(CorruptFileError(what, _AGAIN, file=EMBEDDED_FOLDER / INDEX))
    return {"name": EMBEDDED, "size": folder_size(EMBEDDED_FOLDER), "languages": languages, "problem": problem}


def load_encoder(source: str | Path, *, device: str = "auto", weights: Weights = BEST) -> EncoderLike:
    """Load an encoder in evaluation mode.

    BERT, RoBERTa, XLM-R and ModernBERT are imported into :class:`Encoder`; other Hugging Face encoders are wrapped
    (:class:`HookedEncoder`). Static vectors are an encoder with layer 0 alone. A sentence-transformers model has a
    ``sentence_head``, which computes sentence vectors.

    Args:
        source: Folder of an encoder, a training run or one of its checkpoints, ``isoglot-mini``, a Hugging Face folder
            or hub name.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` or ``mps``.
        weights: Of a training run: ``best`` (lowest dev perplexity, as the first paper selects) or ``last``.

    Returns:
        The encoder.

    >>> encoder = load_encoder("isoglot-mini", device="cpu")
    >>> encoder.depth, encoder.hidden_size
    (8, 384)

    Raises:
        ConfigError: The model is not supported.
        CorruptFileError: A file is damaged.
        InputError: The folder holds something else.
        MissingPartError: A Hugging Face model needs ``transformers``, which is not installed.
        StorageError: The source does not exist, or the training run has not finished.
    """
    from isoglot.core.devices import choose_device
    from isoglot.model.static_table import INDEX as TABLE
    from isoglot.model.static_table import open_table

    place = choose_device(device)
    folder = encoder_folder(source, weights)
    if folder is not None:
        return open_encoder(folder).to(place)
    path = Path(source).expanduser()
    if (path / TABLE).exists():
        return open_table(path).to(place)
    if (path / CHECKPOINT).is_file() and (path / CHECKPOINT_WEIGHTS).is_file():
        return _open_checkpoint(path.resolve()).to(place)
    if str(source) == EMBEDDED and not path.exists():
        raise ConfigError(f"{EMBEDDED} is not bundled with this installation", WAYS, "not-supported")
    if path.is_dir() and not any((path / name).exists() for name in ("config.json", MODULES)):
        problem = f"no encoder in this folder: neither {INDEX} nor config.json"
        raise StorageError(problem, WAYS, "model-not-found", file=source)
    if not path.is_dir() and (path.exists() or path.is_absolute() or str(source).startswith((".", "~"))):
        problem = "a file, where an encoder is a folder" if path.exists() else "no such folder"
        raise StorageError(problem, f"check the path, or {WAYS}", "model-not-found", file=source)
    return _from_hf(path if path.is_dir() else str(source)).to(place)


def load_native_encoder(source: str | Path, *, device: str = "auto", weights: Weights = BEST) -> Encoder:
    """Load an encoder of isoglot's own architecture, which can be exported; arguments as for :func:`load_encoder`.

    Raises:
        ConfigError: The source holds static vectors, or a Hugging Face model that can only be wrapped.
    """
    from isoglot.model.encoder import is_native

    encoder = load_encoder(source, device=device, weights=weights)
    if is_native(encoder):
        return encoder
    if not encoder.depth:
        problem = f"{source} holds static vectors, which cannot be exported as an encoder"
        remedy = f"write a .vec file: isoglot static vectors {source} --words FILE --lang LANG --out FILE.vec"
        raise ConfigError(problem, remedy, "not-supported")
    problem = f"{source} is a Hugging Face model without a counterpart in isoglot"
    raise ConfigError(problem, "copy its folder instead", "not-supported")


def _open_checkpoint(path: Path) -> Encoder:
    """Open the encoder of a checkpoint: that of its run, with its weights.

    Raises:
        CorruptFileError: The checkpoint is damaged.
        StorageError: The run has not written an encoder yet, or is not there.
    """
    from safetensors.torch import load_file

    remedy = "name another checkpoint"
    state = read_sealed(path / CHECKPOINT, {"step": int, "files": {...: str}}, remedy=remedy)
    check_file(path / CHECKPOINT_WEIGHTS, sha256=state["files"].get(CHECKPOINT_WEIGHTS, ""))
    run = path.parent.parent
    folder = next((run / name for name in (LAST, BEST) if (run / name / INDEX).exists()), None)
    if folder is None:
        raise StorageError(
            "the run of this checkpoint has written no encoder yet, or was moved",
            "wait for its first evaluation, or leave the checkpoint in the folder of its run",
            "unfinished",
            file=path,
        )
    encoder = open_encoder(folder)
    encoder.load_state_dict(load_file(path / CHECKPOINT_WEIGHTS))
    return encoder.eval()


def _from_hf(source: str | Path) -> Encoder | HookedEncoder:
    from isoglot.model.hf.hooked import HookedEncoder
    from isoglot.model.hf.import_weights import encoder_from_hf, obstacles

    found: Encoder | HookedEncoder
    head = open_sentence_head(source)
    inner = source / head.transformer if head is not None and isinstance(source, Path) else source
    origin = _hf_provenance(inner)
    model = open_hf_model(inner)
    vocabulary = open_hf_vocabulary(inner)
    vocabulary.about["provenance"] = origin.facts()
    found = HookedEncoder(model, vocabulary) if obstacles(model.config) else encoder_from_hf(model, vocabulary)
    found.provenance = origin
    found.sentence_head = head
    return found


def _hf_provenance(source: str | Path) -> Provenance:
    """Provenance of an isoglot export; unknown for other models.

    Raises:
        CorruptFileError: The record of an export is missing or damaged.
    """
    from isoglot.model.hf.export import PROVENANCE
    from isoglot.vocab.external_tokenizer import EXPORT_MARK as MARK

    if not isinstance(source, Path):
        return unknown(source)
    content = read_json(source / "config.json")
    mark = content.get(MARK) if isinstance(content, dict) else None
    if not isinstance(mark, dict) or "provenance" not in mark:
        return unknown(source.name)
    return stored_provenance(source, str(mark["provenance"]), name=PROVENANCE)


def open_vocabulary(name: str | Path) -> Vocabulary:
    """Open a vocabulary: isoglot's own by its folder, that of an encoder (``isoglot-mini`` among them), or a tokenizer.

    >>> len(open_vocabulary("isoglot-mini").languages)
    5

    Args:
        name: Folder, name of an encoder, tokenizer file, or name on the Hugging Face hub.

    Raises:
        ConfigError: There is no such vocabulary.
        StorageError: A file cannot be read.
    """
    folder = Path(name)
    if not is_stored(folder / VOCABULARY_INDEX) and (encoder := encoder_folder(name)) is not None:
        folder = encoder / VOCABULARY
    if is_stored(folder / VOCABULARY_INDEX):
        return Vocabulary.load(folder)
    return Vocabulary.from_tokenizer(name)
