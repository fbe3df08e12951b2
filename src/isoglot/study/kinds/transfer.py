"""Steps that fine-tune an encoder on a task in one language and test it in others, directly or through a map.

Figure 5 of Wu et al. (2020) reads an encoder by layers trained on another one. In the order in which its steps are run:
sentences are word-aligned, a map is fitted in every layer of two encoders, and a task is learned on the frozen layers
of the first and tested through the maps.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import InputError
from isoglot.study.kinds.step_inputs import open_both, open_step_encoder, step_languages
from isoglot.study.numbers import Coordinate, Number, ratio_number, resampled_ratios, share_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoglot.align import Bitext
    from isoglot.study.steps import Work
    from isoglot.transfer.experiment import Outcome
    from isoglot.transfer.map_protocol import MapTransfer


MEASURES = {"nli": "nli", "ner": "ner", "parse": "parsing", "pos": "pos", "topic": "topic"}
"""Measure of each task's score."""
Sets = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
"""Examples to train on, to choose by and to test on, by language."""
_WAYS = {"source dev": "", "oracle": "_oracle", "averaged": "_averaged"}


def fine_tune(work: Work) -> list[Number]:
    """Fine-tune and test.

    Settings: ``task``; ``config``, the values of :class:`TuneConfig` that are not the default; ``source`` and
    ``targets``, languages; ``examples``, the most training examples; ``test_examples``, the most of each test;
    ``builtin``: built-in examples instead of files, how many to train on and to test on; inputs ``encoder``,
    ``train.LANG``, ``dev.LANG``, ``test.LANG``.
    """
    done = _experiment(work)
    measure, found = MEASURES.get(done.task, done.task), []
    for line in done.lines:
        chosen = [
            one for trial in done.trials for one in trial.tests if (one.language, one.way) == (line.language, line.way)
        ]
        items = done.tests[line.language]
        draws = resampled_ratios([one.test.scores.ratio_S2 for one in chosen], items)
        at = {"language": line.language}
        found.append(Number(f"{measure}{_WAYS[line.way]}", line.estimate.value, at, draws, items))
    found.append(Number(f"{measure}_dev", done.learned.score, {"language": done.learned.language}))
    found.append(Number(f"{measure}_learned", float(not done.learned.nothing), {"language": done.learned.language}))
    return found


def fine_tune_shifted(work: Work) -> list[Number]:
    """Fine-tune the upper half of the layers, and test languages as they are and shifted to the source language's.

    The shift is at the middle layer, the last that does not learn, so that means of the encoder before fine-tuning fit.
    Each language's alpha is the best on its own dev set: with a shift the transfer is not strictly zero-shot.

    Settings and inputs as :func:`fine_tune`, with a dev set of every language; ``alphas`` to try beside 0; input
    ``means``. The arm is ``tune-upper`` without a shift, and ``tune-upper+shift`` with it.
    """
    from isoglot.study.kinds.steering import open_means
    from isoglot.transfer import find_task, shift_transfer

    done = _experiment(work, upper_half=True)
    _, dev, test = examples(work, find_task(work.settings["task"]), target_dev=True)
    targets = {code: data for code, data in test.items() if code in dev or code == work.settings["source"]}
    means, _ = open_means(work)
    shifted = shift_transfer(
        done.best, targets, means, dev=dev, choose="dev", alphas=work.settings["alphas"], progress=work.progress
    )
    measure = MEASURES.get(done.task, done.task)
    tested = [("tune-upper", code, one.scores.ratio_S2) for code, one in shifted.baselines.items()]
    tested += [("tune-upper+shift", row.language, row.test.scores.ratio_S2) for row in shifted.rows]
    found = [
        ratio_number(measure, counts_S2, {"arm": arm, "language": code}, done.tests[code], scale=100)
        for arm, code, counts_S2 in tested
    ]
    found += [Number("shift_alpha", row.alpha, {"language": row.language}) for row in shifted.rows]
    return [*found, Number("shift_layer", shifted.layers[0], {"depth": done.best.encoder.depth})]


