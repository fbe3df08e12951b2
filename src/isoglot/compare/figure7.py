"""Figure 7 of Wu et al. (2020): CKA of parallel sentences, language pairs × layers × {bilingual, monolingual, random}.

A TOML file names for each column the two languages, their sentences, and the models of each row::

    [[columns]]                                # English twice, with embeddings for each
    languages = ["en", "en-x-two"]
    bilingual = "runs/en-two"                  # isoglot pretrain … --plan sep-emb --shards en=… --shards en-x-two=…
    monolingual = ["runs/en", "runs/en-seed1"]

    [[columns]]
    languages = ["en", "fr"]
    files = { en = "xnli.en", fr = "xnli.fr" }   # default: built-in sentences
    test = { en = "tatoeba.fra-eng.eng", fr = "tatoeba.fra-eng.fra" }
    bilingual = "runs/en-fr"
    monolingual = ["runs/en", "runs/fr"]

Beside CKA are the numbers of Figure 6: in each layer a rotation is fitted on pairs of ``files`` (10,000, as in the
paper) and sentences of ``test`` are retrieved by cosine. Without ``test`` there are none; built-in sentences come with
test sentences.

The random encoder replaces the second side only. A missing model leaves its cell empty, with the reason; one that was
trained on other languages than those of its row is an error, and one without a record is named. Errors are those of
sampling sentences, by a jackknife over groups of them; another training run would differ by more.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from pydantic import Field, field_validator, model_validator

from isoglot.align.layer_maps import LayerRows, align_layers
from isoglot.align.maps.config import AlignConfig
from isoglot.align.words.bitext import read_sentence_pairs
from isoglot.compare.cka_inference import FEWEST, groups_of, half_width, leave_out_cka
from isoglot.compare.encoders import random_encoder_like
from isoglot.compare.measures.cka import FORMS, Form
from isoglot.compare.parallel_sentences import SentencePair, check_count, language_for, trained_on
from isoglot.core.config import Config, build_config, load_recipe
from isoglot.core.errors import ConfigError, InputError, StorageError
from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress, counted
from isoglot.core.rng import LARGEST_SEED
from isoglot.languages.builtin import TWIN_TAGS, Builtin, builtin_pairs
from isoglot.model.folder import read_about
from isoglot.model.load import Weights, encoder_folder, run_weights
from isoglot.represent import Representations, extract
from isoglot.retrieve.methods import Direction
from isoglot.text.formats.parallel import unrepeated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.model import EncoderLike

Row = Literal["bilingual", "monolingual", "random"]
ROWS: dict[Row, str] = {
    "bilingual": "One model, trained on both languages, reads both sides.",
    "monolingual": "Each side is read by a model that was trained on its language alone.",
    "random": "The first side is read by its monolingual model, the other by an encoder that has learned nothing.",
}
"""Rows of the figure and their meaning."""


def paper_pair(languages: tuple[str, str]) -> str:
    """The paper's name of a pair: English twice is ``en-en'``, under any private-use tag except that of a twin.

    >>> paper_pair(("en", "en-x-two")), paper_pair(("en", "fr")), paper_pair(("en", "en-x-shift"))
    ("en-en'", 'en-fr', 'en-en-x-shift')
    """
    one, other = (
        base if not set(tags.split("-")).intersection(TWIN_TAGS) else f"{base}-x-{tags}"
        for base, _, tags in (code.partition("-x-") for code in languages)
    )
    return f"{one}-{other}'" if one == other else f"{one}-{other}"


class Figure7Column(Config):
    """A language pair: its sentences and the models of each row."""

    languages: tuple[str, str]
    """the two languages; the random encoder reads the second"""
    name: str | None = None
    """name of the column; default: the two languages"""
    files: dict[str, str] | None = None
    """a file of sentences for each language, aligned by line; default: built-in sentences"""
    test: dict[str, str] | None = None
    """a file of other sentences for each language, such as Tatoeba's, for retrieval after a rotation"""
    builtin: Builtin | None = None
    """without files: translations, or paraphrases, the default where both sides are one language"""
    bilingual: str | None = None
    """model that reads both sides"""
    monolingual: tuple[str, str] | None = None
    """model of each side"""
    random: tuple[str, str] | Literal["untrained", "none"] = "untrained"
    """``untrained``: the first side's monolingual model, and the second side's with random weights; two folders; or
    ``none``
    """

    @field_validator("languages")
    @classmethod
    def _known(cls, languages: tuple[str, str]) -> tuple[str, str]:
        try:
            return language_code(languages[0]), language_code(languages[1])
        except ConfigError as error:
            raise ValueError(str(error)) from error

    @model_validator(mode="after")
    def _each_has_a_file(self) -> Figure7Column:
        for files in (self.files, self.test):
            if files is not None and {language_code(code) for code in files} != set(self.languages):
                raise ValueError(f"should have files of {' and '.join(self.languages)}, not {', '.join(files)}")
        return self

    @property
    def title(self) -> str:
        """Name of the column."""
        return self.name or paper_pair(self.languages)


