"""``isoglot steer``: language as a direction that can be added, swapped or removed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from isoglot.cli.declaration import INPUT, argument, option, verb
from isoglot.cli.inputs import (
    Files,
    Langs,
    LayerList,
    ParallelInput,
    files_of,
    parse_langs,
    parse_layers,
    parse_named,
    parse_pairs,
    refuse_beside,
    refuse_without,
)
from isoglot.cli.options import (
    EMBEDDED,
    AllowLeak,
    LeaveOutKnown,
    ModelArgument,
    ModelOption,
    ModelRun,
    ModelRunTo,
    Positions,
    ShiftKind,
    known_words,
)

if TYPE_CHECKING:
    from isoglot.report.results import Rendering
    from isoglot.steer.judged_translation import SteerConfig

BUILTIN, ERASER = "builtin", "eraser.safetensors"
_TRANSLATE = 'steer translate "The government must protect all citizens." --from en --to de'
EXAMPLE = f"Example: isoglot {_TRANSLATE}"
app = typer.Typer(epilog=EXAMPLE)

Threshold = Annotated[
    int | None, option("N", "Minimum frequency of a token of a language. Default: by the size of its text.", min=1)
]
Preset = Annotated[
    Literal["default", "paper"],
    option(text="paper: defaults as in Liu et al. 2020, as far as it says (docs/STEERING.md)."),
]
Alphas = Annotated[
    list[float] | None,
    option("NUMBER", "Strength of the shift: 0 is none, 1 from mean to mean, below 0 away. May be repeated."),
]


@dataclass(frozen=True)
class Shifting:
    """Options of a shift.

    Options:
        means: Folder written by isoglot steer fit. Default: the model's own means.
        learn_from: Estimate means from N built-in sentences. Default: 2,000 if the model has no means of its own.
    """

    SECTION: ClassVar[str] = "Shift"
    means: Annotated[Path | None, option("DIR")] = None
    learn_from: Annotated[int | None, option("N", min=1)] = None
    threshold: Threshold = None
    kind: ShiftKind = "mean"
    shared_alpha: Annotated[float | None, option("NUMBER", "Another alpha for tokens that both languages have.")] = None
    positions: Positions = "all"


@dataclass(frozen=True)
class Scoring:
    """Options of decoding and judging.

    Options:
        reads: A line is a sentence, or a tab-separated pair, read together. [default: preset]
        special: Whether [CLS] and [SEP] are decoded and may be predicted. [default: preset]
        bleu_tokens: Tokens that BLEU-1 counts: sacrebleu's, those between spaces, the same without punctuation
            (characters in languages without spaces), or the encoder's subwords. [default: preset]
        dictionary: Word translations that switched tokens are judged by; or the word builtin. May be repeated.
    """

    SECTION: ClassVar[str] = "Decoding and scoring"
    preset: Preset = "default"
    reads: Annotated[Literal["sentences", "pairs"] | None, option(name="--input")] = None
    special: Literal["exclude", "include"] | None = None
    bleu_tokens: Literal["standard", "whitespace", "words", "subword"] | None = None
    dictionary: Annotated[Files, option("FROM-TO=FILE")] = None
    leave_out_known: LeaveOutKnown = False
    allow_leak: AllowLeak = False

    def config(self, model: str, shift: Shifting, seed: int, *, builtin: bool = False) -> SteerConfig:
        """The library's config; ``builtin``: judge by built-in dictionaries if none is named."""
        from isoglot.steer.judged_translation import JudgingDictionaries, SteerConfig
        from isoglot.steer.shifted_decoding import TranslationOptions, protocol_of
        from isoglot.steer.shifts import ShiftOptions

        known = known_words(leave_out_known=self.leave_out_known, allow_leak=self.allow_leak)
        named = list(self.dictionary or ([BUILTIN] if builtin else []))
        files = parse_pairs([value for value in named if value != BUILTIN])
        how = ShiftOptions(kind=shift.kind, shared_alpha=shift.shared_alpha, positions=shift.positions)
        preset = protocol_of(self.preset, reads=self.reads, special=self.special, bleu_tokens=self.bleu_tokens)
        return SteerConfig(
            model=model,
            means=shift.means,
            learn_from=shift.learn_from,
            threshold=shift.threshold,
            options=TranslationOptions(shift=how, protocol=preset),
            dictionaries=JudgingDictionaries(files, builtin=BUILTIN in named, known_words=known, seed=seed),
            seed=seed,
        )


_TO_ERASE = ParallelInput(sentences=1000)


