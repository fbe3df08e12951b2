"""``isoglot steer``: language as a direction that can be added, swapped or removed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from isoglot.cli.inputs import Langs, ParallelSets, option, parse_langs, parse_named, parse_pairs, read_sets
from isoglot.cli.options import (
    INPUT,
    AllowLeak,
    LayerList,
    LeaveOutKnown,
    ModelArgument,
    ModelOption,
    ModelRun,
    ModelRunTo,
    parse_layers,
    refuse_both,
    sentence_count,
    verb,
)
from isoglot.cli.run_files import files_of, publish
from isoglot.core.errors import ConfigError, InputError

if TYPE_CHECKING:
    from isoglot.report.results import Rendering
    from isoglot.steer.judged_translation import DirectedSentences, SteerConfig

BUILTIN, ERASER = "builtin", "eraser.safetensors"
_TRANSLATE = 'steer translate "The government must protect all citizens." --from en --to de'
EXAMPLE = f"Example: isoglot {_TRANSLATE}"
app = typer.Typer(
    no_args_is_help=True,
    help="Language as a direction: learn its mean in every layer, add the difference of two and the model answers in "
    "the other language; or take languages out.",
    epilog=EXAMPLE,
)

Means = Annotated[
    Path | None, option("--means", "DIR", "Folder written by isoglot steer fit. Default: the model's own means.")
]
LearnFrom = Annotated[
    int | None,
    option(
        "--learn-from",
        "N",
        "Estimate means from N built-in sentences. Default: 2,000 if the model has no means of its own.",
        min=1,
    ),
]
Threshold = Annotated[
    int | None,
    option("--threshold", "N", "Minimum frequency of a token of a language. Default: by the size of its text.", min=1),
]
ShiftKind = Annotated[
    Literal["mean", "norm-matched", "transport"],
    typer.Option(
        "--kind",
        help="mean: add alpha times the difference of the means; norm-matched: then restore the norm of every token; "
        "transport: move covariances too.",
    ),
]
SharedAlpha = Annotated[
    float | None, option("--shared-alpha", "NUMBER", "Another alpha for tokens that both languages have.")
]
Where = Annotated[
    Literal["all", "tokens"],
    typer.Option("--positions", help="Shift all positions, as in the paper, or tokens only, not [CLS] and [SEP]."),
]
Preset = Annotated[
    Literal["default", "paper"],
    typer.Option("--preset", help="paper: defaults as in Liu et al. 2020, as far as it tells (docs/STEERING.md)."),
]
Alphas = Annotated[
    list[float] | None,
    option("--alpha", "NUMBER", "Length of the shift; 1 is from mean to mean, -1 away. May be repeated."),
]


@dataclass(frozen=True)
class Shifting:
    """Options of a shift."""

    SECTION: ClassVar[str] = "Shift"
    means: Means = None
    learn_from: LearnFrom = None
    threshold: Threshold = None
    kind: ShiftKind = "mean"
    shared_alpha: SharedAlpha = None
    positions: Where = "all"


@dataclass(frozen=True)
class Scoring:
    """Options of decoding and judging."""

    SECTION: ClassVar[str] = "Decoding and scoring"
    preset: Preset = "default"
    reads: Annotated[
        Literal["sentences", "pairs"] | None,
        typer.Option("--input", help="A line is a sentence, or a tab-separated pair, read together. [default: preset]"),
    ] = None
    special: Annotated[
        Literal["exclude", "include"] | None,
        typer.Option("--special", help="Whether [CLS] and [SEP] are decoded and may be predicted. [default: preset]"),
    ] = None
    bleu_tokens: Annotated[
        Literal["standard", "whitespace", "words", "subword"] | None,
        typer.Option(
            "--bleu-tokens",
            help="Tokens that BLEU-1 counts: sacrebleu's, those between blanks, the same without punctuation "
            "(characters in languages without blanks), or the encoder's subwords. [default: preset]",
        ),
    ] = None
    dictionary: Annotated[
        list[str] | None,
        option(
            "--dictionary",
            "FROM-TO=FILE",
            "Word translations that switched tokens are judged by; or the word builtin. May be repeated.",
        ),
    ] = None
    leave_out_known: LeaveOutKnown = False
    allow_leak: AllowLeak = False

    def config(self, model: str, shifting: Shifting, seed: int, *, builtin: bool = False) -> SteerConfig:
        """The library's config; ``builtin``: judge by built-in dictionaries if none is named."""
        from isoglot.steer.judged_translation import JudgingDictionaries, SteerConfig
        from isoglot.steer.shifted_decoding import TranslationOptions, protocol_of
        from isoglot.steer.shifts import ShiftOptions

        refuse_both(leave_out_known=self.leave_out_known, allow_leak=self.allow_leak)
        named = list(self.dictionary or ([BUILTIN] if builtin else []))
        return SteerConfig(
            model=model,
            means=shifting.means,
            learn_from=shifting.learn_from,
            threshold=shifting.threshold,
            options=TranslationOptions(
                shift=ShiftOptions(
                    kind=shifting.kind, shared_alpha=shifting.shared_alpha, positions=shifting.positions
                ),
                protocol=protocol_of(self.preset, reads=self.reads, special=self.special, bleu_tokens=self.bleu_tokens),
            ),
            dictionaries=JudgingDictionaries(
                parse_pairs([value for value in named if value != BUILTIN]),
                builtin=BUILTIN in named,
                known_words="allow" if self.allow_leak else "leave-out" if self.leave_out_known else "refuse",
                seed=seed,
            ),
            seed=seed,
        )


