"""How soon ``modern`` is where ``paper`` is after its time: dev loss against the clock, in the same run.

Both are base (8 layers x 768), compiled, on the same shards and vocabulary, with rows of 256 tokens; a warm-up of 10 %
of the budget; dev losses are of the same rows and the same positions (15 %), whatever is masked in training. ``paper``
gets the best of three learning rates. Each run is compiled before its clock starts. At the end of each: P@1 of parallel
sentences (their means removed, each layer), for a better loss should be a better space.

    python benchmarks/quality_for_time.py VOCABULARY SHARDS-EN SHARDS-DE PARALLEL-EN PARALLEL-DE OUT [RUN...]

RUN is paper:RATE:SECONDS or modern:SECONDS, with settings after commas (modern:180,optimizer.kind=adamw); left out:
the three rates of ``paper`` for 360 s and ``modern`` for 180 s. OUT gets a line of JSON for each run when it ends;
those that are in it are not run again. The curves are drawn beside it, as .svg.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoglot.core.config import build_config
from isoglot.pretrain import PretrainConfig, pretrain
from isoglot.pretrain.metrics_log import read_metrics
from isoglot.report.figures import Line, lines
from isoglot.report.rendering import rendered
from isoglot.represent import extract
from isoglot.vocab import Shards, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoglot.model import Encoder

COMMON = """model.size=base compile=on batch.size=256 batch.sequence_length=256 schedule.warmup=0.1
evaluation.masking_rate=0.15 evaluation.sequences=512 log.every=50 log.peak=off
checkpoints.every=1000000 evaluation.best=counted"""
PRESETS = {
    "paper": "model.preset=paper optimizer.kind=adam schedule.kind=inverse-sqrt",
    "modern": """model.preset=modern optimizer.kind=muon optimizer.learning_rate=1e-3
        optimizer.matrix_learning_rate=2e-3 optimizer.weight_decay=0.1 optimizer.betas=[0.9,0.98]
        schedule.kind=trapezoid schedule.cooldown=0.4
        masking.rate=0.25""",
}
RUNS = ("paper:1e-4:360", "paper:2e-4:360", "paper:4e-4:360", "modern:180")
EVERY = 100
"""Steps between two measurements of the dev loss."""


def config_of(run: str) -> PretrainConfig:
    name, *settings = run.split(",")
    preset, *rest = name.split(":")
    rate = [f"optimizer.learning_rate={rest[0]}"] if preset == "paper" else []
    values = [*COMMON.split(), *PRESETS[preset].split(), *rate, f"budget={rest[-1]}s", f"evaluation.every={EVERY}"]
    return build_config(PretrainConfig, settings=[*values, *settings])


def mean_loss(perplexities: dict[str, float]) -> float:
    return float(np.mean([math.log(value) for value in perplexities.values()]))


def retrieved(encoder: Encoder, parallel: dict[str, list[str]]) -> list[float]:
    """P@1 in % of each layer, both directions averaged, the mean of each language removed."""
    X, Y = (
        extract(encoder, lines, language=code, layers="all", precision="bfloat16") for code, lines in parallel.items()
    )
    found = []
    for layer in range(encoder.depth + 1):
        a, b = (np.asarray(z[layer], dtype=np.float32) for z in (X, Y))
        a, b = (z - z.mean(0) for z in (a, b))
        a, b = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (a, b))
        scores = a @ b.T
        right = np.arange(len(a))
        found.append(50 * float((scores.argmax(1) == right).mean() + (scores.argmax(0) == right).mean()))
    return found


def measured(
    run: str, vocabulary: Vocabulary, shards: dict[str, Shards], parallel: dict[str, list[str]]
) -> dict[str, Any]:
    from isoglot.model import load_encoder

    config = config_of(run)
    with tempfile.TemporaryDirectory() as name:
        brief = config.model_copy(update={"budget": "20steps"})  # every size of a batch that grows is among them
        pretrain(brief, shards, vocabulary, Path(name) / "warm", device="auto")
        started = time.perf_counter()
        done = pretrain(config, shards, vocabulary, Path(name) / "run", device="auto")
        lines = read_metrics(Path(name) / "run")
        trained = [line for line in lines if line["kind"] == "train"]
        seconds = {line["step"]: line["seconds"] for line in trained} | {done.position.step: done.position.seconds}
        curve = [
            (round(seconds[line["step"]], 1), round(mean_loss(line["perplexity"]), 4))
            for line in lines
            if line["kind"] == "dev" and line["step"] in seconds
        ]
        encoder: Any = load_encoder(Path(name) / "run", device="auto")
        return {
            "run": run,
            "wall": round(time.perf_counter() - started, 1),
            "tokens": trained[-1]["tokens"],
            "tokens_per_second": float(np.median([line["tokens_per_second"][0] for line in trained])),
            "curve": curve,
            "p_at_1": [round(value, 1) for value in retrieved(encoder, parallel)],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("vocabulary", "english", "german", "parallel_english", "parallel_german", "out"):
        parser.add_argument(name)
    parser.add_argument("runs", nargs="*", default=RUNS)
    options = parser.parse_args()
    shards = {"en": Shards.open(options.english), "de": Shards.open(options.german)}
    out, sides = Path(options.out), {"en": options.parallel_english, "de": options.parallel_german}
    parallel = {code: Path(path).read_text(encoding="utf-8").splitlines() for code, path in sides.items()}
    earlier = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
    found = [json.loads(line) for line in earlier]
    for run in options.runs:
        if run in (one["run"] for one in found):
            continue
        found.append(measured(run, Vocabulary.load(options.vocabulary), shards, parallel))
        last = found[-1]
        print(
            f"{run}: dev loss {last['curve'][-1][1]:.4f} after {last['curve'][-1][0]:.0f} s, "
            f"{last['tokens'] / 1e6:.0f}M tokens, P@1 {max(last['p_at_1']):.1f} %",
            flush=True,
        )
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(last) + "\n")
    print(*compared(found), sep="\n")
    out.with_suffix(".svg").write_text(drawn(found), encoding="utf-8")


def compared(found: Sequence[dict[str, Any]]) -> list[str]:
    """When each run of ``modern`` has the last loss of the best run of ``paper``."""
    papers = [one for one in found if one["run"].startswith("paper")]
    if not papers:
        return []
    best = min(papers, key=lambda one: one["curve"][-1][1])
    seconds, loss = best["curve"][-1]
    what, said = f"that {named(best['run'])} has after {seconds:.0f} s", []
    for one in found:
        if one["run"].startswith("modern"):
            there = next((at for at, value in one["curve"] if value <= loss), None)
            when = "does not reach" if there is None else f"has after {there:.0f} s"
            said.append(f"{named(one['run'])} {when} the dev loss, {loss:.2f}, {what}")
    return said


def drawn(found: Sequence[dict[str, Any]]) -> str:
    """Dev loss against seconds, a line for each run, with its P@1 at the end."""
    drawn = [
        Line(name=f"{named(one['run'])}: P@1 {max(one['p_at_1']):.1f} %", points=[tuple(at) for at in one["curve"]])
        for one in found
    ]
    title = next(iter(compared(found)), "Dev loss against the clock")
    note = "P@1: translations found among parallel sentences at the end, each language's mean removed, best layer"
    figure = lines(drawn, name="time", title=title, caption=note, x="seconds of training", y="dev loss (15 % masked)")
    return rendered(figure.titled(), "svg").decode()


def named(run: str) -> str:
    """A run without what only has to do with measuring it.

    >>> named("paper:2e-4:360,evaluation.every=500"), named("modern:45,batch.ramp=0.3")
    ('paper, rate 2e-4', 'modern, batch.ramp=0.3')
    """
    name, *settings = run.split(",")
    preset, *rest = name.split(":")
    rate = [f"rate {rest[0]}"] if preset == "paper" else []
    return ", ".join([preset, *rate, *(each for each in settings if not each.startswith("evaluation."))])


if __name__ == "__main__":
    main()
