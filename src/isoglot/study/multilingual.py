"""Steps of studies on all languages at once: encoders and static vectors, and shifts from language to language.

The first language is the one that dictionaries begin from and that tasks are learned in; English in Liu et al. (2020).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isoglot.core.errors import StorageError, one_line
from isoglot.study.build import Inputs, Measurement, StudyBuilder, input_length
from isoglot.study.kinds.pretrain import ENCODER
from isoglot.study.kinds.words import VECTORS
from isoglot.study.steps import SourceFile, Step
from isoglot.study.store import source_hash
from isoglot.transfer.shift_protocol import GRID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from isoglot.study.numbers import Coordinate
    from isoglot.study.recipe import ArmConfig

_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
_OLD_WEIGHTS = "pytorch_model*.bin"
_SAMPLE = 1_000_000  # bytes of a text from which its number of sentences is estimated


def released_model(name: str) -> SourceFile:
    """The folder of a released encoder, identified by the content of its files.

    Args:
        name: A folder, ``isoglot-mini``, or a name on the Hugging Face hub, from where it is downloaded if need be.

    Raises:
        MissingPartError: A hub name, and ``transformers`` is not installed.
        StorageError: There is no encoder of that name.
    """
    from isoglot.model.hf.source import WAYS
    from isoglot.model.load import encoder_folder

    path = Path(name).expanduser()
    folder = encoder_folder(name) or (path if (path / "config.json").exists() else None)
    if folder is None and (path.exists() or path.is_absolute() or name.startswith((".", "~"))):
        raise StorageError("no encoder in this folder", f"check the path, or {WAYS}", "not-found", file=name)
    folder = folder or _from_hub(name)
    return SourceFile(str(folder.absolute()), source_hash(folder))


def _from_hub(name: str) -> Path:
    from isoglot.core.optional import import_part
    from isoglot.model.hf.source import WAYS
    from isoglot.vocab.external_tokenizer import check_hub_name

    check_hub_name(name, "encoder", remedy=f"check the path, or {WAYS}")
    import_part("transformers")
    from huggingface_hub import snapshot_download  # which transformers needs, so it is there

    try:
        folder = Path(snapshot_download(name, allow_patterns=_FILES))
        if not any(folder.glob("*.safetensors")):
            folder = Path(snapshot_download(name, allow_patterns=[*_FILES, _OLD_WEIGHTS]))
    except Exception as error:  # the hub's client raises many kinds
        problem = f"the hub has no encoder {name}, or cannot be reached ({one_line(str(error))[:120]})"
        remedy = "download it and name the folder"
        raise StorageError(problem, remedy, "model-not-found") from error
    return folder


class System(NamedTuple):
    """An encoder or static vectors that words are retrieved with, and its coordinates."""

    encoder: Step | SourceFile
    at: Mapping[str, Coordinate]
    window: int | None = None

    @property
    def name(self) -> str:
        """Name of the system, such as ``encoder-200000-20``."""
        return "-".join(map(str, self.at.values()))


class MultilingualBuilder(StudyBuilder):
    """The steps of one recipe for all languages; parameters as :class:`StudyBuilder`, with any number of languages."""

    @property
    def others(self) -> tuple[str, ...]:
        """All languages but the first."""
        return self.languages[1:]

    def measurements(self, seed: int) -> Iterator[Measurement]:
        """All measurements of the recipe."""
        for name, arm in self.arms.items():
            for measure in self.recipe.measures:
                yield from MEASURES[measure](self, name, arm, seed)

    def trained(self, name: str, arm: ArmConfig, seed: int) -> Iterator[Measurement]:
        """Perplexity of an encoder of all text, and tokens and fertility of the text."""
        at: dict[str, Coordinate] = {"arm": name, "seed": seed}
        yield Measurement(self.encoder(name, arm, seed), at)
        yield from (Measurement(shards, at) for shards in self.shards(arm).values())

    def released(self) -> SourceFile | None:
        """The encoder that takes the place of pretraining, if there is one."""
        return None if self.options.model is None else released_model(self.options.model)

    def dictionaries(self) -> Inputs:
        """Test dictionaries from the first language to the others."""
        first = self.languages[0]
        found: Inputs = {}
        for other in self.others:
            pair = f"{first}-{other}"
            if self.data.is_builtin:
                settings = {"source": first, "target": other}
                found[other] = Step("builtin-dictionary", settings, title=f"dictionary {pair}")
            elif "test" in self.data.dictionary.get(pair, {}):
                found[other] = self.data.dictionary[pair]["test"]
            else:
                self.left_out.append(f"word retrieval {pair}: no dictionary (--dictionary {pair}.test=FILE)")
        return found

    # --- sizes of text ---

    def sizes(self) -> list[int]:
        """Numbers of sentences that the text of every language has."""
        least, there = min(((code, self._sentences(code)) for code in self.languages), key=lambda one: one[1])
        sizes = sorted(self.scale.sizes)
        self.left_out += [
            f"{size:,} sentences a language: {least} has about {there:,}" for size in sizes if size > there
        ]
        return [size for size in sizes if size <= there]

    def _sentences(self, language: str) -> int:
        if self.data.is_builtin:
            return self.scale.builtin_sentences
        return sum(_estimated_sentences(file.path, file.sha256, language) for file in self.data.text[language])

    # --- systems ---

    def systems(self, name: str, arm: ArmConfig, seed: int) -> Iterator[System]:
        """Static vectors and encoders of every size and window, the untrained encoder, and the released one.

        Encoders of all sizes read the same number of tokens. For each smaller size there is another one, trained for as
        many epochs as that of the largest size.
        """
        released = self.released()
        if released is not None and not seed:  # a second seed would be the same model
            yield System(released, {"system": "released"})
        sizes = self.sizes()
        for size in sizes:
            for method in self.scale.static:
                yield System(self.static(method, arm, seed, size, sizes[-1]), {"system": method, "sentences": size})
            for window in (None, self.scale.short_window):
                yield self._sized(name, arm.model_copy(update={"sentences": size, "window": window}), seed)
            if size < sizes[-1]:
                tokens = max(1, self.scale.tokens * size // sizes[-1])
                sized = arm.model_copy(update={"sentences": size, "tokens": tokens})
                yield self._sized(name, sized, seed, variant="equal-epochs")
        if sizes and self.recipe.untrained and not seed:
            largest = arm.model_copy(update={"sentences": sizes[-1]})
            untrained = self.encoder(name, largest, seed, trained=False)
            length = input_length(self.config(largest, seed))
            yield System(untrained, {"system": "encoder", "variant": "untrained"}, length)

    def _sized(self, name: str, arm: ArmConfig, seed: int, **at: Coordinate) -> System:
        """An encoder of the arm's number of sentences and input length."""
        length = input_length(self.config(arm, seed))
        words = f"{name}, {arm.sentences:,} sentences, inputs of {length} tokens"
        encoder = self.encoder(", ".join([words, *map(str, at.values())]), arm, seed)
        return System(encoder, {"system": "encoder", "sentences": arm.sentences or 0, "window": length, **at}, length)

    def static(self, method: str, arm: ArmConfig, seed: int, size: int, largest: int) -> Step:
        """Static vectors of the encoder's hidden size on the same shards.

        Word2Vec and fastText read the same number of tokens at all sizes; GloVe makes the same number of passes over
        its co-occurrences.
        """
        from isoglot.core.config import build_config
        from isoglot.static.train import KINDS

        sized = arm.model_copy(update={"sentences": size})
        # Only the hidden size is read, which does not depend on the vocabulary.
        model = self.config(sized, seed).model.encoder(vocabulary_size=10, languages=self.languages, pad_id=0, unk_id=1)
        values = {"dimensions": model.hidden_size, "seed": seed, **self.scale.static[method]}
        config = build_config(KINDS[method], values=values)
        if method != "glove":
            config = build_config(KINDS[method], values={**values, "epochs": round(config.epochs * largest / size)})
        inputs: Inputs = {"vocabulary": self.vocabulary(sized)}
        inputs |= {f"shards.{code}": one for code, one in self.shards(sized).items()}
        changed = config.model_dump(mode="json", exclude_defaults=True)
        settings = {"method": method, "config": changed, **self.static_workers(method)}
        title = f"{method} {self.pair}, {size:,} sentences, seed {seed}"
        return Step("static", settings, inputs, title=title, heavy=(ENCODER,))

    def nli(self, system: System, seed: int) -> Step | None:
        """NLI learned in the first language; on static vectors, only a head is trained."""
        tasks = self.scale.tasks
        is_static = system.at.get("system") in self.scale.static
        scale = tasks.get("nli-static") if is_static else tasks.get("nli-liu2020", tasks.get("nli"))
        if scale is None:
            return None
        return self.task_step("nli", scale, system.encoder, {"seed": seed}, title=f"nli on {_title(system.encoder)}")