@verb(app, "fit", example="steer fit MODEL --text en=a.txt --text de=b.txt --out means/")
def fit(
    *,
    model: ModelArgument = "isoglot-mini",
    text: Annotated[
        list[str] | None,
        option(
            "--text",
            "LANG=FILE",
            "Text of each language, one sentence per line. May be repeated. Default: built-in text.",
        ),
    ] = None,
    langs: Langs = None,
    sentences: Annotated[
        int | None,
        sentence_count("The first N of each language. Default: 2,000 built-in sentences, or 10,000 of files."),
    ] = None,
    layers: LayerList = "all",
    threshold: Threshold = None,
    special: Annotated[
        Literal["exclude", "include"] | None,
        typer.Option("--special", help="Whether [CLS] and [SEP] count as tokens of a language. [default: preset]"),
    ] = None,
    preset: Preset = "default",
    run: ModelRunTo,
) -> None:
    """Estimate the mean and covariance of each language's tokens in every layer, and find out which tokens it uses.

    --out gets means.safetensors and token_sets.json, which the other verbs take as --means.
    """
    from isoglot.model import load_encoder
    from isoglot.report.results import fitted_result
    from isoglot.steer.language_files import FILE_SENTENCES, fit_languages
    from isoglot.steer.shifted_decoding import MEANS_SPECIAL
    from isoglot.text.formats.plain import first_sentences

    if text and langs:
        remedy = "leave it out: --text names languages"
        raise ConfigError("--langs chooses from the built-in text", remedy, "conflicting-options")
    numbers = parse_layers(layers)
    texts = first_sentences(parse_named(text), sentences or FILE_SENTENCES) if text else None
    encoder = load_encoder(model, device=run.device)

    def work(folder: Path | None) -> Rendering:
        known = fit_languages(
            encoder,
            texts,
            languages=parse_langs(langs),
            sentences=sentences,
            layers=numbers,
            special=special or MEANS_SPECIAL[preset],
            threshold=threshold,
            name=model,
            seed=run.seed,
            progress=run.progress,
        )
        if folder is not None:
            known.save(folder)
        return fitted_result(known)

    found = publish(run, run.out, work, model=model, inputs=files_of(text), seed=run.seed, device=str(encoder.device))
    first, other = [*found.value["languages"], "LANG"][:2]
    run.say(f'\nNow: isoglot steer translate "…" --model {model} --means {run.out} --from {first} --to {other}')