@verb(app, "fit", example="steer fit MODEL --text en=a.txt --text de=b.txt --out means/")
def fit(
    *,
    model: ModelArgument = EMBEDDED,
    text: Annotated[Files, option("LANG=FILE")] = None,
    langs: Langs = None,
    sentences: Annotated[int | None, option("N", min=1)] = None,
    layers: LayerList = "all",
    threshold: Threshold = None,
    special: Literal["exclude", "include"] | None = None,
    preset: Preset = "default",
    run: ModelRunTo,
) -> None:
    """Estimate the mean and covariance of each language's tokens in every layer, and find out which tokens it uses.

    --out gets means.safetensors and token_sets.json, which the other verbs take as --means.

    Options:
        text: Text of each language, one sentence per line. May be repeated. Default: built-in text.
        sentences: The first N of each language. Default: 2,000 built-in sentences, or 10,000 of files.
        special: Whether [CLS] and [SEP] count as tokens of a language. [default: preset]
    """
    from isoglot.model import load_encoder
    from isoglot.report.results import fitted_result
    from isoglot.steer.language_files import FILE_SENTENCES, fit_languages
    from isoglot.steer.shifted_decoding import MEANS_SPECIAL
    from isoglot.text.formats.plain import first_sentences

    refuse_beside({"--langs": text and langs}, "--text", remedy="leave it out: --text names languages")
    how: dict[str, Any] = {"layers": parse_layers(layers), "languages": parse_langs(langs), "sentences": sentences}
    how |= {"special": special or MEANS_SPECIAL[preset], "threshold": threshold, "seed": run.seed}
    texts = first_sentences(parse_named(text), sentences or FILE_SENTENCES) if text else None
    encoder = load_encoder(model, device=run.device)

    def work(folder: Path | None) -> Rendering:
        known = fit_languages(encoder, texts, name=model, progress=run.progress, **how)
        known.save(folder or run.out)
        return fitted_result(known)

    found = run.publish(work, None, model=model, inputs=files_of(text))
    first, other = [*found.value["languages"], "LANG"][:2]
    run.say(f'\nNow: isoglot steer translate "…" --model {model} --means {run.out} --from {first} --to {other}')


@verb(app, "translate", example=_TRANSLATE)
def translate(
    *,
    source: Annotated[str, option("LANG", "The language of the text.", name="--from")],
    target: Annotated[str, option("LANG", "The language to translate to.", name="--to")],
    text: Annotated[str | None, argument("TEXT")] = None,
    file: Annotated[Path | None, option("FILE", name="--text", section=INPUT)] = None,
    given: ParallelInput,
    model: ModelOption = EMBEDDED,
    alpha: Alphas = None,
    layer: Annotated[int | None, option("N")] = None,
    shifting: Shifting = Shifting(),  # noqa: B008 - frozen
    scoring: Scoring = Scoring(),  # noqa: B008 - frozen
    show: Annotated[int, option("N", "Sentences to print; --json and --out have all.", min=0)] = 10,
    run: ModelRun,
) -> None:
    """Shift sentences to another language inside the model, and decode its best token at every position.

    Nothing is masked. By default, layer and alpha are those that were measured for the two languages, if the means have
    them: isoglot-mini's do, your own after sweep --save-choice. Else the layer is the last but one, and alpha 1 and 2.

    With --parallel, sentences of one language are translated and those of the other are the references of BLEU-1; with
    --dictionary, switched tokens are judged. A dictionary file with words whose translations training was given is
    refused unless --leave-out-known or --allow-leak is given; such words of a built-in dictionary are left out.

    --out gets translations.json, translations.tsv and index.html.

    Options:
        text: Text to translate, in quotes; - or nothing: lines of standard input.
        file: Sentences, one per line, instead of TEXT.
        sentences: The first N. Default: all.
        layer: Layer of the shift; 0 is the embeddings, -1 the last. Default: see above.
    """
    from isoglot.core.language_codes import language_code
    from isoglot.model import load_encoder
    from isoglot.report.results import key, translation_result
    from isoglot.steer.judged_translation import DirectedSentences, sentences_between, translate_judged
    from isoglot.text.formats.plain import sentences_from

    config, codes = scoring.config(model, shifting, run.seed), (language_code(source), language_code(target))
    if given.parallel:
        refuse_beside({"TEXT": text is not None, "--text": file}, "--parallel", remedy="give one of them")
        asked = sentences_between(given.read(pairs=config.options.protocol.reads == "pairs"), *codes)
    else:
        asked = DirectedSentences(codes, sentences_from(text, file, sys.stdin)[: given.sentences])
    encoder = load_encoder(model, device=run.device)

    def work(_: Path | None) -> Rendering:
        found = translate_judged(encoder, asked, config, layer=layer, alphas=alpha or None, progress=run.progress)
        return translation_result(found, show=show)

    inputs = [*files_of(given.parallel, file), *config.dictionaries.paths]
    run.publish(work, "translations.json", inputs=inputs)
    run.say(key(codes[1]))