class Figure7Config(Config):
    """Columns of the figure, from the closest language to the most distant, and how it is measured.

    >>> config = Figure7Config(columns=({"languages": ("en", "fr")}, {"languages": ("en", "zh")}))
    >>> [column.title for column in config.columns], config.sentences
    (['en-fr', 'en-zh'], 2000)
    """

    columns: tuple[Figure7Column, ...]
    """language pairs; English twice anywhere, the others from the closest to the most distant"""
    sentences: int = Field(2000, ge=4, le=10_000)
    """maximum number of sentences per pair"""
    pool: Literal["mean", "first"] = "mean"
    """a sentence is the mean of its subwords, or its first token"""
    retrieval: Literal["procrustes", "none"] = "procrustes"
    """whether sentences are also retrieved after a rotation, as in the paper's Figure 6"""
    fit_pairs: int = Field(10_000, ge=4, le=1_000_000)
    """maximum number of sentence pairs that rotations are fitted on; for built-in sentences, those of CKA"""
    test_sentences: int = Field(1000, ge=1, le=100_000)
    """maximum number of sentences for retrieval"""
    weights: Weights = "best"
    """of training runs: the weights with the lowest dev perplexity (best), or the last"""
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    """random seed of the built-in sentences, the weights of random encoders and the groups"""

    @field_validator("columns")
    @classmethod
    def _names_differ(cls, columns: tuple[Figure7Column, ...]) -> tuple[Figure7Column, ...]:
        if not columns:
            raise ValueError("should name at least one pair of languages")
        titles = [column.title for column in columns]
        twice = next((title for title in titles if titles.count(title) > 1), None)
        if twice is not None:
            raise ValueError(f"has {twice} twice: give one of them another name")
        return columns


@dataclass(frozen=True, kw_only=True)
class Figure7Cell:
    """One pair and one row: CKA in every layer."""

    layers: tuple[int, ...]
    values: dict[Form, tuple[float, ...]]
    """One value per layer."""
    without: dict[Form, tuple[tuple[float, ...], ...]] = field(repr=False)
    """Values without each group of sentences (groups × layers); empty with few sentences."""
    found: tuple[float, ...] | None
    """P@1 of the test sentences in each layer, by cosine after a rotation fitted on other pairs, mean of both
    directions; None if not measured."""
    hits: tuple[tuple[float, ...], ...] | None = field(default=None, repr=False)
    """The same for each test sentence (layers × sentences)."""
    fitted: int = 0
    """Number of pairs that rotations were fitted on."""
    models: tuple[str, str]
    cut: tuple[int, int] = (0, 0)
    """Number of truncated sentences, by side."""

    def average(self, form: Form) -> float:
        """Mean over layers."""
        return fmean(self.values[form])

    def half_width(self, form: Form) -> float | None:
        """Half the width of the average's 95 % interval over sentences; None with too few sentences."""
        replicates = [fmean(each) for each in self.without[form]]
        return half_width(replicates) if replicates else None

    def as_dict(self) -> dict[str, Any]:
        """JSON-serializable form, with intervals instead of groups."""
        return {
            "models": list(self.models),
            "cut": list(self.cut),
            "layers": list(self.layers),
            "cka": {form: list(values) for form, values in self.values.items()},
            "average": {form: self.average(form) for form in self.values},
            "average_half_width": {form: self.half_width(form) for form in self.values},
            "found": None if self.found is None else list(self.found),
            "found_by": None if self.hits is None else {"pairs": self.fitted, "test": len(self.hits[0])},
        }


