"""Step that pretrains an encoder: in this process, or by several that train as one, each on a GPU (``torchrun``)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import IsoglotError
from isoglot.core.files import read_json, write_json, write_text
from isoglot.study.engines import child_environment, end_with_parent
from isoglot.study.kinds.step_inputs import read_entries
from isoglot.study.kinds.text import SHARDS, VOCABULARY
from isoglot.study.numbers import Number
from isoglot.study.steps import Paused, Work

if TYPE_CHECKING:
    from isoglot.model.encoder import Encoder
    from isoglot.pretrain.config import PretrainConfig

_REQUEST, _OUTCOME, _FIRST = "torchrun.json", "outcome.json", "first-process"
_NEVER = 1e9  # seconds: a deadline, without which the ranks would not agree on when to stop


def train_with_torchrun(work: Work) -> dict[str, Any]:
    """Pretrain as :func:`train_here` does, with ``work.processes`` processes.

    An interrupt is passed on to rank 0, and all ranks write a checkpoint after the same step and stop.

    Raises:
        IsoglotError: The run failed; the message is that of the process that failed.
    """
    outcome, first = work.scratch / _OUTCOME, work.scratch / _FIRST
    for path in (outcome, first):
        path.unlink(missing_ok=True)
    request = {
        "settings": dict(work.settings),
        "execution": dict(work.execution),
        "inputs": {name: str(path) for name, path in work.inputs.items()},
        "folder": str(work.folder),
        "scratch": str(work.scratch),
        "device": work.device,
        "processes": work.processes,
        "seconds": _NEVER if work.deadline is None else max(0.0, work.deadline - time.monotonic()),
    }
    write_json(work.scratch / _REQUEST, request)
    command = [sys.executable, "-m", __name__, str(work.scratch / _REQUEST)]
    process = subprocess.Popen(command, env=child_environment(), stdin=subprocess.DEVNULL)  # noqa: S603 - ourselves
    try:
        status = _wait(process, first)
    except BaseException:
        process.terminate()  # which ends the others
        process.wait()
        raise
    found = read_json(outcome) if outcome.exists() else {}
    if "error" in found:
        raise IsoglotError(found["error"], remedy="see the log of the worker")
    if status or not found:
        raise RuntimeError(f"torchrun ended with status {status}")
    return dict(found)


def _wait(process: subprocess.Popen[bytes], first: Path) -> int:
    """Wait for the processes; the first interrupt lets them stop cleanly, if they have begun to train."""
    try:
        return process.wait()
    except KeyboardInterrupt:
        if not first.exists():
            raise
        with suppress(ProcessLookupError, ValueError):
            os.kill(int(first.read_text(encoding="ascii")), signal.SIGINT)
        if process.wait():
            raise
        return 0


def _launch(request: str) -> None:
    """Start the ranks with ``torchrun`` and wait for them."""
    from torch.distributed.run import main

    os.environ.update(child_environment())  # for the processes to know their parent
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    processes = read_json(request)["processes"]
    main(["--standalone", "--nproc-per-node", str(processes), "-m", __spec__.name, request])


def _train(request: str) -> None:
    """Train as one of the ranks; rank 0 writes the outcome."""
    from isoglot.core.progress import SILENT

    asked = read_json(request)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has the processes in its background ignore it
    if os.environ["RANK"] == "0":
        write_text(Path(asked["scratch"]) / _FIRST, str(os.getpid()))
    work = Work(
        settings=asked["settings"],
        execution=asked["execution"],
        inputs={name: Path(path) for name, path in asked["inputs"].items()},
        folder=Path(asked["folder"]),
        scratch=Path(asked["scratch"]),
        device=asked["device"],
        deadline=time.monotonic() + asked["seconds"],
        progress=SILENT,
        say=lambda text: print(text, file=sys.stderr),  # noqa: T201 - the log of the worker
        cache={},
    )
    try:
        outcome = train_here(work)
    except IsoglotError as error:
        write_json(work.scratch / _OUTCOME, {"error": str(error)})
        raise SystemExit(2) from error
    if os.environ["RANK"] == "0":
        write_json(work.scratch / _OUTCOME, outcome)


ENCODER, MOMENTS, RUN = "encoder", "moments", "run"

EXECUTION = ("log", "checkpoints", "compile")
"""Tables of :class:`PretrainConfig` that do not change what is trained; they are no part of a step's key."""


