"""Steps of few shapes, played back on a GPU: the same losses and gradients, and chance that is drawn anew."""

from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import torch

from isoglot.core.config import build_config
from isoglot.core.progress import SILENT
from isoglot.transfer import TuneConfig, find_task
from isoglot.transfer.tuning.batches import Shape
from isoglot.transfer.tuning.cuda_graphs import Shapes, StepGraphs
from isoglot.transfer.tuning.fine_tuning import TaskTrainer, set_seed
from tests.errors import raises

if TYPE_CHECKING:
    from collections.abc import Callable

FAST = [
    "epochs=2",
    "batch_size=9",
    "encoder_learning_rate=1e-3",
    "head.dropout=0",
    "head.mlp_dropout=0",
    "head.arc_size=16",
]
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def config(*given: str) -> TuneConfig:
    return build_config(TuneConfig, settings=[*FAST, *given])


def trainer(encoder, name: str, *given: str, codes: tuple[str, ...] = ("en",)) -> TaskTrainer:
    task = find_task(name)
    train, dev = (
        dict.fromkeys(codes, found) for found in (task.builtin("en", "train", 40), task.builtin("en", "dev", 10))
    )
    return TaskTrainer(encoder, task, train, dev, config(*given), None, print)


def losses(run: TaskTrainer) -> list[float]:
    run.train(SILENT)
    return [entry["loss"] for entry in run.tuned.history]


@pytest.mark.parametrize(("name", "extra"), [("pos", []), ("parse", []), ("nli", ["head.pool=attention"])])
def test_few_shapes_have_the_same_losses(name, extra, nano):
    """40 rows in batches of 9: the last one is filled up with empty rows, which teach nothing."""
    encoder = nano(dropout=0.0)
    plain, few = (trainer(encoder, name, *extra) for _ in range(2))
    few.shapes = {code: Shapes(stored, rows=9, tokens=None, most=2) for code, stored in few.stored.items()}
    assert losses(few) == pytest.approx(losses(plain), rel=1e-4)


def test_nothing_is_recorded_without_a_gpu(nano):
    assert trainer(nano(), "pos").graphs is None


def test_chance_begins_anew():
    set_seed(torch.device("cpu"), 5)
    one = torch.rand(3)
    torch.manual_seed(5)
    torch.testing.assert_close(torch.rand(3), one)


class PlayedBack:
    """What stands in for a GPU's graph: it does again what was done, in the same places."""

    again: Callable[[], None]

    def replay(self) -> None:
        type(self).again()


@pytest.fixture
def without_gpu(monkeypatch):
    stream = SimpleNamespace(wait_stream=lambda other: None, device=torch.device("cpu"))
    for name, fake in {
        "Stream": lambda device: stream,
        "current_stream": lambda device: stream,
        "stream": lambda one: nullcontext(),
        "graph_pool_handle": lambda: None,
        "CUDAGraph": PlayedBack,
        "graph": lambda graph, pool, stream: nullcontext(),
    }.items():
        monkeypatch.setattr(torch.cuda, name, fake)


def test_what_is_played_back_lies_in_the_same_places(without_gpu):
    """Rows are written to where the recording reads them, gradients come out where they did, losses are the caller's."""
    weight, unreached = (torch.nn.Parameter(torch.tensor([2.0])) for _ in range(2))
    called: list[list[int]] = []

    def backward(rows_B: torch.Tensor, language: str, shape: Shape) -> torch.Tensor:
        called.append(rows_B.tolist())
        loss = (weight * rows_B).sum()
        loss.backward()
        return loss.detach()

    graphs, shape = StepGraphs([weight, unreached], torch.device("cpu")), Shape(2, 8, 8)

    def step(rows: list[int]) -> tuple[float, float, torch.Tensor]:
        weight.grad = None
        loss = graphs(backward, torch.tensor(rows), "en", shape)
        assert weight.grad is not None
        assert unreached.grad is None
        return float(loss), float(weight.grad), weight.grad

    assert step([1, 2])[:2] == (6.0, 3.0)  # plainly
    assert called == [[1, 2]]
    held = graphs.gradients[0]

    def again() -> None:
        recording = graphs.captured["en", shape]
        assert recording is not None
        assert held is not None
        if len(called) == 2:  # just recorded, from gradients of the step before
            assert float(held) == sum(called[-1])
        held.zero_()
        weight.grad = held
        recording.loss.copy_(backward(recording.rows_B, "en", shape))

    PlayedBack.again = staticmethod(again)
    for rows, expected in (([3, 4], (14.0, 7.0)), ([5, 6], (22.0, 11.0))):
        loss, gradient, place = step(rows)
        assert (loss, gradient) == expected
        assert place is held
    assert called[1:] == [[3, 4], [3, 4], [5, 6]]  # recorded once, played twice
    one = graphs(backward, torch.tensor([1, 1]), "en", shape)
    graphs(backward, torch.tensor([9, 9]), "en", shape)
    assert float(one) == 4.0


def test_languages_share_the_gradients_of_what_they_share(without_gpu):
    shared, own, other = (torch.nn.Parameter(torch.ones(1)) for _ in range(3))
    private = {"en": own, "de": other}

    def backward(rows_B: torch.Tensor, language: str, shape: Shape) -> torch.Tensor:
        loss = (shared * private[language] * rows_B).sum()
        loss.backward()
        return loss.detach()

    graphs, shape, parameters = (
        StepGraphs([shared, own, other], torch.device("cpu")),
        Shape(1, 8, 8),
        (shared, own, other),
    )
    PlayedBack.again = staticmethod(lambda: None)
    for _ in range(2):
        for language in ("en", "de"):
            for parameter in parameters:
                parameter.grad = None
            graphs(backward, torch.tensor([3.0]), language, shape)
            reached = [parameter.grad is not None for parameter in parameters]
            assert reached == [True, language == "en", language == "de"]
            assert shared.grad is not None
            assert float(shared.grad) == 3.0
    assert shared.grad is graphs.gradients[0]


