"""Step that pretrains an encoder."""

from __future__ import annotations

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

ENCODER, MOMENTS = "encoder", "moments"

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
    import shutil

    from isoglot.core.config import build_config
    from isoglot.core.devices import choose_device
    from isoglot.model.load import BEST, LAST
    from isoglot.pretrain.settings import PretrainConfig
    from isoglot.pretrain.train import pretrain
    from isoglot.text.dictionary import read_dictionary
    from isoglot.vocab import Shards, Vocabulary

    execution = dict(work.execution)
    if execution.get("compile") == "auto":  # which takes a minute and pays where there is much to compute
        execution["compile"] = "on" if choose_device(work.device).type == "cuda" else "off"
    config = build_config(PretrainConfig, values={**work.settings["config"], **execution})
    run = work.scratch / "run"
    probes = [Keeper(run / MOMENTS)] if work.settings.get("moments") else []
    dictionaries = {}
    for pair, path in work.named("dictionary"):
        source, target = pair.split("-")
        dictionaries[source, target] = list(read_dictionary(path / DICTIONARY if path.is_dir() else path))
    shards = {code: Shards.open(path / SHARDS, check="sizes") for code, path in work.named("shards")}
    done = pretrain(
        config,
        shards,
        Vocabulary.load(work.inputs["vocabulary"] / VOCABULARY),
        run,
        device=work.device,
        dictionaries=dictionaries,
        probes=probes,
        resume=(run / "run.json").exists(),
        stop_after=None if work.deadline is None else max(0.0, work.deadline - time.monotonic()),
        command="isoglot study",
        progress=work.progress,
        say=work.say,
    )
    if not done.finished:
        raise Paused
    folder = run / BEST if (run / BEST).exists() else run / LAST
    shutil.move(folder, work.folder / ENCODER)
    if probes and (run / MOMENTS).exists():
        shutil.move(run / MOMENTS, work.folder / MOMENTS)
    return _numbers(done.position.dev, done.position.tokens, done.position.step)


def _numbers(perplexity: Mapping[str, float], tokens: int, steps: int) -> list[Number]:
    return [
        Number("training_tokens", tokens),
        Number("training_steps", steps),
        *(Number("perplexity", value, {"language": code}) for code, value in perplexity.items()),
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
