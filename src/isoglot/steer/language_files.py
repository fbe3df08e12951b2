"""Files of language means and token sets, in a folder of their own or inside a packed encoder.

``isoglot steer fit`` writes ``means.safetensors`` and ``token_sets.json``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from isoglot.core.artifact import ENDING, is_stored
from isoglot.core.errors import ConfigError, StorageError
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.languages.builtin import TEXT_SENTENCES, builtin_languages, builtin_text
from isoglot.steer.means import LanguageMeans
from isoglot.steer.shift_choice import ShiftChoice, choose_shift
from isoglot.steer.token_sets import TokenSets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoglot.model import Encoder, EncoderLike
    from isoglot.represent.layer_pass import Layers
    from isoglot.steer.shifted_decoding import Special
    from isoglot.steer.sweep import Sweep

MEANS, SETS = "means.safetensors", "token_sets.json"
FILE_SENTENCES = 10_000
"""Default number of sentences of each language that are taken from files."""


def read_known(folder: Path) -> tuple[LanguageMeans, TokenSets]:
    """Read means and token sets from a folder.

    Raises:
        StorageError: The folder, the means or the token sets do not exist.
    """
    place = folder.parent if folder.name == MEANS else folder
    if not (place / MEANS).exists():
        problem = f"no {MEANS} in this folder" if place.is_dir() else "no such folder"
        raise StorageError(problem, "create one with isoglot steer fit", "not-found", file=folder)
    if not is_stored(place / SETS):
        problem = f"{MEANS} without {SETS} or {SETS}{ENDING}"
        raise StorageError(problem, "copy the whole folder again", "not-found", file=folder)
    return LanguageMeans.load(place / MEANS), TokenSets.load(place / SETS)


def choose_shifts(sweeps: Sequence[Sweep], *, text: str, folder: Path) -> tuple[dict[str, ShiftChoice], list[str]]:
    """Choose layer and alpha for the languages of each sweep, and store the choices with the means in a folder.

    Args:
        sweeps: Scored shifts with BLEU-1.
        text: Description of their sentences.
        folder: Folder of the means.

    Returns:
        The choices by direction, and for each sweep without one a remark.

    Raises:
        ConfigError: The sweep is of another kind of shift than ``mean``.
        StorageError: The folder has no means, or they cannot be written.
    """
    choices, remarks = {}, []
    for each in sweeps:
        try:
            choices[f"{each.source}-{each.target}"] = choose_shift(each, text=text)
        except ConfigError as error:
            if error.code != "config.not-supported":
                raise
            remarks.append(f"No choice is stored for {error}")
    if choices:
        file = (folder.parent if folder.name == MEANS else folder) / MEANS
        read_known(folder)[0].with_choices(choices).save(file)
    return choices, remarks


def bundled_means(model: str | Path = "isoglot-mini") -> LanguageMeans:
    """Load the language means that are stored with a model.

    >>> bundled_means().languages
    ('en', 'fr', 'de', 'ru', 'zh')

    Args:
        model: ``isoglot-mini``, or a folder written by ``isoglot export --format packed --means``.

    Returns:
        The means, with covariances left out.

    Raises:
        StorageError: The model has none.
    """
    found = own_known(model)
    if found is None:
        remedy = "compute them: LanguageMeans.fit(encoder, {language: sentences})"
        raise StorageError("no language means are stored with this model", remedy, "not-found", file=model)
    return found[0]


def own_known(model: str | Path) -> tuple[LanguageMeans, TokenSets] | None:
    """Means and token sets stored with a model; None if there are none."""
    from isoglot.model.load import encoder_folder

    folder = encoder_folder(model)
    return None if folder is None or not (folder / MEANS).exists() else read_known(folder)


class KnownLanguages(NamedTuple):
    """Means and token sets of languages, and their source."""

    means: LanguageMeans
    sets: TokenSets
    origin: str

    def save(self, folder: Path) -> None:
        """Write both to a folder."""
        self.means.save(folder / MEANS)
        self.sets.save(folder / SETS)

    def as_dict(self) -> dict[str, Any]:
        """Layers, and counts of each language, as a JSON object."""
        languages = {
            code: {"sentences": moments.about["sentences"], "tokens": moments.count, "token_set": self.sets.sizes[code]}
            for code, moments in self.means.moments.items()
        }
        return {"layers": list(self.means.layers), "languages": languages, "token_sets": self.sets.about()}


def fit_languages(
    encoder: EncoderLike,
    texts: Mapping[str, Sequence[str]] | None = None,
    *,
    languages: Sequence[str] = (),
    sentences: int | None = None,
    layers: Layers = "all",
    special: Special = "exclude",
    threshold: int | None = None,
    name: str = "",
    seed: int = 0,
    progress: Progress = SILENT,
) -> KnownLanguages:
    """Estimate means and token sets from given or built-in text.

    Args:
        encoder: Any encoder.
        texts: Sentences of each language. Default: built-in text.
        languages: Languages of the built-in text. Default: all that the encoder knows.
        sentences: Built-in sentences of each language. Default: 2,000.
        layers: Layers in which means are estimated.
        special: Whether ``[CLS]`` and ``[SEP]`` count as tokens of a language.
        threshold: Occurrences from which on a token counts as one of a language.
        name: Name of the encoder, stored with the means.
        seed: Which built-in sentences are drawn.
        progress: Progress reporter.

    Raises:
        ConfigError: A language has no built-in text.
        InputError: A sentence is empty.
    """
    origin = "the given text"
    if texts is None:
        codes = languages or builtin_languages(encoder.vocabulary.languages)
        if not codes:
            problem = f"the encoder has {', '.join(encoder.vocabulary.languages)}, and none is built in"
            raise ConfigError(problem, "give text of its languages", "built-in-language")
        texts = builtin_text(codes, sentences or TEXT_SENTENCES, seed=seed)
        origin = f"{sentences or TEXT_SENTENCES:,} built-in sentences of each language"
    means = LanguageMeans.fit(encoder, texts, layers=layers, special=special, name=name, progress=progress)
    sets = TokenSets.from_text(encoder.vocabulary, texts, threshold=threshold, progress=progress)
    return KnownLanguages(means, sets, origin)


def languages_known(
    encoder: EncoderLike,
    folder: Path | None,
    languages: Sequence[str],
    *,
    model: str,
    layers: Layers = "all",
    learn_from: int | None = None,
    threshold: int | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> KnownLanguages:
    """Find means and token sets of some languages: in a folder, beside the model, or estimated from built-in text.

    Args:
        encoder: The encoder that is steered.
        folder: What ``isoglot steer fit`` wrote; None: what is stored with the model, else built-in text.
        languages: Languages that are needed.
        model: The model's name or folder.
        layers: Layers in which means are estimated.
        learn_from: Built-in sentences of each language to estimate means from, even if the model has means of its own.
        threshold: Occurrences from which on a token counts as one of a language.
        seed: Which built-in sentences are drawn.
        progress: Progress reporter.

    Raises:
        ConfigError: A language has no mean and no built-in text, or the means are of another encoder.
        StorageError: The folder cannot be read.
    """
    codes = [language_code(code) for code in languages]
    stored = read_known(folder) if folder is not None else own_known(model) if learn_from is None else None
    if stored is not None and (folder is not None or set(codes) <= set(stored[0].languages)):
        means, sets = stored
        means.check_encoder(encoder)
        for code in codes:
            means.count(code)  # raises an error before any sentence is read
        origin = f"stored with {model}" if folder is None else str(folder)
        return KnownLanguages(means, sets if threshold is None else sets.with_threshold(threshold), origin)
    for code in codes:
        if code not in builtin_languages(encoder.vocabulary.languages):
            problem = f"there is no mean of {code} and no built-in text to estimate it from"
            remedy = f"estimate means from text of {code} with isoglot steer fit"
            raise ConfigError(problem, remedy, "built-in-language")
    return fit_languages(
        encoder,
        languages=codes,
        sentences=learn_from,
        layers=layers,
        threshold=threshold,
        name=model,
        seed=seed,
        progress=progress,
    )


class PackedExport(NamedTuple):
    """A packed encoder on disk: files, number of weights, bits per weight, rounding error, size."""

    files: list[Path]
    weights: int
    bits: float
    error: float
    size: int


def export_packed(
    encoder: Encoder,
    folder: str | Path,
    *,
    known: tuple[LanguageMeans, TokenSets] | None = None,
    about: Mapping[str, Any] | None = None,
    step: float | None = None,
) -> PackedExport:
    """Write an encoder in packed form, optionally with language means; covariances are left out.

    The means are not estimated again: those of the original encoder are written in float32 under the hash of the packed
    one. Means of the packed encoder would differ by rounding only; the original hash is stored as ``learned_with``.

    Args:
        encoder: The encoder.
        folder: Output folder, created atomically. An earlier export is replaced.
        known: Means and token sets of this encoder.
        about: Training record.
        step: Quantization step of a row of weights, relative to its spread. Default:
            :data:`isoglot.model.packed.STEP`.

    Raises:
        ConfigError: The means belong to another encoder, or the token sets to another vocabulary.
        InputError: A weight is not finite.
        StorageError: The folder contains other files or cannot be written.
    """
    from isoglot.core.run import written_together
    from isoglot.model.folder import PACKED, encoder_files, folder_size, open_encoder, read_index, save_encoder
    from isoglot.model.hf.export import free_folder
    from isoglot.model.packed import packing_error

    target = free_folder(folder, lambda earlier: read_index(earlier).get("form") == "packed")
    if known is not None:
        known[0].check_encoder(encoder, remedy="estimate those of this encoder with isoglot steer fit")
        known[1].check_vocabulary(encoder.vocabulary)
    with written_together(target, stale=(MEANS, SETS + ENDING, *encoder_files(target))) as scratch:
        files = save_encoder(encoder, scratch, about=about, form="packed", step=step)
        packed = open_encoder(scratch)
        if known is not None:
            means, sets = known
            means.without_covariances().for_rounded(packed, name=target.name).save(scratch / MEANS)
            files += [scratch / MEANS, sets.save(scratch / SETS, compression="zstd")]
        count = sum(parameter.numel() for parameter in packed.parameters())
        return PackedExport(
            files=[target.absolute() / path.relative_to(scratch) for path in files],
            weights=count,
            bits=8 * (scratch / PACKED).stat().st_size / count,
            error=packing_error(encoder.state_dict(), packed.state_dict()),
            size=folder_size(scratch),
        )


def pack_model(
    encoder: Encoder, model: str, folder: Path, *, means: Path | None = None, step: float | None = None
) -> tuple[PackedExport, list[str]]:
    """Write an encoder in packed form with the means stored with it, or those of a folder; and return their languages.

    Args:
        encoder: The encoder.
        model: Its name or folder, whose training record is kept.
        folder: Output folder.
        means: Folder of means. Default: those of the model, if it has any.
        step: Quantization step, see :func:`export_packed`.

    Raises:
        ConfigError: The model is packed and a step is given, or as for :func:`export_packed`.
        StorageError: A file cannot be read or written.
    """
    from isoglot.model.folder import read_index
    from isoglot.model.load import encoder_folder

    origin = encoder_folder(model)
    index = {} if origin is None else read_index(origin)
    if step is not None and index.get("form") == "packed":
        problem = f"--step {step:g}, and {model} is packed already: its weights stay what they are"
        remedy = "leave it out, or export the encoder it was packed from"
        raise ConfigError(problem, remedy, "conflicting-options")
    known = own_known(model) if means is None else read_known(means)
    found = export_packed(encoder, folder, known=known, about=index.get("about", {}), step=step)
    return found, [] if known is None else list(known[0].languages)