@dataclass(frozen=True, kw_only=True)
class Figure7:
    """All cells of the figure.

    >>> from isoglot.compare.figure7 import Figure7Column
    >>> columns = (Figure7Column(languages=("en", "fr")),)
    >>> figure = Figure7(columns=columns, sentences={}, cells={}, empty={("en-fr", "bilingual"): "no model"})
    >>> figure.cell("en-fr", "bilingual") is None, figure.layers
    (True, ())
    """

    columns: tuple[Figure7Column, ...]
    sentences: dict[str, int]
    """Number of sentences of each column."""
    cells: dict[tuple[str, Row], Figure7Cell]
    """Measured cells, by column and row."""
    empty: dict[tuple[str, Row], str]
    """Why the other cells are empty."""
    untold: tuple[str, ...] = ()
    """Models without a record of their training languages, so that it is unknown whether they fit their rows."""

    def cell(self, column: str, row: Row) -> Figure7Cell | None:
        """A cell, or None."""
        return self.cells.get((column, row))

    @property
    def layers(self) -> tuple[int, ...]:
        """All layers of any cell."""
        return tuple(sorted({layer for cell in self.cells.values() for layer in cell.layers}))

    def as_dict(self) -> dict[str, Any]:
        """JSON-serializable form."""
        return {
            "columns": [
                {
                    "name": column.title,
                    "languages": list(column.languages),
                    "sentences": self.sentences.get(column.title),
                    "rows": {row: self._row(column.title, row) for row in ROWS},
                }
                for column in self.columns
            ],
            "untold": list(self.untold),
        }

    def as_rows(self) -> list[dict[str, Any]]:
        """One row per cell and layer, for a table; empty cells have none."""
        rows: list[dict[str, Any]] = []
        for (column, row), cell in self.cells.items():
            for place, layer in enumerate(cell.layers):
                found = None if cell.found is None else cell.found[place]
                row_of = {"pair": column, "encoders": row, "layer": layer, "found": found}
                rows.append({**row_of, **{str(form): cell.values[form][place] for form in FORMS}})
        return rows

    def _row(self, column: str, row: Row) -> dict[str, Any]:
        cell = self.cell(column, row)
        return {"empty": self.empty.get((column, row), "")} if cell is None else cell.as_dict()


def read_figure7(path: str | Path, settings: Sequence[str] = ()) -> Figure7Config:
    """Read the config from a TOML file and apply ``key=value`` settings.

    Args:
        path: The TOML file.
        settings: ``key=value`` settings, applied after the file.

    Returns:
        The validated config.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "figure.toml"
    ...     _ = file.write_text('columns = [{ languages = ["en", "fr"] }]', encoding="utf-8")
    ...     read_figure7(file, ["sentences=500"]).sentences
    500

    Raises:
        ConfigError: A key or value is invalid; the message has the line.
        StorageError: The file cannot be read.
    """
    if not str(path).endswith(".toml"):
        raise ConfigError(f"{path} is not a TOML file", "name one that ends in .toml", "malformed-toml")
    return build_config(Figure7Config, recipe=load_recipe(str(path), room="compare"), settings=settings)


def measure_figure7(
    config: Figure7Config, *, folder: str | Path = ".", device: str = "auto", progress: Progress = SILENT
) -> Figure7:
    """Measure every cell.

    Args:
        config: What to compare.
        folder: Base of relative paths: the folder of the config file.
        device: Where encoders compute.
        progress: Progress in cells.

    Returns:
        Retrieval and CKA of every cell, and the claims about them.

    Raises:
        ConfigError: A model was trained on other languages than those of its row, or no cell has its models.
        InputError: Sentences are invalid.
        StorageError: A file of sentences cannot be read.
    """
    work = _Run(config, Path(folder), device)
    work.check()
    texts = {column.title: work.texts(column) for column in config.columns}  # raises if anything is invalid
    cells, empty = {}, {}
    with progress.task("figure 7", total=len(config.columns) * len(ROWS), unit="cells") as task:
        for column in config.columns:
            for row in ROWS:
                task.note(f"{column.title}, {row}")
                try:
                    cells[column.title, row] = work.cell(column, row, texts[column.title])
                except _EmptyError as reason:
                    empty[column.title, row] = str(reason)
                task.advance()
    if not cells:
        title, first = next(iter(empty))
        why = empty[title, first]
        raise ConfigError(f"no cell has its models; {title}, {first}: {why}", "train them first", "missing-data")
    sentences = {title: len(some.compared) for title, some in texts.items()}
    return Figure7(columns=config.columns, sentences=sentences, cells=cells, empty=empty, untold=tuple(work.untold))