def test_what_cannot_be_recorded_says_so(without_gpu):
    weight = torch.nn.Parameter(torch.ones(1))
    graphs, shape, called = StepGraphs([weight], torch.device("cpu")), Shape(1, 8, 8), []

    def backward(rows_B: torch.Tensor, language: str, shape: Shape) -> torch.Tensor:
        called.append(1)
        if len(called) == 2:
            raise RuntimeError("operation not permitted when stream is capturing\nand more")
        loss = (weight * rows_B).sum()
        loss.backward()
        return loss.detach()

    graphs(backward, torch.tensor([3.0]), "en", shape)
    with raises("config.not-supported"):
        graphs(backward, torch.tensor([3.0]), "en", shape)


def test_nothing_keeps_a_finished_run(nano):
    """An encoder, its optimizer and a GPU's captured steps are freed at once and not when chance has it."""
    found = trainer(nano(), "pos", "epochs=1")
    found.train(SILENT)
    found.finish()
    gone = weakref.ref(found)
    gc.disable()
    try:
        del found
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("name", "given", "plan"),
    [
        ("pos", [], "default"),
        ("pos", ["batch_tokens=64"], "default"),
        ("parse", ["tune=head"], "default"),
        ("parse", ["batch_tokens=50"], "emb"),
        ("nli", ["tune=top-1"], "default"),
        ("nli", ["tune=head", "head.pool=attention"], "default"),
        ("ner", ["freeze=1"], "1"),
    ],
)
def test_batches_that_are_filled_up_have_the_same_gradients(name, given, plan, nano):
    codes = ("en", "en-x-shift")
    run = trainer(nano(plan, dropout=0.0), name, *given, codes=codes)
    for code in codes:
        stored = run.stored[code]
        shapes = Shapes(stored, rows=9, tokens=run.config.batch_tokens, most=3)
        for numbers in ([0], [7, 3], [39, 12, 5]):
            few = shapes.of(numbers)
            if len(numbers) > few.rows:
                continue
            (loss, plain), (other, filled) = (
                gradients(run, numbers, code, shape) for shape in (stored.shape(numbers), few)
            )
            assert other == pytest.approx(loss, rel=1e-5)
            assert filled.keys() == plain.keys()
            for one in plain:
                torch.testing.assert_close(filled[one], plain[one], rtol=1e-3, atol=2e-6, msg=one)


def gradients(run: TaskTrainer, numbers: list[int], code: str, shape: Shape) -> tuple[float, dict[str, torch.Tensor]]:
    run.optimizer.clear()
    loss = float(run.backward(run.stored[code].sent(numbers, shape), code, shape))
    return loss, {name: p.grad.clone() for name, p in run.parameters.items() if p.grad is not None}


# --- on a GPU ---


@on_gpu
@pytest.mark.parametrize(("name", "extra"), [("pos", []), ("parse", []), ("nli", ["head.pool=attention"])])
def test_a_recorded_run_has_the_same_losses(name, extra, nano):
    encoder = nano(dropout=0.0).to("cuda")
    given = [*extra, "precision=float32", "epochs=4"]
    recorded, plain = trainer(encoder, name, *given), trainer(encoder, name, *given, "cuda_graphs=off")
    assert losses(recorded) == pytest.approx(losses(plain), rel=1e-3)
    assert recorded.graphs is not None
    assert all(recorded.graphs.captured.values())
    assert plain.graphs is None


@on_gpu
def test_a_recording_draws_as_the_plain_step_does(nano):
    """The same seed drops the same numbers, another seed others; and all gradients are those of the plain step."""
    run = trainer(nano(dropout=0.3).to("cuda"), "pos", "precision=float32")
    run.tuned.encoder.train()  # type: ignore[attr-defined]
    found: dict[int, list[tuple[float, list[torch.Tensor]]]] = {}
    shape = run.shapes["en"].of(range(9))
    for backward in (run._backward, run.backward, run.backward, run.backward):
        for seed in (1, 2, 1):
            set_seed(run.device, seed)
            run.optimizer.clear()
            loss = float(backward(run.stored["en"].sent(range(9), shape), "en", shape))
            gradients = [p.grad.clone() for p in run.parameters.values() if p.grad is not None]
            found.setdefault(seed, []).append((loss, gradients))
    assert found[1][0][0] != found[2][0][0]
    for same in found.values():
        for loss, gradients in same[1:]:
            assert loss == pytest.approx(same[0][0], rel=1e-5)
            for one, other in zip(gradients, same[0][1], strict=True):
                torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@on_gpu
def test_what_a_language_does_not_reach_has_no_gradient(nano):
    run = trainer(nano("emb", dropout=0.0).to("cuda"), "pos", "tune=all", codes=("en", "en-x-shift"))
    for _ in range(3):
        for code in ("en", "en-x-shift"):
            shape = run.shapes[code].of([0, 1])
            run.optimizer.clear()
            run.backward(run.stored[code].sent([0, 1], shape), code, shape)
            plain = TaskTrainer._backward
            reached = {name for name, p in run.parameters.items() if p.grad is not None}
            run.optimizer.clear()
            plain(run, run.stored[code].sent([0, 1], shape), code, shape)
            assert reached == {name for name, p in run.parameters.items() if p.grad is not None}
