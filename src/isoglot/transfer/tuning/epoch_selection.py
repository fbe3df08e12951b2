"""Which epoch's weights to test, in three ways side by side.

The dev set of the training language is a poor judge for other languages (Keung et al. 2020), so its choice stands
beside that of each test language's own dev set, which is an oracle and not zero-shot, and beside the mean of the
weights of the best few epochs, which needs no choice.
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
"""By dev of the language that was trained on (zero-shot), by dev of the test language itself (not zero-shot), or the
mean of the best few epochs' weights."""
AVERAGED = 3
"""How many epochs are averaged, at most; those best on dev of the training language."""


@dataclass(frozen=True)
class Selected:
    """The test of one language with the weights that one way chose."""

    language: str
    way: SelectionRule
    epochs: tuple[int, ...]
    test: Evaluation

    def facts(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"way": self.way, "epochs": list(self.epochs), **self.test.facts()}


def select(tuned: Tuned, test: Mapping[str, Data[Any]], *, progress: Progress = SILENT) -> list[Selected]:
    """Test every language with the weights of each way; afterwards the model is as it was.

    The oracle goes by the dev scores that the run has noted down epoch by epoch: there is none for a language whose dev
    set the run did not have, nor for one that was trained on.

    Args:
        tuned: With the weights of its best epochs.
        test: Of each test language.
        progress: Shows how far it is.

    Raises:
        ConfigError: The encoder does not have a language.
        InputError: A label in a test set that training does not have, and the task refuses.
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
