"""Step that fine-tunes an encoder on a task in one language and tests it in others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from isoglot.study.kinds.opened import open_step_encoder
from isoglot.study.numbers import RESAMPLES, Number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from isoglot.study.steps import Work

MEASURES = {"nli": "nli", "ner": "ner", "parse": "parsing", "pos": "pos", "topic": "topic"}
"""Measure of each task's score."""
_WAYS = {"source dev": "", "oracle": "_oracle", "averaged": "_averaged"}


def fine_tune(work: Work) -> list[Number]:
    """Fine-tune and test.

    Settings: ``task``; ``config``, the values of :class:`TuneConfig` that are not the default; ``source`` and
    ``targets``, languages; ``examples``, the most training examples; ``test_examples``, the most of each test;
    ``builtin``: built-in examples instead of files, how many to train on and to test on; inputs ``encoder``,
    ``train.LANG``, ``dev.LANG``, ``test.LANG``.
    """
    from isoglot.core.config import build_config
    from isoglot.transfer import TuneConfig, find_task
    from isoglot.transfer.experiment import run_experiment

    settings = work.settings
    task = find_task(settings["task"])
    config = build_config(TuneConfig, values=dict(settings["config"]))
    encoder = open_step_encoder(work)
    out = work.scratch / "run"
    done = run_experiment(
        encoder,
        task,
        *examples(work, task),
        config,
        out,
        resume=out.exists(),
        allow_leak=True,
        progress=work.progress,
        say=work.say,
    )
    measure, found = MEASURES.get(task.name, task.name), []
    for line in done.lines:
        chosen = [
            one for trial in done.trials for one in trial.tests if (one.language, one.way) == (line.language, line.way)
        ]
        counts_SN2 = [one.test.scores.ratio_S2 for one in chosen]
        items = done.tests[line.language]
        found.append(
            Number(
                f"{measure}{_WAYS[line.way]}",
                line.estimate.value,
                {"language": line.language},
                resampled_ratios(counts_SN2, items),
                items,
            )
        )
    found.append(Number(f"{measure}_dev", done.learned.score, {"language": done.learned.language}))
    found.append(Number(f"{measure}_learned", float(not done.learned.nothing), {"language": done.learned.language}))
    return found


def examples(work: Work, task: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:  # noqa: ANN401 - any task
    """Examples to train on, to choose by and to test on, by language."""
    return _builtin(work, task) if "builtin" in work.settings else _files(work, task)


def _files(work: Work, task: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:  # noqa: ANN401 - any task
    """The examples of the user's files; read once for all steps of a worker."""
    most = {"train": work.settings.get("examples"), "dev": None, "test": work.settings.get("test_examples")}
    found: dict[str, dict[str, Any]] = {"train": {}, "dev": {}, "test": {}}
    for split, limit in most.items():
        for code, path in work.named(split):
            read = partial(task.read, path, code)
            data = work.cached(("examples", task.name, str(path), code), read)
            found[split][code] = data if limit is None else data.head(limit)
    return found["train"], found["dev"], found["test"]


def _builtin(work: Work, task: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:  # noqa: ANN401 - any task
    source, targets, sizes = work.settings["source"], work.settings["targets"], work.settings["builtin"]
    spaced = any("-x-" in code for code in (source, *targets))
    tests = dict.fromkeys([source, *targets])
    return (
        {source: task.builtin(source, "train", sizes["train"], spaced=spaced)},
        {source: task.builtin(source, "dev", sizes["test"], spaced=spaced)},
        {code: task.builtin(code, "test", sizes["test"], spaced=spaced) for code in tests},
    )


def resampled_ratios(counts_SN2: Sequence[np.ndarray], items: str) -> tuple[float, ...]:
    """The score (100 times a ratio of sums) in bootstrap resamples of the sentences, averaged over models.

    Resamples depend on the test set alone, so that two systems are resampled alike.
    """
    import numpy as np

    from isoglot.core.seeds import random_stream
    from isoglot.retrieve.metrics import drawn_counts

    drawn_RN = drawn_counts(len(counts_SN2[0]), RESAMPLES, random_stream(0, "resamples", items))
    sums = [drawn_RN @ counts_N2 for counts_N2 in counts_SN2]
    ratios = [100 * sum_R2[:, 0] / np.maximum(sum_R2[:, 1], 1e-12) for sum_R2 in sums]
    return tuple(np.mean(ratios, axis=0).tolist())
