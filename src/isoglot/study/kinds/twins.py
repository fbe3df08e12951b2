"""Steps of studies on English and its twins: text, and retrieval of twins over training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.study.demo.twin_pairs import TwinLanguage, TwinProbe, pair_documents
from isoglot.study.factorial.design import CODES, cell_pairs, topic_draws
from isoglot.study.factorial.outcomes import DEV_P1, TEST_P1
from isoglot.study.kinds.pretrain import ENCODER, MOMENTS
from isoglot.study.kinds.text import TEXT
from isoglot.study.numbers import Number

if TYPE_CHECKING:
    from isoglot.study.steps import Work


def write_text(work: Work) -> list[Number]:
    """Write the text of English, or of a twin, in a block of the factorial study.

    Settings: ``language``, ``seed``, ``sentences``; for the twin ``order``, ``anchors`` (a share) and ``domain``.
    """
    from isoglot.languages.builtin import builtin_provenance
    from isoglot.text.formats.plain import write_documents

    settings = work.settings
    side, seed = CODES.index(settings["language"]), settings["seed"]
    topics = topic_draws(settings.get("domain", "same"), seed)
    text = pair_documents(_language(work), settings["sentences"], seed=seed, topics=topics)[side]
    write_documents(work.folder / TEXT, text, provenance=builtin_provenance(TEXT, "en", 2 * seed + side))
    return [Number("text_bytes", (work.folder / TEXT).stat().st_size, {"language": settings["language"]})]


def retrieve(work: Work) -> list[Number]:
    """Retrieve the twin of every held-out sentence, in every layer, before training and at every moment of it.

    Settings: ``order``, ``anchors``, ``seed``; ``count`` of test pairs, and of as many to choose the layer by;
    ``tokens_per_step``; inputs ``encoder`` with its moments, and ``untrained``.
    """
    from isoglot.model import load_encoder

    choose, test = cell_pairs(_language(work), work.settings["seed"], work.settings["count"])
    probes = {TEST_P1: TwinProbe(CODES, test), DEV_P1: TwinProbe(CODES, choose)}
    moments = sorted((work.inputs["encoder"] / MOMENTS).iterdir())
    encoders = {0: work.inputs["untrained"] / ENCODER} | {int(folder.name): folder for folder in moments}
    with work.progress.task("twins", total=len(encoders), unit="moments") as task:
        for step, folder in encoders.items():
            encoder = load_encoder(folder, device=work.device)
            for probe in probes.values():
                probe(encoder, step)
            task.advance()
    return [
        Number(measure, value, {"layer": layer, "tokens": step * work.settings["tokens_per_step"]})
        for measure, probe in probes.items()
        for step, values in probe.moments.items()
        for layer, value in enumerate(values)
    ]


def _language(work: Work) -> TwinLanguage:
    settings = work.settings
    return TwinLanguage(
        order=settings.get("order", "same"), anchors=settings.get("anchors", 0.0), seed=settings["seed"]
    )
