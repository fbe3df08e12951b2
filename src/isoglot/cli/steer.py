"""``isoglot steer``: language as a direction that can be added, swapped or removed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from isoglot.cli.inputs import Langs, ParallelSets, parse_langs, parse_named, read_sets
from isoglot.cli.options import (
    AllowLeak,
    Debug,
    Device,
    Json,
    LayerList,
    LeaveOutKnown,
    ModelArgument,
    ModelOption,
    OptionalOut,
    Out,
    Quiet,
    Seed,
    Weights,
    parse_layers,
)
from isoglot.cli.output import Output, page_facts
from isoglot.cli.run_files import files_of, place, recorded, write_all
from isoglot.cli.steer_inputs import (
    BUILTIN,
    judging_dictionaries,
    parse_alphas,
    read_text,
    read_texts,
)
from isoglot.cli.steer_options import (
    BUILTIN_SWEPT,
    Alphas,
    BleuTokensOption,
    Count,
    DictionaryFiles,
    Directions,
    FitCount,
    Folds,
    InputOption,
    Layer,
    LearnFrom,
    Means,
    MeansSpecial,
    Pivot,
    PresetOption,
    SaveChoice,
    SavedEraser,
    Sentences,
    SharedAlpha,
    ShiftKind,
    SpecialOption,
    SweepCount,
    Texts,
    Threshold,
    TranslateAlphas,
    Where,
)
from isoglot.core.errors import ConfigError
from isoglot.core.table import Table
from isoglot.steer.language_files import MEANS, SETS, choose_shifts, languages_known
from isoglot.steer.measured_shifts import FALLBACK_LAYER

EXAMPLE = 'Example: isoglot steer translate "The government must protect all citizens." --from en --to de'

app = typer.Typer(
    no_args_is_help=True,
    help="Language as a direction: learn its mean in every layer, add the difference of two and the model answers in "
    "the other language; or take languages out.",
    epilog=EXAMPLE,
)

ERASER = "eraser.safetensors"
MOST = 10_000
"""Lines of a language's text, unless told."""


