"""Step that fine-tunes an encoder on a task in one language and tests it in others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from isoglot.study.kinds.step_inputs import open_step_encoder
from isoglot.study.numbers import Number, ratio_number, resampled_ratios

if TYPE_CHECKING:
    from isoglot.study.steps import Work
    from isoglot.transfer.experiment import Outcome

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