@verb(
    app,
    "sweep",
    example="steer sweep MODEL --parallel en=a.txt --parallel de=b.txt --means means/ --dictionary en-de=en-de.txt "
    "--out sweep/",
)
def sweep(
    *,
    model: ModelArgument = EMBEDDED,
    text: ParallelInput,
    directions: Literal["both", "there"] = "both",
    alpha: Alphas = None,
    layers: LayerList = "all",
    shifting: Shifting = Shifting(),  # noqa: B008 - frozen
    scoring: Scoring = Scoring(),  # noqa: B008 - frozen
    save_choice: bool = False,
    run: ModelRun,
) -> None:
    """Translate with every layer and alpha: convert rate, precision and BLEU-1, and the tables of Liu et al. (2020).

    Without --parallel, built-in sentences of the model's languages are translated and judged by gold translations.

    A dictionary file with words whose translations training was given is refused unless --leave-out-known or
    --allow-leak is given; such words of a built-in dictionary are left out.

    --out gets index.html, sweep.json and sweep.csv.

    Options:
        sentences: The first N of each language. Default: 500 of files, or 25 built-in ones.
        directions: From the first language to the others and back, or there only.
        save_choice: Store the best layer and alpha of each direction in --means, as defaults of translate.
    """
    from isoglot.model import load_encoder
    from isoglot.report.results import sweep_result
    from isoglot.steer.judged_translation import BUILTIN_SENTENCES, FILE_SENTENCES, directions_between, sweep_judged

    unsaved = save_choice and shifting.means is None
    refuse_without({"--save-choice": unsaved}, "--means", remedy="name the folder that isoglot steer fit wrote")
    config = scoring.config(model, shifting, run.seed, builtin=not text.parallel)
    how: dict[str, Any] = {"layers": parse_layers(layers), "alphas": alpha or None}
    sets = text.read(FILE_SENTENCES, pairs=config.options.protocol.reads == "pairs")
    encoder = load_encoder(model, device=run.device)
    sets = sets or text.builtin_pairs(encoder, BUILTIN_SENTENCES, seed=run.seed)
    files = files_of(text.parallel)
    if save_choice:
        how["save_choice"] = ", ".join(path.name for path in files) or "built-in sentences"

    ways, inputs = directions_between(sets, directions), [*files, *config.dictionaries.paths]
    how["progress"] = run.progress
    found = run.publish(lambda _: sweep_result(sweep_judged(encoder, ways, config, **how)), "sweep.json", inputs=inputs)
    for way, choice in found.value["choices"].items():
        run.say(f"{way}: layer {choice['layer']}, α = {choice['alpha']:g}, stored in {shifting.means}")


@verb(app, "erase", example="steer erase MODEL --parallel en=a.txt --parallel de=b.txt --layers all --out erased/")
def erase(
    *,
    model: ModelArgument = EMBEDDED,
    text: ParallelInput = _TO_ERASE,
    layers: LayerList = "all",
    eraser: Literal["best", "mean-removal", "lir", "lsar", "inlp", "leace"] = "best",
    pivot: Annotated[str | None, option("LANG", "Language that shifts move the others to. Default: the first.")] = None,
    alpha: Alphas = None,
    folds: Annotated[int, option("N", "Number of cross-validation folds.", min=2, max=1000)] = 5,
    run: ModelRun,
) -> None:
    """Remove language identity from sentence vectors by every eraser and by the shift, and compare what is left.

    A language probe and retrieval of translations are measured in every layer; the best layer is shown in full. Without
    --parallel, built-in sentences are used.

    --out gets index.html, erase.json and the eraser of the best layer, eraser.safetensors.

    Options:
        sentences: The first N of each language.
        eraser: Eraser to save; best: the best harmonic mean, with the least change among ties.
    """
    from isoglot.model import load_encoder
    from isoglot.report.results import erased_result
    from isoglot.represent import extract
    from isoglot.steer.erasers.trade_off import TradeOffConfig, compare_erasers

    numbers, given = parse_layers(layers), text.read()
    several = {"--parallel of several sets": len(given) > 1}
    refuse_beside(several, "steer erase", remedy="choose one language beside English: --langs de")
    encoder = load_encoder(model, device=run.device)
    (one,) = given or text.builtin(encoder, seed=run.seed)

    def work(folder: Path | None) -> Rendering:
        vectors = {
            code: extract(encoder, lines, layers=numbers, language=code, progress=run.progress)
            for code, lines in one.sentences.items()
        }
        config = TradeOffConfig(alphas=alpha or (1.0,), pivot=pivot, folds=folds, seed=run.seed)
        found = compare_erasers(vectors, config, eraser=eraser, progress=run.progress)
        if folder is not None:
            found.eraser.save(folder / ERASER)
        return erased_result(found, ERASER)

    found = run.publish(work, "erase.json", model=model, inputs=files_of(text.parallel))
    if run.out is not None:
        run.say(f"{found.value['eraser']} of layer {found.value['layer']} is {run.out / ERASER}")