@app.command("fit", epilog="Example: isoglot steer fit MODEL --text en=a.txt --text de=b.txt --out means/")
def fit(
    out: Out,
    model: ModelArgument = "isoglot-mini",
    text: Texts = None,
    langs: Langs = None,
    sentences: FitCount = None,
    layers: LayerList = "all",
    threshold: Threshold = None,
    special: MeansSpecial = None,
    preset: PresetOption = "default",
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn what languages are in an encoder: mean and covariance of their tokens in every layer, and which they use.

    --out gets means.safetensors and token_sets.json, which the other verbs take as --means.
    """
    from isoglot.cli.steer_output import fitted_table
    from isoglot.languages.builtin import TEXT_SENTENCES, builtin_languages, builtin_text
    from isoglot.model import load_encoder
    from isoglot.steer import LanguageMeans
    from isoglot.steer.decoding_protocol import MEANS_SPECIAL
    from isoglot.steer.token_sets import TokenSets

    output = Output(json=json, quiet=quiet)
    numbers = parse_layers(layers)
    named = parse_named(text) if text else {}
    if named and langs:
        raise ConfigError(
            "--langs chooses from the built-in text",
            remedy="leave it out: --text names languages",
            code="config.conflicting-options",
        )
    texts = read_texts(named, sentences or MOST) if named else {}
    encoder = load_encoder(model, device=device)
    if not texts:
        codes = parse_langs(langs) or builtin_languages(encoder.vocabulary.languages)
        if not codes:
            raise ConfigError(
                f"the encoder has {', '.join(encoder.vocabulary.languages)}, and none is built in",
                remedy="give text of them: --text en=a.txt --text de=b.txt",
                code="config.built-in-language",
            )
        texts = builtin_text(codes, sentences or TEXT_SENTENCES, seed=seed)
    with recorded(out, files_of(text), seed=seed, device=str(encoder.device)) as run:
        means = LanguageMeans.fit(
            encoder,
            texts,
            layers=numbers,
            special=special or MEANS_SPECIAL[preset],
            name=model,
            progress=output.progress,
        )
        sets = TokenSets.from_text(encoder.vocabulary, texts, threshold=threshold, progress=output.progress)
        means.save(run.folder / MEANS)
        sets.save(run.folder / SETS)
    value = {
        "out": str(out),
        "model": model,
        "layers": list(means.layers),
        "languages": {
            code: {"sentences": len(lines), "tokens": means.count(code), "token_set": sets.sizes[code]}
            for code, lines in zip(means.languages, texts.values(), strict=True)
        },
        "token_sets": sets.about(),
    }
    output.result(value, fitted_table(value, means))
    first, *others = means.languages
    other = others[0] if others else "LANG"
    output.say(
        f'\nNow: isoglot steer translate "…" --model {model} --means {out} --from {first} --to {other} --alpha 2'
    )


@app.command("translate", epilog=EXAMPLE)
def translate(
    source: Annotated[str, typer.Option("--from", metavar="LANG", help="The language of the text.")],
    target: Annotated[str, typer.Option("--to", metavar="LANG", help="The language to go to.")],
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="What to translate, in quotes; - or nothing: standard input, a line each."),
    ] = None,
    file: Annotated[Path | None, typer.Option("--text", metavar="FILE", help="Sentences instead, one a line.")] = None,
    parallel: ParallelSets = None,
    langs: Langs = None,
    model: ModelOption = "isoglot-mini",
    means: Means = None,
    alpha: TranslateAlphas = None,
    layer: Layer = None,
    kind: ShiftKind = "mean",
    dictionary: DictionaryFiles = None,
    leave_out_known: LeaveOutKnown = False,
    allow_leak: AllowLeak = False,
    shared_alpha: SharedAlpha = None,
    positions: Where = "all",
    preset: PresetOption = "default",
    reads: InputOption = None,
    special: SpecialOption = None,
    bleu_tokens: BleuTokensOption = None,
    threshold: Threshold = None,
    sentences: Sentences = None,
    learn_from: LearnFrom = None,
    show: Annotated[
        int, typer.Option("--show", metavar="N", min=0, help="How many sentences to print; --json and --out have all.")
    ] = 10,
    out: OptionalOut = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Shift sentences to another language inside the model, and read off its best token at every position.

    Nothing is masked. Layer and alpha are those that were measured for the two languages, where the means have them:
    isoglot-mini's do, your own after sweep --save-choice.

    With --parallel the sentences of one language are translated and those of the other are the
    references of BLEU-1; with --dictionary switched tokens are judged. A file with words that a dictionary gave to the
    model's training is refused, unless --leave-out-known or --allow-leak is given; built-in ones are left out.

    --out gets translations.json, translations.tsv and index.html.
    """
    from isoglot.cli.steer_output import key, translation_view
    from isoglot.core.language_codes import language_code
    from isoglot.model import load_encoder
    from isoglot.report.steer import translation_page
    from isoglot.report.steer_tables import translation_rows, translation_value
    from isoglot.represent.layer_pass import chosen_layers
    from isoglot.steer.bleu import why_no_bleu
    from isoglot.steer.decoding_protocol import protocol_of
    from isoglot.steer.judging import sentences_between
    from isoglot.steer.measured_shifts import shift_to_use
    from isoglot.steer.shifted_pass import check_softmax
    from isoglot.steer.shifts import ShiftOptions
    from isoglot.steer.sweep import sweep_shifts

    output = Output(json=json, quiet=quiet)
    protocol = protocol_of(preset, reads=reads, special=special, bleu_tokens=bleu_tokens)
    codes = language_code(source), language_code(target)
    asked = parse_alphas(alpha, ()) or None
    dictionaries = judging_dictionaries(dictionary, seed=seed, leave_out_known=leave_out_known, allow_leak=allow_leak)
    if dictionary and dictionaries.read(*codes) is None:
        raise ConfigError(
            f"--dictionary has no {'-'.join(codes)}",
            remedy=f"write --dictionary {'-'.join(codes)}=FILE",
            code="config.missing-data",
        )
    references = None
    if parallel:
        if text is not None or file is not None:
            raise ConfigError(
                "a text and --parallel together", remedy="give the one or the other", code="config.conflicting-options"
            )
        sets = read_sets(parallel, langs, sentences, pairs=protocol.reads == "pairs")
        _, lines, references = sentences_between(sets, *codes)
    else:
        lines = read_text(text, file)[:sentences]
    no_bleu = None if references is None else why_no_bleu()
    encoder = load_encoder(model, device=device)
    check_softmax(encoder)
    entries = dictionaries.entries(*codes, encoder)
    if layer is not None:
        chosen_layers([layer], encoder.depth)  # refused before means are learned
    with recorded(
        out,
        [*files_of(parallel), *dictionaries.paths, *([file] if file else [])],
        seed=seed,
        device=str(encoder.device),
    ) as run:
        known = languages_known(
            encoder,
            means,
            codes,
            model=model,
            layers=[FALLBACK_LAYER if layer is None else layer],
            learn_from=learn_from,
            threshold=threshold,
            seed=seed,
            progress=output.progress,
        )
        used = shift_to_use(known.means, *codes, kind=kind, layer=layer, alphas=asked)
        swept = sweep_shifts(
            encoder,
            lines,
            *codes,
            known.means,
            layers=[used.layer],
            alphas=used.alphas,
            sets=known.sets,
            references=None if no_bleu else references,
            dictionary=entries,
            options=ShiftOptions(kind=kind, shared_alpha=shared_alpha, positions=positions),
            protocol=protocol,
            progress=output.progress,
        )
        references = list(swept.references) if swept.references else references  # of pairs, without their labels
        remarks = [*dictionaries.remarks, *([no_bleu] if no_bleu else [])]
        value = {
            "model": model,
            "means": known.origin,
            "chosen": None if used.choice is None else used.choice.as_dict(),
            "left_out_known": dictionaries.left_out,
            "leak_check": dictionaries.leak_check,
            "remarks": remarks,
            **translation_value(swept, references),
        }
        if run is not None and out is not None:
            facts = [*remarks, *page_facts()]
            texts = {
                "index.html": translation_page(swept, references, origin=known.origin, used=used.words(), facts=facts),
                "translations.tsv": "".join("\t".join(row) + "\n" for row in translation_rows(swept, references)),
            }
            write_all(run, "translations.json", value, texts)
    output.result(
        {**place(out), **value},
        translation_view(swept, references, origin=known.origin, show=show, used=used.words(), remarks=remarks),
    )
    output.show(key(codes[1]))
    if out is not None:
        output.say(f"The page is {out / 'index.html'}")


@app.command(
    "sweep",
    epilog="Example: isoglot steer sweep --model MODEL --parallel en=a.txt --parallel de=b.txt --means means/ "
    "--dictionary en-de=en-de.txt --out sweep/",
)
def sweep(
    model: ModelOption = "isoglot-mini",
    parallel: ParallelSets = None,
    langs: Langs = None,
    means: Means = None,
    directions: Directions = "both",
    alpha: Alphas = None,
    layers: LayerList = "all",
    kind: ShiftKind = "mean",
    dictionary: DictionaryFiles = None,
    leave_out_known: LeaveOutKnown = False,
    allow_leak: AllowLeak = False,
    shared_alpha: SharedAlpha = None,
    positions: Where = "all",
    preset: PresetOption = "default",
    reads: InputOption = None,
    special: SpecialOption = None,
    bleu_tokens: BleuTokensOption = None,
    threshold: Threshold = None,
    sentences: SweepCount = None,
    learn_from: LearnFrom = None,
    save_choice: SaveChoice = False,
    out: OptionalOut = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Translate with every layer and alpha: where most is switched, where rightly so, and the second paper's tables.

    Without --parallel, built-in sentences of the model's languages are translated and judged by gold translations.

    Files of --dictionary with words that one gave to the model's training are refused, unless --leave-out-known or
    --allow-leak is given; of built-in words those are left out.

    --out gets index.html, sweep.json, sweep.csv and sweep.svg.
    """
    from isoglot.cli.steer_output import sweep_view
    from isoglot.compare.parallel_sentences import builtin_sets
    from isoglot.model import load_encoder
    from isoglot.report.steer import masked_words, sweep_page, sweep_svg
    from isoglot.report.steer_tables import cell_rows, sweep_value
    from isoglot.represent.layer_pass import chosen_layers
    from isoglot.steer.bleu import why_no_bleu
    from isoglot.steer.decoding_protocol import protocol_of
    from isoglot.steer.judging import directions_between
    from isoglot.steer.masked_decoding import masked_languages
    from isoglot.steer.shifted_pass import check_softmax
    from isoglot.steer.shifts import ShiftOptions
    from isoglot.steer.sweep import sweep_shifts

    output = Output(json=json, quiet=quiet)
    if save_choice and means is None:
        raise ConfigError(
            "--save-choice without --means",
            remedy="name the folder that isoglot steer fit wrote",
            code="config.missing-option",
        )
    protocol = protocol_of(preset, reads=reads, special=special, bleu_tokens=bleu_tokens)
    alphas = parse_alphas(alpha, (0.0, 1.0, 2.0, 3.0))
    asked, no_bleu = parse_layers(layers), why_no_bleu()
    listed = dictionary if dictionary or parallel else [BUILTIN]
    dictionaries = judging_dictionaries(listed, seed=seed, leave_out_known=leave_out_known, allow_leak=allow_leak)
    given = read_sets(parallel, langs, sentences or 500, pairs=protocol.reads == "pairs") if parallel else []
    encoder = load_encoder(model, device=device)
    check_softmax(encoder)
    numbers = chosen_layers(asked, encoder.depth)
    sets = given or builtin_sets(encoder, parse_langs(langs), sentences or BUILTIN_SWEPT, seed=seed)
    ways = directions_between(sets, directions)
    entries = [dictionaries.entries(*way.codes, encoder) for way in ways]
    codes = list(dict.fromkeys(code for way in ways for code in way.codes))
    with recorded(out, [*files_of(parallel), *dictionaries.paths], seed=seed, device=str(encoder.device)) as run:
        known = languages_known(
            encoder,
            means,
            codes,
            model=model,
            layers=list(numbers),
            learn_from=learn_from,
            threshold=threshold,
            seed=seed,
            progress=output.progress,
        )
        sweeps = [
            sweep_shifts(
                encoder,
                way.sentences,
                *way.codes,
                known.means,
                layers=numbers,
                alphas=alphas,
                sets=known.sets,
                references=None if no_bleu else way.references,
                dictionary=judges,
                options=ShiftOptions(kind=kind, shared_alpha=shared_alpha, positions=positions),
                protocol=protocol,
                progress=output.progress,
            )
            for way, judges in zip(ways, entries, strict=True)
        ]
        masked = {
            way.codes[0]: masked_languages(
                encoder,
                [line.partition("\t")[0] for line in way.sentences],
                way.codes[0],
                known.sets,
                seed=seed,
                progress=output.progress,
            )
            for way in (ways if encoder.depth else ())  # static vectors guess nothing from what stands around
        }
        remarks = [*(masked_words(each) for each in masked.values()), *dictionaries.remarks]
        remarks += [no_bleu] if no_bleu else []
        about = known.sets.about(codes)
        text = ", ".join(path.name for path in files_of(parallel)) or "built-in sentences"
        choices = choose_shifts(sweeps, text=text, folder=means) if save_choice and means is not None else {}
        value = {
            "model": model,
            "means": known.origin,
            "choices": {way: choice.as_dict() for way, choice in choices.items()},
            "masked": {code: each.as_dict() for code, each in masked.items()},
            "left_out_known": dictionaries.left_out,
            "leak_check": dictionaries.leak_check,
            "remarks": remarks,
            **sweep_value(sweeps, encoder.depth, about),
        }
        if run is not None and out is not None:
            facts = [*remarks, *page_facts()]
            texts = {
                "index.html": sweep_page(sweeps, encoder.depth, sets=about, origin=known.origin, facts=facts),
                "sweep.svg": sweep_svg(sweeps[0]),
                "sweep.csv": Table.from_rows(cell_rows(sweeps)).csv(),
            }
            write_all(run, "sweep.json", value, texts)
    output.result(
        {**place(out), **value},
        sweep_view(sweeps, encoder.depth, sets=about, origin=known.origin, remarks=remarks),
    )
    for way, choice in choices.items():
        output.say(f"{way}: layer {choice.layer}, α = {choice.alpha:g}, kept in {means}")
    if out is not None:
        output.say(f"The page is {out / 'index.html'}")


@app.command(
    "erase",
    epilog="Example: isoglot steer erase MODEL --parallel en=a.txt --parallel de=b.txt --layers all --out erased/",
)
def erase(
    model: ModelArgument = "isoglot-mini",
    parallel: ParallelSets = None,
    langs: Langs = None,
    layers: LayerList = "all",
    eraser: SavedEraser = "best",
    pivot: Pivot = None,
    alpha: Alphas = None,
    folds: Folds = 5,
    count: Count = 1000,
    out: OptionalOut = None,
    weights: Weights = "best",
    device: Device = "auto",
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Take languages out of sentences by every eraser and by the shift: what a probe still tells, what is still found.

    Layers are compared, and the best one is shown in full. Without --parallel, built-in sentences are used.

    --out gets index.html, erase.json, erase.svg and the eraser of that layer, eraser.safetensors.
    """
    from isoglot.cli.steer_output import ERASERS, erase_view
    from isoglot.compare.parallel_sentences import builtin_languages_of, builtin_set
    from isoglot.model import load_encoder
    from isoglot.report.steer_erase import erase_page, erase_svg
    from isoglot.represent import extract
    from isoglot.steer.erasers.trade_off import default_erasers, labeled, trade_offs

    output = Output(json=json, quiet=quiet)
    alphas = parse_alphas(alpha, (1.0,))
    asked = parse_layers(layers)
    given = read_sets(parallel, langs, count) if parallel else []
    if len(given) > 1:
        raise ConfigError(
            "several sets of sentences",
            remedy="choose one language beside English: --langs de",
            code="config.conflicting-options",
        )
    encoder = load_encoder(model, device=device)
    if not given:
        given = [builtin_set(parse_langs(langs) or builtin_languages_of(encoder), count, seed=seed)]
    sentences = dict(given[0].sentences)
    with recorded(out, files_of(parallel), seed=seed, device=str(encoder.device)) as run:
        vectors = {
            code: extract(encoder, lines, layers=asked, language=code, progress=output.progress)
            for code, lines in sentences.items()
        }
        found = trade_offs(vectors, alphas=alphas, pivot=pivot, folds=folds, seed=seed, progress=output.progress)
        shown = max(found, key=lambda each: each.best.rank)
        names = list(ERASERS) if eraser == "best" else [eraser]
        chosen = max((ERASERS[name] for name in names), key=lambda name: shown.of(name).rank)
        value: dict[str, Any] = {
            "model": model,
            "layer": shown.layer,
            "eraser": chosen,
            "layers": [each.as_dict() for each in found],
        }
        if run is not None and out is not None:
            layer = next(iter(vectors.values())).layers[found.index(shown)]
            rows = {code: each[layer] for code, each in vectors.items()}
            fitted = default_erasers()[chosen].fit(*labeled(rows))
            fitted.save(run.folder / ERASER)
            saved = f"{ERASER} has {chosen}, learned from all sentences in layer {shown.layer}."
            texts = {
                "index.html": erase_page(found, shown, saved=saved, facts=page_facts()),
                "erase.svg": erase_svg(shown),
            }
            write_all(run, "erase.json", value, texts)
    output.result({**place(out), **value}, erase_view(found, shown))
    if out is not None:
        output.say(f"{chosen} of layer {shown.layer} is {out / ERASER}; the page is {out / 'index.html'}")