class _Texts(NamedTuple):
    """Sentence pairs of a column: rotations are fitted on some, CKA uses the first of these, others are retrieved."""

    fitted: list[SentencePair]
    compared: list[SentencePair]
    tested: list[SentencePair]


class _EmptyError(Exception):
    """A cell without its models, and the reason."""


class _Run:
    """Models and sentences of the columns, loaded when needed; representations that columns share are cached."""

    def __init__(self, config: Figure7Config, folder: Path, device: str) -> None:
        self.config, self.folder, self.device = config, folder, device
        self.firsts: dict[tuple[str, str, int], Representations] = {}
        self.untold: dict[str, None] = {}

    def check(self) -> None:
        """Check that models fit their rows before any of them runs: a later error would lose what has been measured."""
        uses: dict[str, list[tuple[str, Row, bool]]] = {}
        for column, row in product(self.config.columns, ROWS):
            trained = row != "random" or column.random == "untrained"
            with suppress(_EmptyError):
                one, other = self._models(column, row)
                uses.setdefault(one, []).append((column.languages[0], row, True))
                uses.setdefault(other, []).append((column.languages[1], row, trained))
        for name, each in uses.items():
            with suppress(_EmptyError):
                encoder = self._open(name)
                for language, row, trained in each:
                    if trained:
                        self._check_languages(encoder, name, language, row)
                    else:
                        self._check_untrained(name)

    def texts(self, column: Figure7Column) -> _Texts:
        """Sentences of a column; test sentences are not among those that rotations are fitted on."""
        count, wanted = self.config.sentences, self.config.retrieval != "none"
        if column.files is None:
            tested = min(self.config.test_sentences, count) if wanted and column.test is None else 0
            made = builtin_pairs(column.languages, count + tested, kind=column.builtin, seed=self.config.seed)
            fitted, test = made[:count], made[count:]
        else:
            fitted, test = self._pairs(column.files, column)[: max(count, self.config.fit_pairs if wanted else 0)], []
        if wanted and column.test is not None:
            test = self._pairs(column.test, column)
        check_count(len(fitted[:count]))
        known = {sentence for pair in fitted for sentence in pair}
        rows = [test[number] for number, pair in unrepeated(test) if not known.intersection(pair)]
        return _Texts(fitted, fitted[:count], rows[: self.config.test_sentences])

    def _pairs(self, files: dict[str, str], column: Figure7Column) -> list[SentencePair]:
        return read_sentence_pairs(
            {language_code(code): self.folder / path for code, path in files.items()}, column.languages
        )

    def cell(self, column: Figure7Column, row: Row, texts: _Texts) -> Figure7Cell:
        names = self._models(column, row)
        # There is no retrieval for random encoders.
        pairs = texts.compared if row == "random" else [*texts.fitted, *texts.tested]
        one = self._first(names[0], column.languages[0], [pair[0] for pair in pairs])
        second = self._open(names[1])
        if row == "random" and column.random == "untrained":
            second = random_encoder_like(second, seed=self.config.seed)
        other = self._read(second, column.languages[1], [pair[1] for pair in pairs], names[1])
        layers = tuple(layer for layer in one.layers if layer in other)
        count = len(texts.compared)
        values, without = _cka_without_groups(
            [(one[layer][:count], other[layer][:count]) for layer in layers], self.config.seed
        )
        hits = self._retrieved(one, other, layers, texts) if row != "random" else None
        names = self._model_label(names[0]), self._model_label(names[1])
        names = (names[0], f"{names[1]}, untrained") if row == "random" and column.random == "untrained" else names
        cut = (one.header["cut"], other.header["cut"])
        return Figure7Cell(
            layers=layers,
            values=values,
            without=without,
            found=None if hits is None else tuple(fmean(each) for each in hits),
            hits=hits,
            fitted=len(texts.fitted),
            models=names,
            cut=cut,
        )

    def _models(self, column: Figure7Column, row: Row) -> tuple[str, str]:
        if row == "bilingual":
            if column.bilingual is None:
                raise _EmptyError("no bilingual model is named")
            return column.bilingual, column.bilingual
        if row == "monolingual" or column.random == "untrained":
            if column.monolingual is None:
                raise _EmptyError("no monolingual models are named")
            return column.monolingual
        if column.random == "none":
            raise _EmptyError("no random encoder is wanted")
        return column.random

    def _open(self, name: str) -> EncoderLike:
        from isoglot.model import load_encoder

        try:
            return load_encoder(self._place(name), device=self.device, weights=self.config.weights)
        except StorageError as error:
            raise _EmptyError(f"{name}: {error.problem}") from error

    def _model_label(self, name: str) -> str:
        """Name of a model; for a training run, with the weights that were opened."""
        run = run_weights(self._place(name), self.config.weights)
        return name if run is None else str(run)

    def _place(self, name: str) -> str | Path:
        path = self.folder / Path(name).expanduser()
        return path if path.exists() else name

    def _check_languages(self, encoder: EncoderLike, name: str, language: str, row: Row) -> None:
        """A bilingual model must know the language, any other must know it alone."""
        known = trained_on(encoder)
        if not known:
            self.untold[name] = None
        elif language_for(encoder, language) not in known or (row != "bilingual" and len(known) > 1):
            alone = "" if row == "bilingual" else " alone"
            raise ConfigError(
                f"{name} was trained on {', '.join(known)}, but the {row} row reads {language} by a model of it{alone}",
                f"name one that was trained on {language}{alone}",
                "other-language",
            )

    def _check_untrained(self, name: str) -> None:
        folder = encoder_folder(self._place(name))
        steps = None if folder is None else read_about(folder).get("step")
        if steps is None:
            self.untold[name] = None
        elif steps:
            problem = (
                f"{name} was trained for {counted(steps, 'steps')}, but the random row has an encoder that has "
                "learned nothing"
            )
            raise ConfigError(problem, 'remove random, or write random = "none"', "other-encoder")

    def _first(self, name: str, language: str, sentences: list[str]) -> Representations:
        """First side, cached: columns and rows share its monolingual model."""
        key = (name, language, hash(tuple(sentences)))
        if key not in self.firsts:
            self.firsts[key] = self._read(self._open(name), language, sentences, name)
        return self.firsts[key]

    def _read(self, encoder: EncoderLike, language: str, sentences: list[str], name: str) -> Representations:
        try:
            code = encoder.vocabulary.code_of(language_for(encoder, language))
            return extract(encoder, sentences, language=code, pool=self.config.pool, name=name)
        except ConfigError as error:
            raise error.prefixed(name) from error

    def _retrieved(
        self, one: Representations, other: Representations, layers: tuple[int, ...], texts: _Texts
    ) -> tuple[tuple[float, ...], ...] | None:
        """Which test sentences are retrieved in each layer by cosine, after a rotation fitted on the other pairs."""
        if one.hidden_size != other.hidden_size or not texts.tested or len(texts.fitted) < FEWEST:
            return None
        config = AlignConfig(seed=self.config.seed, resamples=1, retrieval="cosine", test_limit=len(texts.tested))
        learned = [number for number, _ in unrepeated(texts.fitted)]
        asked = range(len(texts.fitted), len(texts.fitted) + len(texts.tested))
        learn_P2, ask_P2 = (np.repeat(np.array(rows)[:, None], 2, axis=1) for rows in (learned, asked))
        rows = (LayerRows(layer, layer, one[layer], other[layer]) for layer in layers)
        done = align_layers(rows, learn_P2, ask_P2, config, total=len(layers))
        both = [[layer.after.of("cosine", way).ranks_Q == 1 for way in get_args(Direction)] for layer in done]
        return tuple(tuple(np.mean(each, axis=0).tolist()) for each in both)


def _cka_without_groups(
    layers: Sequence[tuple[np.ndarray, np.ndarray]], seed: int
) -> tuple[dict[Form, tuple[float, ...]], dict[Form, tuple[tuple[float, ...], ...]]]:
    """CKA in each form and layer: of all sentences, and with each group of them left out."""
    groups = groups_of(len(layers[0][0]), seed)
    found = []
    for layer, (X_ND, Y_NE) in enumerate(layers):
        try:
            found.append(leave_out_cka(X_ND, Y_NE, groups)._asdict())
        except InputError as error:
            raise error.prefixed(f"layer {layer}") from error
    by_sample = {form: list(zip(*(each[form].tolist() for each in found), strict=True)) for form in FORMS}
    return {form: rows[0] for form, rows in by_sample.items()}, {
        form: tuple(rows[1:]) for form, rows in by_sample.items()
    }
