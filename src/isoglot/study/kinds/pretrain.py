"""Step that pretrains an encoder."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from isoglot.study.kinds.text import DICTIONARY
from isoglot.study.kinds.vocabulary import SHARDS, VOCABULARY
from isoglot.study.numbers import Number
from isoglot.study.steps import Paused

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from isoglot.model.encoder import Encoder
    from isoglot.pretrain.settings import PretrainConfig
    from isoglot.study.steps import Work

ENCODER, MOMENTS, RUN = "encoder", "moments", "run"

EXECUTION = ("log", "checkpoints", "compile")
"""Tables of :class:`PretrainConfig` that do not change what is trained; they are no part of a step's key."""


def training_settings(config: PretrainConfig) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a config asks for, as settings of a step and as its execution.

    Values that are the default are left out, so that a later version with more knobs finds the same key.
    """
    values = config.model_dump(mode="json", exclude_defaults=True)
    execution = {name: values.pop(name) for name in EXECUTION if name in values}
    return values, execution


def train(work: Work) -> list[Number]:
    """Pretrain an encoder.

    Settings: ``config``, the values of :class:`PretrainConfig` that are not the default; ``moments``: whether the
    encoder is kept at every evaluation, for curves over training; inputs ``vocabulary``, ``shards.LANG``,
    ``dictionary.SOURCE-TARGET``.
    """
    from isoglot.core.folders import link_folder
    from isoglot.model.load import BEST, LAST
    from isoglot.study.kinds.torchrun import train_with_torchrun

    done = train_with_torchrun(work) if work.processes > 1 else train_here(work)
    if not done["finished"]:
        raise Paused
    run = work.scratch / RUN
    # Linked, never moved: if the process is killed before the payload is in its place, the next attempt finds the run
    # as it was.
    link_folder(run / BEST if (run / BEST).exists() else run / LAST, work.folder / ENCODER)
    if (run / MOMENTS).exists():
        link_folder(run / MOMENTS, work.folder / MOMENTS)
    return [
        *_numbers(done["perplexity"], done["tokens"], done["steps"]),
        *_curve(run, done["tokens"], done["steps"]),
    ]


def train_here(work: Work) -> dict[str, Any]:
    """Train in this process, alone or as one of several that ``torchrun`` started; returns what came out."""
    from isoglot.core.config import build_config
    from isoglot.core.devices import choose_device
    from isoglot.pretrain.settings import PretrainConfig
    from isoglot.pretrain.train import pretrain
    from isoglot.text.dictionary import read_dictionary
    from isoglot.vocab import Shards, Vocabulary

    execution = dict(work.execution)
    if execution.get("compile") == "auto":  # which takes a minute and pays where there is much to compute
        execution["compile"] = "on" if choose_device(work.device).type == "cuda" else "off"
    config = build_config(PretrainConfig, values={**work.settings["config"], **execution})
    run = work.scratch / RUN
    dictionaries = {}
    for pair, path in work.named("dictionary"):
        source, target = pair.split("-")
        dictionaries[source, target] = list(read_dictionary(path / DICTIONARY if path.is_dir() else path))
    done = pretrain(
        config,
        {code: Shards.open(path / SHARDS, check="sizes") for code, path in work.named("shards")},
        Vocabulary.load(work.inputs["vocabulary"] / VOCABULARY),
        run,
        device=work.device,
        dictionaries=dictionaries,
        probes=[Keeper(run / MOMENTS)] if work.settings.get("moments") else [],
        resume=(run / "run.json").exists(),
        stop_after=None if work.deadline is None else max(0.0, work.deadline - time.monotonic()),
        command="isoglot study",
        progress=work.progress,
        say=work.say,
    )
    at = done.position
    return {"finished": done.finished, "perplexity": dict(at.dev), "tokens": at.tokens, "steps": at.step}


def _numbers(perplexity: Mapping[str, float], tokens: int, steps: int) -> list[Number]:
    return [
        Number("training_tokens", tokens),
        Number("training_steps", steps),
        *(Number("perplexity", value, {"language": code}) for code, value in perplexity.items()),
    ]


def _curve(run: Path, tokens: int, steps: int) -> list[Number]:
    """Dev perplexity at every evaluation."""
    from isoglot.pretrain.log import METRICS
    from isoglot.text.lines import read_lines

    lines = [json.loads(line) for _, line in read_lines(run / METRICS)] if steps else []
    return [
        Number("perplexity_over_training", value, {"language": code, "tokens": line["step"] * tokens // steps})
        for line in lines
        if line["kind"] == "dev"
        for code, value in line["perplexity"].items()
    ]


class Keeper:
    """A probe that writes the encoder to a folder of its own at every evaluation.

    Args:
        folder: Where the folders go, named by step.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, encoder: Encoder, step: int) -> dict[str, float]:
        """Write the encoder."""
        from isoglot.core.folders import replace_folder
        from isoglot.model.folder import save_encoder

        replace_folder(self.folder / f"{step:08d}", lambda folder: save_encoder(encoder, folder, about={"step": step}))
        return {}