def _experiment(work: Work, *, upper_half: bool = False) -> Outcome:
    """Fine-tune and test as the settings say."""
    from isoglot.core.config import build_config
    from isoglot.transfer import TuneConfig, find_task
    from isoglot.transfer.experiment import run_experiment

    encoder, task = open_step_encoder(work), find_task(work.settings["task"])
    values = dict(work.settings["config"])
    if upper_half:
        values["freeze"] = encoder.depth // 2
    out = work.scratch / "run"
    return run_experiment(
        encoder,
        task,
        *examples(work, task, target_dev=upper_half),
        build_config(TuneConfig, values=values),
        out,
        resume=out.exists(),
        allow_leak=True,
        progress=work.progress,
        say=work.say,
    )


def examples(work: Work, task: Any, *, target_dev: bool = False) -> Sets:  # noqa: ANN401 - any task
    """Examples to train on, to choose by and to test on, by language; built-in ones have dev sets where asked for."""
    return _builtin(work, task, target_dev=target_dev) if "builtin" in work.settings else _files(work, task)


def _files(work: Work, task: Any) -> Sets:  # noqa: ANN401 - any task
    """The examples of the user's files; read once for all steps of a worker."""
    most = {"train": work.settings.get("examples"), "dev": None, "test": work.settings.get("test_examples")}
    found: dict[str, dict[str, Any]] = {"train": {}, "dev": {}, "test": {}}
    for split, limit in most.items():
        for code, path in work.named(split):
            read = partial(task.read, path, code)
            data = work.cached(("examples", task.name, str(path), code), read)
            found[split][code] = data if limit is None else data.head(limit)
    return found["train"], found["dev"], found["test"]


def _builtin(work: Work, task: Any, *, target_dev: bool) -> Sets:  # noqa: ANN401 - any task
    source, targets, sizes = work.settings["source"], work.settings["targets"], work.settings["builtin"]
    spaced = any("-x-" in code for code in (source, *targets))
    tests = dict.fromkeys([source, *targets])
    return (
        {source: task.builtin(source, "train", sizes["train"], spaced=spaced)},
        {code: task.builtin(code, "dev", sizes["test"], spaced=spaced) for code in (tests if target_dev else [source])},
        {code: task.builtin(code, "test", sizes["test"], spaced=spaced) for code in tests},
    )


BITEXT, MAPS = "bitext.json", "maps"


def link_words(work: Work) -> list[Number]:
    """Align the words of parallel sentences.

    The aligner is trained on these sentences, as the paper did with fast_align; built-in sentences have gold links.

    Settings: ``languages``, the one that is mapped first; ``count``, sentence pairs at most; ``builtin``, a seed;
    inputs ``pairs.LANG`` or ``pairs.table``.
    """
    import json

    from isoglot.align import builtin_bitext
    from isoglot.core.files import write_text
    from isoglot.transfer.layer_maps import linked_words

    languages, count = step_languages(work), work.settings["count"]
    files = dict(work.named("pairs"))
    if files:
        given = files.get("table", {code: files[code] for code in languages if code in files})
        bitext = linked_words(given, languages, progress=work.progress).first(count)
    else:
        bitext = builtin_bitext(languages, count, seed=work.settings["builtin"])
    found = {"source": bitext.source, "target": bitext.target, "links": bitext.links}
    write_text(work.folder / BITEXT, json.dumps(found, ensure_ascii=False))
    return [Number("linked_sentences", len(bitext)), Number("word_links", sum(map(len, bitext.links)))]