@verb(app, "translate", example=_TRANSLATE)
def translate(
    *,
    source: Annotated[str, option("--from", "LANG", "The language of the text.")],
    target: Annotated[str, option("--to", "LANG", "The language to translate to.")],
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="Text to translate, in quotes; - or nothing: lines of standard input."),
    ] = None,
    file: Annotated[
        Path | None, option("--text", "FILE", "Sentences, one per line, instead of TEXT.", rich_help_panel=INPUT)
    ] = None,
    parallel: ParallelSets = None,
    langs: Langs = None,
    sentences: Annotated[int | None, sentence_count("The first N. Default: all.")] = None,
    model: ModelOption = "isoglot-mini",
    alpha: Alphas = None,
    layer: Annotated[
        int | None, option("--layer", "L", "Layer of the shift; 0 is the embeddings, -1 the last. Default: see below.")
    ] = None,
    shifting: Shifting = Shifting(),  # noqa: B008 - frozen
    scoring: Scoring = Scoring(),  # noqa: B008 - frozen
    show: Annotated[int, option("--show", "N", "Sentences to print; --json and --out have all.", min=0)] = 10,
    run: ModelRun,
) -> None:
    """Shift sentences to another language inside the model, and decode its best token at every position.

    Nothing is masked. By default, layer and alpha are those that were measured for the two languages, if the means have
    them: isoglot-mini's do, your own after sweep --save-choice. Else the layer is the last but one, and alpha 1 and 2.

    With --parallel, sentences of one language are translated and those of the other are the references of BLEU-1; with
    --dictionary, switched tokens are judged. A dictionary file with words whose translations training was given is
    refused unless --leave-out-known or --allow-leak is given; such words of a built-in dictionary are left out.

    --out gets translations.json, translations.tsv and index.html.
    """
    from isoglot.core.language_codes import language_code
    from isoglot.model import load_encoder
    from isoglot.report.results import key, translation_result
    from isoglot.steer.judged_translation import DirectedSentences, sentences_between, translate_judged

    config = scoring.config(model, shifting, run.seed)
    codes = language_code(source), language_code(target)
    if parallel and (text is not None or file is not None):
        remedy = "give one of them"
        raise ConfigError("a text and --parallel together", remedy, "conflicting-options")
    if parallel:
        sets = read_sets(parallel, langs, sentences, pairs=config.options.protocol.reads == "pairs")
        given: DirectedSentences = sentences_between(sets, *codes)
    else:
        given = DirectedSentences(codes, _read_text(text, file)[:sentences])
    encoder = load_encoder(model, device=run.device)

    def work(_: Path | None) -> Rendering:
        found = translate_judged(encoder, given, config, layer=layer, alphas=alpha or None, progress=run.progress)
        return translation_result(found, show=show)

    inputs = [*files_of(parallel), *config.dictionaries.paths, *([file] if file else [])]
    publish(run, run.out, work, name="translations.json", inputs=inputs, seed=run.seed, device=str(encoder.device))
    run.show(key(codes[1]))


@verb(
    app,
    "sweep",
    example="steer sweep MODEL --parallel en=a.txt --parallel de=b.txt --means means/ --dictionary en-de=en-de.txt "
    "--out sweep/",
)
def sweep(
    *,
    model: ModelArgument = "isoglot-mini",
    parallel: ParallelSets = None,
    langs: Langs = None,
    sentences: Annotated[
        int | None, sentence_count("The first N of each language. Default: 500 of files, or 25 built-in ones.")
    ] = None,
    directions: Annotated[
        Literal["both", "there"],
        typer.Option("--directions", help="From the first language to the others and back, or there only."),
    ] = "both",
    alpha: Alphas = None,
    layers: LayerList = "all",
    shifting: Shifting = Shifting(),  # noqa: B008 - frozen
    scoring: Scoring = Scoring(),  # noqa: B008 - frozen
    save_choice: Annotated[
        bool,
        typer.Option(
            "--save-choice",
            help="Store the best layer and alpha of each direction in --means, as defaults of translate.",
        ),
    ] = False,
    run: ModelRun,
) -> None:
    """Translate with every layer and alpha: convert rate, precision and BLEU-1, and the tables of Liu et al. (2020).

    Without --parallel, built-in sentences of the model's languages are translated and judged by gold translations.

    A dictionary file with words whose translations training was given is refused unless --leave-out-known or
    --allow-leak is given; such words of a built-in dictionary are left out.

    --out gets index.html, sweep.json and sweep.csv.
    """
    from isoglot.compare.parallel_sentences import builtin_sets
    from isoglot.model import load_encoder
    from isoglot.report.results import sweep_result
    from isoglot.steer.judged_translation import BUILTIN_SENTENCES, FILE_SENTENCES, directions_between, sweep_judged

    if save_choice and shifting.means is None:
        remedy = "name the folder that isoglot steer fit wrote"
        raise ConfigError("--save-choice without --means", remedy, "missing-option")
    config = scoring.config(model, shifting, run.seed, builtin=not parallel)
    numbers, pairs = parse_layers(layers), config.options.protocol.reads == "pairs"
    sets = read_sets(parallel, langs, sentences or FILE_SENTENCES, pairs=pairs) if parallel else []
    encoder = load_encoder(model, device=run.device)
    sets = sets or builtin_sets(encoder, parse_langs(langs), sentences or BUILTIN_SENTENCES, seed=run.seed)
    text = ", ".join(path.name for path in files_of(parallel)) or "built-in sentences"

    def work(_: Path | None) -> Rendering:
        found = sweep_judged(
            encoder,
            directions_between(sets, directions),
            config,
            layers=numbers,
            alphas=alpha or None,
            save_choice=text if save_choice else None,
            progress=run.progress,
        )
        return sweep_result(found)

    inputs = [*files_of(parallel), *config.dictionaries.paths]
    found = publish(run, run.out, work, name="sweep.json", inputs=inputs, seed=run.seed, device=str(encoder.device))
    for way, choice in found.value["choices"].items():
        run.say(f"{way}: layer {choice['layer']}, α = {choice['alpha']:g}, stored in {shifting.means}")


