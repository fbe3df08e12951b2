"""Steps that read an encoder by layers trained on another one, through a map (Wu et al. 2020, Figure 5).

In the order in which they are run: sentences are word-aligned, a map is fitted in every layer of two encoders, and a
task is learned on the frozen layers of the first and tested through the maps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoglot.core.errors import InputError
from isoglot.study.kinds.step_inputs import open_both, open_step_encoder, step_languages
from isoglot.study.kinds.transfer import MEASURES, examples
from isoglot.study.numbers import Number, resampled_ratios, share_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoglot.align import Bitext
    from isoglot.study.numbers import Coordinate
    from isoglot.study.steps import Work
    from isoglot.transfer.map_protocol import MapTransfer

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