def _data_size(builder: MultilingualBuilder, name: str, arm: ArmConfig, seed: int) -> Iterator[Measurement]:
    """Word retrieval and NLI of static vectors and encoders, by size of the text and length of the input."""
    dictionaries = builder.dictionaries()
    read = (builder.languages[0], *dictionaries) if dictionaries else ()
    for size in builder.sizes() if not seed else ():
        for shards in builder.shards(arm.model_copy(update={"sentences": size})).values():
            yield Measurement(shards, {"sentences": size})
    systems: list[tuple[System, dict[str, Step]]] = []
    for system in builder.systems(name, arm, seed):
        at = {**system.at, "seed": seed}
        if isinstance(system.encoder, Step):
            yield Measurement(system.encoder, at)
        vectors = {code: _word_vectors(builder, system, arm, code, dictionaries) for code in read}
        systems.append((system, vectors))
        yield from (Measurement(step, at) for step in vectors.values())
        step = builder.nli(system, seed)
        if step is None:
            builder.left_out.append("data-size: no examples of nli (--nli)")
        else:
            yield Measurement(step, at)
    for other, dictionary in dictionaries.items():
        first = builder.languages[0]
        inputs: Inputs = {"dictionary": dictionary}
        for system, vectors in systems:
            inputs |= {f"{system.name}.source": vectors[first], f"{system.name}.target": vectors[other]}
        coordinates = {system.name: dict(system.at) for system, _ in systems}
        settings = {"source": first, "target": other, "systems": coordinates}
        step = Step("word-retrieval", settings, inputs, title=f"word retrieval {first}-{other}")
        if systems:
            yield Measurement(step, {"seed": seed})