@verb(app, "erase", example="steer erase MODEL --parallel en=a.txt --parallel de=b.txt --layers all --out erased/")
def erase(
    *,
    model: ModelArgument = "isoglot-mini",
    parallel: ParallelSets = None,
    langs: Langs = None,
    layers: LayerList = "all",
    eraser: Annotated[
        Literal["best", "mean-removal", "lir", "lsar", "inlp", "leace"],
        typer.Option(
            "--eraser", help="Eraser to save; best: the best harmonic mean, with the least change among ties."
        ),
    ] = "best",
    pivot: Annotated[
        str | None, option("--pivot", "LANG", "Language that shifts move the others to. Default: the first.")
    ] = None,
    alpha: Alphas = None,
    folds: Annotated[int, option("--folds", "N", "Cross-validation folds.", min=2, max=1000)] = 5,
    count: Annotated[int, sentence_count("The first N of each language.")] = 1000,
    run: ModelRun,
) -> None:
    """Remove language identity from sentence vectors by every eraser and by the shift, and compare what is left.

    A language probe and retrieval of translations are measured in every layer; the best layer is shown in full. Without
    --parallel, built-in sentences are used.

    --out gets index.html, erase.json and the eraser of the best layer, eraser.safetensors.
    """
    from isoglot.compare.parallel_sentences import builtin_languages_of, builtin_set
    from isoglot.model import load_encoder
    from isoglot.report.results import erased_result
    from isoglot.represent import extract
    from isoglot.steer.erasers.trade_off import TradeOffConfig, compare_erasers

    numbers = parse_layers(layers)
    given = read_sets(parallel, langs, count) if parallel else []
    if len(given) > 1:
        remedy = "choose one language beside English: --langs de"
        raise ConfigError("several sets of sentences", remedy, "conflicting-options")
    encoder = load_encoder(model, device=run.device)
    given = given or [builtin_set(parse_langs(langs) or builtin_languages_of(encoder), count, seed=run.seed)]

    def work(folder: Path | None) -> Rendering:
        vectors = {
            code: extract(encoder, lines, layers=numbers, language=code, progress=run.progress)
            for code, lines in given[0].sentences.items()
        }
        config = TradeOffConfig(alphas=alpha or (1.0,), pivot=pivot, folds=folds, seed=run.seed)
        found = compare_erasers(vectors, config, eraser=eraser, progress=run.progress)
        if folder is not None:
            found.eraser.save(folder / ERASER)
        return erased_result(found, ERASER)

    inputs, where = files_of(parallel), str(encoder.device)
    found = publish(run, run.out, work, name="erase.json", model=model, inputs=inputs, seed=run.seed, device=where)
    if run.out is not None:
        run.say(f"{found.value['eraser']} of layer {found.value['layer']} is {run.out / ERASER}")


def _read_text(text: str | None, file: Path | None) -> list[str]:
    """Sentences of the command line, a file or standard input, one per line, without blank ones.

    Raises:
        ConfigError: None of these is given, or two are.
        InputError: There is no sentence, or it is not UTF-8.
        StorageError: The file cannot be read.
    """
    from isoglot.text.cleaning.processing import check_as_written
    from isoglot.text.formats.plain import read_sentence_lines

    typed = text is not None and text != "-"
    if typed and file is not None:
        remedy = "give one of them"
        raise ConfigError("TEXT and --text are both given", remedy, "conflicting-options")
    where = "the text" if typed else "standard input"
    if file is not None:
        check_as_written(file)
        lines, where = [line for _, line in read_sentence_lines(file)], str(file)
    elif typed or (sys.stdin is not None and (text == "-" or not sys.stdin.isatty())):
        try:
            # Bytes of a command line that are not UTF-8 arrive as lone surrogates; some locales let any byte pass.
            read = (text or "").encode() if typed else sys.stdin.buffer.read()
            lines = read.decode().splitlines()
        except UnicodeError as error:
            typed_at = f"character {error.start + 1} cannot be read" if isinstance(error, UnicodeEncodeError) else ""
            why = typed_at or getattr(error, "reason", "")
            remedy = "convert it, as with iconv"
            raise InputError(f"{where} is not UTF-8: {why}", remedy, "not-utf8") from error
    else:
        remedy = f"write it in quotes: isoglot steer translate {chr(34)}Yes.{chr(34)} --from en --to de"
        raise ConfigError("no text to translate", remedy, "missing-option")
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise InputError(f"{where} is empty", "give at least one sentence, one a line", "empty")
    return found