def training_settings(config: PretrainConfig) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a config into settings of a step and its execution options.

    Default values are left out, so that a later version with more settings finds the same key.
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

    done = train_with_torchrun(work) if work.processes > 1 else train_here(work)
    if not done["finished"]:
        late = work.deadline is not None and time.monotonic() >= work.deadline
        raise Paused(turn="slice" in work.execution and not late)
    run = work.scratch / RUN
    # Linked, never moved: if the process is killed before the payload is in its place, the next attempt finds the run
    # as it was.
    best = run / BEST if done["best_step"] is None else _moment(run / MOMENTS, done["best_step"])
    link_folder(best if best.exists() else run / LAST, work.folder / ENCODER)
    if (run / MOMENTS).exists():
        link_folder(run / MOMENTS, work.folder / MOMENTS)
    return [
        Number("training_tokens", done["tokens"]),
        Number("training_steps", done["steps"]),
        *(Number("perplexity", value, {"language": code}) for code, value in done["perplexity"].items()),
        *_curve(run, done["tokens"], done["steps"]),
    ]


def train_here(work: Work) -> dict[str, Any]:
    """Train in this process, alone or as a rank of ``torchrun``; returns the outcome."""
    from isoglot.core.config import build_config
    from isoglot.core.devices import choose_device
    from isoglot.pretrain.config import PretrainConfig
    from isoglot.pretrain.train import Stop, pretrain
    from isoglot.vocab import Shards, Vocabulary

    execution = dict(work.execution)
    if execution.get("compile") == "auto":  # compilation takes a minute, which pays off on a GPU
        execution["compile"] = "on" if choose_device(work.device).type == "cuda" else "off"
    steps, run = execution.pop("slice", None), work.scratch / RUN
    begun = work.cached(("steps", str(run)), lambda: 0)
    values = {**work.settings["config"], **execution}
    moments = bool(work.settings.get("moments"))
    if moments:  # the best encoder is one of them and need not be written twice
        values["evaluation"] = {**values.get("evaluation", {}), "best": "counted"}
    config = build_config(PretrainConfig, values=values)
    dictionaries = {}
    for pair, path in work.named("dictionary"):
        source, target = pair.split("-")
        dictionaries[source, target] = read_entries(path)
    seconds = None if work.deadline is None else max(0.0, work.deadline - time.monotonic())
    done = pretrain(
        config,
        {code: Shards.open(path / SHARDS, check="sizes") for code, path in work.named("shards")},
        Vocabulary.load(work.inputs["vocabulary"] / VOCABULARY),
        run,
        device=work.device,
        dictionaries=dictionaries,
        probes=[EncoderKeeper(run / MOMENTS, config)] if moments else [],
        resume=(run / "run.json").exists(),
        stop=Stop(seconds, None if steps is None else begun + steps),
        progress=work.progress,
        say=work.say,
    )
    at = done.position
    work.cache["steps", str(run)] = at.step
    return {
        "finished": done.finished,
        "perplexity": dict(at.dev),
        "tokens": at.tokens,
        "steps": at.step,
        "best_step": at.best_step if moments else None,
    }


def _curve(run: Path, tokens: int, steps: int) -> list[Number]:
    """Dev perplexity at every evaluation."""
    from isoglot.pretrain.metrics_log import METRICS
    from isoglot.text.formats.lines import read_lines

    lines = [json.loads(line) for _, line in read_lines(run / METRICS)] if steps else []
    return [
        Number("perplexity_over_training", value, {"language": code, "tokens": line["step"] * tokens // steps})
        for line in lines
        if line["kind"] == "dev"
        for code, value in line["perplexity"].items()
    ]


class EncoderKeeper:
    """Probe that saves the encoder to a folder of its own at every evaluation.

    Args:
        folder: Parent of these folders, which are named by step.
        config: Settings of the run.
    """

    def __init__(self, folder: Path, config: PretrainConfig) -> None:
        self.folder, self.config = folder, config.model_dump(mode="json")

    def __call__(self, encoder: Encoder, step: int) -> dict[str, float]:
        """Write the encoder."""
        from isoglot.core.folders import replace_folder
        from isoglot.model.folder import save_encoder

        about = {"config": self.config, "step": step}
        replace_folder(_moment(self.folder, step), lambda folder: save_encoder(encoder, folder, about=about))
        return {}


def _moment(folder: Path, step: int) -> Path:
    return folder / f"{step:08d}"


if __name__ == "__main__":
    end_with_parent()
    (_train if "TORCHELASTIC_RUN_ID" in os.environ else _launch)(sys.argv[1])