def _word_vectors(
    builder: MultilingualBuilder,
    system: System,
    arm: ArmConfig,
    language: str,
    dictionaries: Mapping[str, Step | SourceFile],
) -> Step:
    """The words of a language in all dictionaries, over their contexts in its text."""
    first, scale = builder.languages[0], builder.scale
    settings = {"language": language, "sentences": scale.context_sentences, "contexts": scale.contexts}
    settings["length"] = system.window
    inputs: Inputs = {"encoder": system.encoder, "text": builder._texts(arm)[language]}
    inputs |= {f"dictionary.{first}-{other}": one for other, one in dictionaries.items() if language in (first, other)}
    title = f"words of {language} by {_title(system.encoder)}"
    return Step("word-vectors", settings, inputs, title=title, heavy=(VECTORS,))


def _means(builder: MultilingualBuilder, encoder: Step | SourceFile, arm: ArmConfig) -> Step:
    inputs: Inputs = {"encoder": encoder}
    inputs |= {f"text.{code}": text for code, text in builder._texts(arm).items()}
    settings = {"sentences": builder.scale.mean_sentences, "token_sentences": builder.scale.token_sentences}
    return Step("language-means", settings, inputs, title=f"means of languages in {_title(encoder)}")


def _steering(builder: MultilingualBuilder, name: str, arm: ArmConfig, seed: int) -> Iterator[Measurement]:
    """Convert rate and BLEU-1 by layer and alpha from the first language to each other and back; masked tokens."""
    if builder.options.model is not None and seed:
        return  # a released encoder is one model
    encoder = builder.released() or builder.encoder(name, arm, seed)
    at: dict[str, Coordinate] = {"seed": seed}
    if isinstance(encoder, Step):
        yield from builder.trained(name, arm, seed)
    means = _means(builder, encoder, arm)
    yield Measurement(means, at)
    inputs: Inputs = {"encoder": encoder, "means": means}
    first, masked = builder.languages[0], False
    for other in builder.others:
        found = builder.pair_inputs("pairs", builder.data.parallel, builder.scale.pairs, languages=(first, other))
        if found is None:
            builder.left_out.append(f"steering {first}-{other}: no parallel sentences (--parallel)")
            continue
        settings, files = found
        for source, target in ((first, other), (other, first)):
            title = f"steering {source} to {target} in {_title(encoder)}"
            asked = {**settings, "languages": [source, target], "alphas": list(builder.scale.alphas)}
            yield Measurement(Step("steering", asked, {**inputs, **files}, title=title), at)
            if target == first or not masked:  # those of the first language with the first pair alone
                asked = {**settings, "languages": [first, other], "language": source}
                title = f"masked tokens of {source} in {_title(encoder)}"
                yield Measurement(Step("masked-language", asked, {**inputs, **files}, title=title), at)
                masked = True


