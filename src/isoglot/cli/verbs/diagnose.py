"""``isoglot diagnose``, ``isoglot fix`` and ``isoglot rank``: encoders on parallel sentences.

How well their languages share a space, what improves it without training, and which of several encoders are better.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from isoglot.cli.declaration import argument, command, option
from isoglot.cli.inputs import (
    CslsFrom,
    Files,
    LayerList,
    MeansFrom,
    ParallelInput,
    files_of,
    parse_estimates,
    parse_layers,
    parse_named,
    parse_tasks,
)
from isoglot.cli.options import EMBEDDED, ModelArgument, ModelRun, SentencePoolOfModel, Settings, open_runs

if TYPE_CHECKING:
    from isoglot.report.results import Rendering


@command("diagnose MODEL --parallel en=a.txt --parallel de=b.txt --out report/")
def diagnose(
    *,
    model: ModelArgument = EMBEDDED,
    text: ParallelInput,
    layers: LayerList = "all",
    pool: SentencePoolOfModel = None,
    pivot: Annotated[str | None, option("LANG", "Only pairs with this language. Default: every pair.")] = None,
    means_from: MeansFrom = None,
    csls_from: CslsFrom = "folds",
    settings: Settings = None,
    run: ModelRun,
) -> None:
    """Check an encoder: which layer to use, which languages are poorly aligned, what would improve it for free.

    Measures every layer and pair of languages: retrieval (as it is, means removed, CSLS, both, trimmed, mapped), CKA
    with its null distribution, language probes, anisotropy, hubness, and tokenizer statistics. Without --parallel,
    built-in sentences are used. By default everything that is estimated for a sentence, its language's mean included,
    comes from other sentences.

    A finding that something can be done about ends with the command. --out receives a page, index.html, and every
    number in diagnosis.json. --set reaches folds, resamples and draws.
    """
    from isoglot.core.devices import choose_device
    from isoglot.core.language_codes import language_code
    from isoglot.diagnose import DiagnoseConfig
    from isoglot.diagnose import diagnose as check_up
    from isoglot.diagnose.commands import commands_of
    from isoglot.diagnose.sentence_vectors import MOST
    from isoglot.model import load_encoder
    from isoglot.report.results import diagnosis_result
    from isoglot.represent.extraction import sentence_pool

    chosen = parse_layers(layers)
    config = run.config(DiagnoseConfig, settings, pivot=None if pivot is None else language_code(pivot))
    source, sets = parse_estimates(means_from, csls_from, folds=config.folds), text.read(MOST)
    encoder = load_encoder(model, device=run.device)
    has_more = not sets or max(map(len, sets)) >= (text.sentences or MOST)
    sets = sets or text.builtin(encoder, seed=run.seed)
    how: dict[str, Any] = {"layers": chosen, "pool": sentence_pool(encoder, pool), "progress": run.progress}
    texts = means_from if means_from and source.texts else ()
    named = (text.parallel or (), text.langs, text.sentences, pool, texts)
    commands = commands_of(encoder, model, *named, has_more=has_more)

    def work(_: Path | None) -> Rendering:
        others = source.others(encoder, dict.fromkeys(code for one in sets for code in one.sentences), **how)
        found = check_up(encoder, sets, config=config, estimates=source.estimates, others=others, name=model, **how)
        return diagnosis_result(found, str(choose_device(run.device)), commands)

    run.publish(work, "diagnosis.json", inputs=[*files_of(text.parallel), *source.files], config=config)


@command("fix MODEL --parallel en=a.txt --parallel de=b.txt --out fixed/")
def fix(
    *,
    model: ModelArgument = EMBEDDED,
    text: ParallelInput,
    pool: Literal["mean-all", "first", "cls", "last", "max", "weighted", "model"] | None = None,
    means_from: Annotated[Files, option("LANG=FILE")] = None,
    evaluate: Annotated[Files, option("[FROM-TO=]PATH", name="--eval")] = None,
    onnx: Annotated[bool, option(text="Also write the model with its fix as ONNX, checked with onnxruntime.")] = False,
    settings: Settings = None,
    run: ModelRun,
) -> None:
    """Improve the sentence vectors of a model without training, and write it as a sentence-transformers folder.

    Tries removing the strongest directions, LSAR, LEACE and whitening, chooses by cross-validation, and shows what the
    fix gains for each pair of languages, in one pool of all languages, and costs each language alone. A model without
    sentence-transformers modules may lose its last layers. The model is written if the gain is sure and no --eval is
    surely worse; --set method=leace writes that one in any case. --set languages=known also tries what needs the
    language of a text, which is then given as encode(texts, task="de"). Without --parallel, built-in sentences are
    used.

    Options:
        pool: A sentence is the mean of all its tokens, its first (also cls) or last token, the maximum over its tokens,
            their mean weighted by position, or what the modules of a sentence-transformers model make of it, which
            nothing else can replace. Special tokens count. Default: model where there are such modules, else mean-all.
        means_from: Other text for means and covariances. May be repeated. Default: other sentences of the set.
        evaluate: Your own queries and documents, before and after: a TSV of pairs, or a folder with queries.tsv,
            documents.tsv and qrels.txt. With the languages of both, such as ru-en=pairs.tsv. May be repeated.
    """
    from isoglot.diagnose.repair.choice import FixConfig
    from isoglot.diagnose.repair.fixing import fix as fix_model
    from isoglot.diagnose.sentence_vectors import MOST
    from isoglot.model import load_encoder
    from isoglot.report.fix import fix_result

    config = run.config(FixConfig, settings, onnx=onnx)
    others, tasks = parse_named(means_from, "--means-from") if means_from else {}, parse_tasks(evaluate)
    sets = text.read(MOST) or text.builtin(load_encoder(model, device=run.device), seed=run.seed)
    how: dict[str, Any] = {"pool": pool, "config": config, "device": run.device, "progress": run.progress}
    how |= {"means_from": others, "tasks": tasks}
    inputs = files_of(text.parallel, means_from, evaluate)
    run.publish(
        lambda out: fix_result(fix_model(model, sets, out=out, **how)), "fix.json", inputs=inputs, config=config
    )


@command("rank MODEL_A MODEL_B MODEL_C --parallel en=a.txt --parallel de=b.txt --out ranked/")
def rank(
    *,
    models: Annotated[list[str], argument("MODEL...", callback=open_runs, show_default=False)],
    text: ParallelInput,
    layer: Annotated[int | None, option("N")] = None,
    pool: SentencePoolOfModel = None,
    method: Annotated[str, option("NAME", "How translations are searched for: cosine, csls, …")] = "cosine",
    center: Annotated[Literal["none", "mean"], option(text="mean: each language's mean removed.")] = "none",
    over: Literal["auto", "sentences", "languages"] = "auto",
    settings: Settings = None,
    run: ModelRun,
) -> None:
    """Rank encoders on the same parallel sentences: which are better, and which cannot be told apart.

    The score is the share of translations found, the mean of both directions and all pairs of languages, each model in
    the layer that is best for it on the other half of the sentences. Differences are tested in pairs, by a bootstrap
    over sentences and, with five or more, languages, and corrected for the number of pairs of models (Holm). Models
    that share a letter cannot be told apart.

    --out receives a page, index.html, and every number in ranking.json. --set reaches resamples and folds.

    Options:
        models: {MODEL} Two or more.
        layer: The layer of every model, -1 for the last. Default: the best of each.
        over: What a difference has to hold for: other sentences, or other sentences and languages. auto: languages too
            if there are five or more.
    """
    from isoglot.diagnose import RankConfig, rank_models
    from isoglot.diagnose.sentence_vectors import MOST
    from isoglot.model import load_encoder
    from isoglot.report.ranking import ranking_result

    config = run.config(RankConfig, settings, layer=layer, method=method, center=center, over=over)
    sets = text.read(MOST) or text.builtin(load_encoder(models[0], device=run.device), seed=run.seed)
    loaded = ((name, load_encoder(name, device=run.device)) for name in models)
    how: dict[str, Any] = {"pool": pool, "config": config, "progress": run.progress}
    inputs = files_of(text.parallel)
    run.publish(
        lambda _: ranking_result(rank_models(loaded, sets, **how)), "ranking.json", inputs=inputs, config=config
    )