def fit_maps(work: Work) -> list[Number]:
    """Fit a map of words in context for every layer, and score it on sentences that were held out.

    Settings: ``languages``, the one that is mapped first; ``align``, the values of :class:`AlignConfig` that are not
    the default; inputs ``encoder``, of the second language, ``other``, of the first (missing: the same), and
    ``bitext``.
    """
    from hashlib import sha256

    from isoglot.align.maps.config import AlignConfig
    from isoglot.core.config import build_config
    from isoglot.transfer.layer_maps import fit_layer_maps

    encoders = open_both(work)
    config = build_config(AlignConfig, values={"resamples": 1, **work.settings.get("align", {})})
    bitext, languages = _bitext(work), step_languages(work)
    depth = min(one.depth for one in encoders)
    layers = list(range(depth + 1))
    made = fit_layer_maps(encoders[1], encoders[0], bitext, languages, layers, config, progress=work.progress)
    assert made.aligned is not None  # noqa: S101 - they were fitted here
    made.aligned.save(work.folder / MAPS)
    items = sha256(repr((bitext.source, bitext.target, bitext.links)).encode()).hexdigest()[:16]
    numbers = []
    for layer in made.aligned.layers:
        hits_Q = layer.after.of(config.retrieval).ranks_Q == 1
        at: dict[str, Coordinate] = {"language": languages[0], "layer": layer.layer or 0, "depth": depth}
        at["map"] = config.method
        numbers.append(share_number("linked_word_p1", hits_Q, at, items))
    return numbers


def transfer_mapped(work: Work) -> list[Number]:
    """Train new layers and a head on the first layers of an encoder, for every layer; test another through the maps.

    Settings: ``task``; ``config``, the values of :class:`MapTransferConfig` that are not the default; ``source`` and
    ``targets``, one; ``examples``, ``test_examples`` and ``builtin`` as for fine-tuning; inputs ``encoder``, ``other``
    (missing: the same encoder reads both languages), ``maps`` (missing: none), ``train.LANG``, ``dev.LANG`` and
    ``test.LANG``.
    """
    from isoglot.core.config import build_config
    from isoglot.transfer import find_task
    from isoglot.transfer.layer_maps import read_layer_maps
    from isoglot.transfer.map_protocol import MapTransferConfig, Models, map_transfer

    settings, task = work.settings, find_task(work.settings["task"])
    source, (target,) = settings["source"], settings["targets"]
    train, dev, test = examples(work, task)
    encoder = open_step_encoder(work)
    other = open_step_encoder(work, "other") if "other" in work.inputs else encoder
    maps = {target: read_layer_maps(work.inputs["maps"] / MAPS, (target, source))} if "maps" in work.inputs else {}
    out = work.scratch / "run"
    done = map_transfer(
        task,
        [Models("bilingual" if other is encoder else "monolingual", encoder, {target: other}, maps)],
        train,
        {source: dev[source]},
        test,
        build_config(MapTransferConfig, values=dict(settings["config"])),
        out,
        resume=out.exists(),
        allow_leak=True,
        progress=work.progress,
        say=work.say,
    )
    items = {code: data.sha256[:16] for code, data in {source: dev[source], **test}.items()}
    return list(_numbers(done, MEASURES[task.name], items, encoder.depth))


def _numbers(done: MapTransfer, measure: str, items: dict[str, str], depth: int) -> Iterator[Number]:
    """Scores of the language that was trained on, of the other as it is, and of the other mapped, by layer."""
    for line in done.lines:
        points = [point.ratios for point in done.points if point.facts["layer"] == line.layer]
        prefix = f"{line.language}/{line.arm}/"
        counts_SN2 = [some for ratios in points for name, some in ratios.items() if name.startswith(prefix)]
        at: dict[str, Coordinate] = {"language": line.language, "layer": line.layer, "depth": depth}
        if line.arm == "mapped":
            at["map"] = "procrustes"
        tested = items[line.language]
        yield Number(measure, line.estimate.value, at, resampled_ratios(counts_SN2, tested), tested)


def _bitext(work: Work) -> Bitext:
    from isoglot.align import Bitext
    from isoglot.core.files import read_json

    found: Any = read_json(work.inputs["bitext"] / BITEXT)
    if not found["links"]:
        raise InputError("there are no parallel sentences", "give some: --map-parallel", "empty")
    links = [[(one, other) for one, other in each] for each in found["links"]]
    return Bitext(source=found["source"], target=found["target"], links=links)