def _shift(builder: MultilingualBuilder, name: str, arm: ArmConfig, seed: int) -> Iterator[Measurement]:
    """NLI with all layers fine-tuned, with the upper half, and with a shift at the middle layer."""
    at: dict[str, Coordinate] = {"seed": seed}
    encoder = builder.released() or builder.encoder(name, arm, seed)
    if isinstance(encoder, Step):
        yield from builder.trained(name, arm, seed)
    whole = builder.nli(System(encoder, {}), seed)
    if whole is None:
        builder.left_out.append("shift: no examples of nli (--nli)")
        return
    yield Measurement(whole, {**at, "arm": "tune-all"})
    if builder.recipe.untrained and isinstance(encoder, Step) and not seed:
        untrained = builder.nli(System(builder.encoder(name, arm, seed, trained=False), {}), seed)
        if untrained is not None:
            yield Measurement(untrained, {**at, "arm": "tune-all", "variant": "untrained"})
    if not builder.data.is_builtin and not any(f"dev.{code}" in whole.inputs for code in whole.settings["targets"]):
        builder.left_out.append("shift: no dev set of another language to choose alpha by (--nli de.dev=FILE)")
        return
    inputs = {**whole.inputs, "means": _means(builder, encoder, arm)}
    settings = {**whole.settings, "alphas": list(GRID)}
    title = f"shifted nli on {_title(encoder)}"
    yield Measurement(Step("shifted-transfer", settings, inputs, title=title), at)


MEASURES: dict[str, Callable[[MultilingualBuilder, str, ArmConfig, int], Iterator[Measurement]]] = {
    "data-size": _data_size,
    "steering": _steering,
    "shift": _shift,
}
"""Functions that plan measurements of encoders of all languages, by name."""


def _title(encoder: Step | SourceFile) -> str:
    return encoder.title if isinstance(encoder, Step) else Path(encoder.path).name


@cache
def _estimated_sentences(path: str, sha256: str, language: str) -> int:  # noqa: ARG001 - part of the key of the cache
    """The number of sentences of a text, estimated from its beginning; exact for a small one."""
    from isoglot.text.cleaning.sentence_splitter import sentence_spans
    from isoglot.text.formats.lines import read_lines

    sentences = sampled = size = 0
    for _, line in read_lines(path):
        length = len(line.encode())
        size += length
        if sampled < _SAMPLE:
            sampled += length
            sentences += len(sentence_spans(line, language))
    return round(sentences * size / max(1, sampled))
