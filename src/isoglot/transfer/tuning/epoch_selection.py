"""Epoch selection by three rules.

The dev set of the training language is a poor guide for other languages (Keung et al. 2020), so its choice is reported
with that of each test language's own dev set (an oracle, not zero-shot) and with the mean of the weights of the best
epochs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.language_codes import language_code
from isoglot.core.progress import SILENT, Progress
from isoglot.transfer.scoring.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.transfer.scoring.evaluation import Evaluation
    from isoglot.transfer.tasks.examples import Data
    from isoglot.transfer.tuning.tuned_encoder import Tuned

SelectionRule = Literal["source dev", "oracle", "averaged"]
"""Dev set of the training language (zero-shot), dev set of the test language (not zero-shot), or mean weights of the
best epochs."""
AVERAGED = 3
"""Maximum number of averaged epochs, the best by dev score of the training language."""


@dataclass(frozen=True)
class Selected:
    """Test of one language with the weights of one selection rule."""

    language: str
    way: SelectionRule
    epochs: tuple[int, ...]
    test: Evaluation

    def facts(self) -> dict[str, Any]:
        """As a JSON object."""
        return {"way": self.way, "epochs": list(self.epochs), **self.test.facts()}


def select(tuned: Tuned, test: Mapping[str, Data[Any]], *, progress: Progress = SILENT) -> list[Selected]:
    """Test every language by each selection rule; the weights of the model are restored afterwards.

    The oracle uses the dev scores recorded in each epoch; it is missing for languages without a dev set and for
    training languages.

    Args:
        tuned: Fine-tuned model with the weights of its best epochs.
        test: Test data by language.
        progress: Reports progress.

    Raises:
        ConfigError: The encoder lacks a language.
        InputError: A test label is not in training and the task refuses it.
    """
    test = {language_code(code): data for code, data in test.items()}
    main = tuned.languages[0]
    order = sorted(tuned.history, key=lambda entry: -entry["dev"][main])
    kept = set(tuned.epochs.numbers())
    ranked = [entry["epoch"] for entry in order if entry["epoch"] in kept] or [tuned.epoch]
    noted = {entry["epoch"]: entry["dev"] for entry in tuned.history}
    others = [code for code in noted[tuned.epoch] if code in test and code not in tuned.languages]
    oracle = {code: max(ranked, key=lambda epoch: noted[epoch][code]) for code in others}
    before = tuned.weights()
    found: list[Selected] = []
    by_epoch = {
        epoch: {code: data for code, data in test.items() if epoch in (tuned.epoch, oracle.get(code))}
        for epoch in sorted({tuned.epoch, *oracle.values()})
    }
    best = ranked[:AVERAGED] if len(ranked) > 1 else []
    total = sum(len(data) for some in (*by_epoch.values(), *[test] * bool(best)) for data in some.values())
    with progress.task(f"test {tuned.task.name}", total=total, unit="examples") as work:

        def tested(some: Mapping[str, Data[Any]]) -> dict[str, Evaluation]:
            results = evaluate(tuned, tuned.task, some)
            work.advance(sum(map(len, some.values())))
            return results

        try:
            for epoch, wanted in by_epoch.items():
                tuned.load(tuned.epochs.get(epoch) if epoch in kept else before)
                for code, result in tested(wanted).items():
                    if epoch == tuned.epoch:
                        found.append(Selected(code, "source dev", (epoch,), result))
                    if epoch == oracle.get(code):
                        found.append(Selected(code, "oracle", (epoch,), result))
            if best:
                tuned.load(tuned.epochs.mean(best))
                found += [Selected(code, "averaged", tuple(best), result) for code, result in tested(test).items()]
        finally:
            tuned.load(before)
    places = {code: number for number, code in enumerate(test)}
    ways = ("source dev", "oracle", "averaged")
    return sorted(found, key=lambda one: (places[one.language], ways.index(one.way)))
