"""Compiled fine-tuning: the same losses, few shapes, and what compiling takes is told apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._dynamo.utils import counters

from isoglot.core.config import build_config
from isoglot.core.errors import ConfigError
from isoglot.core.progress import SILENT
from isoglot.transfer import TuneConfig, Tuned, find_task, fine_tune
from isoglot.transfer.compiled import PAYS, to_compile
from isoglot.transfer.fine_tuning import Trainer, set_seed
from isoglot.transfer.shapes import Shapes, widths
from isoglot.transfer.stored_rows import StoredRows
from isoglot.transfer.task import Row

FAST = ["epochs=2", "batch=9", "encoder_rate=1e-3", "head.dropout=0", "head.inner_dropout=0", "head.arc_width=16"]


def config(*given: str) -> TuneConfig:
    return build_config(TuneConfig, settings=[*FAST, *given])


@pytest.fixture(autouse=True)
def traced(monkeypatch: pytest.MonkeyPatch):
    """Traced by torch, forward and back, but not turned into machine code: that takes minutes here."""
    monkeypatch.setattr("isoglot.model.compiled.BACKEND", "aot_eager")
    assert Shapes.__init__.__kwdefaults__ is not None
    monkeypatch.setitem(Shapes.__init__.__kwdefaults__, "most", 1)
    torch._dynamo.reset()
    counters.clear()
    yield
    torch._dynamo.reset()


def losses(tuned: Tuned) -> list[float]:
    return [entry["loss"] for entry in tuned.history]


@pytest.mark.parametrize(
    ("name", "extra"), [("pos", []), ("parse", ["epochs=1"]), ("nli", ["head.pool=attention", "epochs=1"])]
)
def test_the_same_losses(name, extra, nano, monkeypatch):
    """40 rows in batches of 9: the last one is filled up with empty rows, which teach nothing."""
    if name == "pos":
        monkeypatch.setitem(Shapes.__init__.__kwdefaults__ or {}, "most", 2)
    task = find_task(name)
    train, dev = {"en": task.builtin("en", "train", 40)}, {"en": task.builtin("en", "dev", 10)}
    encoder = nano(dropout=0.0)
    plain, fast = (fine_tune(encoder, task, train, dev, config(*extra, f"compile={mode}")) for mode in ("off", "on"))
    assert losses(fast) == pytest.approx(losses(plain), rel=1e-4)
    assert fast.history[0]["compile_seconds"] > 0
    assert "compile_seconds" not in plain.history[0]
    assert not counters["graph_break"]
    assert counters["stats"]["unique_graphs"] == (2 if name == "pos" else 1)
    assert fast.predict(dev["en"].examples, "en")[0]  # another shape, not compiled
    assert counters["stats"]["unique_graphs"] <= 2


def test_languages_with_parts_of_their_own_are_compiled_each(nano, monkeypatch):
    monkeypatch.setattr("isoglot.model.compiled.BACKEND", "eager")
    task = find_task("pos")
    data = {code: task.builtin("en", "train", 20) for code in ("en", "en-x-shift")}
    for plan, graphs in (("1", 2), ("default", 1)):
        torch._dynamo.reset()
        counters.clear()
        trainer = Trainer(nano(plan, dropout=0.0), task, data, data, config("compile=on"), None, print)
        for code in data:
            trainer._step(trainer.stored[code].batch([0, 1], trainer.shapes[code].of([0, 1])), code, 0.0)
        assert counters["stats"]["unique_graphs"] == graphs


def test_what_cannot_be_compiled(nano):
    encoder = nano()
    for setting, reason in (
        ("tune=head", "only the head learns"),
        ("layer=1", "the head does not read the last layer"),
    ):
        with pytest.raises(ConfigError, match=f"compile=on, but {reason}; leave it out, or set compile=off"):
            to_compile(encoder, config(setting, "compile=on"), 10)
        assert not to_compile(encoder, config(setting), PAYS)

    class Other:
        depth = 2

    with pytest.raises(ConfigError, match="the encoder is not one of isoglot's"):
        to_compile(Other(), config("compile=on"), 10)  # type: ignore[arg-type]


def test_by_itself_only_in_long_runs_on_a_gpu(nano, monkeypatch):
    encoder = nano()
    assert not to_compile(encoder, config(), PAYS)
    monkeypatch.setattr(type(encoder), "device", torch.device("cuda"))
    assert to_compile(encoder, config(), PAYS)
    assert not to_compile(encoder, config(), PAYS - 1)
    assert not to_compile(encoder, config("compile=off"), PAYS)
    assert to_compile(encoder, config("compile=on"), 1)


def test_steps_are_foreseen(nano):
    task = find_task("pos")
    data = {"en": task.builtin("en", "train", 40)}
    for extra in ([], ["batch_tokens=100"], ["epoch_size=20"]):
        trainer = Trainer(nano(), task, data, data, config(*extra, "epochs=3"), None, print)
        foreseen = trainer._steps()
        tuned = fine_tune(nano(), task, data, data, config(*extra, "epochs=3"))
        assert len(tuned.history) == 3
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Trainer, "_dev_scores", lambda self: {"en": 0.0})
            trainer.train(SILENT)
        assert trainer.step == pytest.approx(foreseen, rel=0.35)


def test_chance_begins_anew():
    set_seed(torch.device("cpu"), 5)
    one = torch.rand(3)
    torch.manual_seed(5)
    torch.testing.assert_close(torch.rand(3), one)


# --- shapes ---


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(3, 60), min_size=1, max_size=30), most=st.integers(1, 4))
def test_no_few_widths_are_better(sizes, most):
    found = widths(sizes, most=most)
    assert len(found) <= most

    def columns(some: tuple[int, ...]) -> float:
        return sum(min((width for width in some if width >= size), default=np.inf) for size in sizes)

    options = sorted({-(-size // 8) * 8 for size in sizes})
    every = [columns(some) for count in range(1, most + 1) for some in combinations(options, count)]
    assert columns(tuple(found)) == min(every)


def test_a_shape_holds_its_rows(vocabulary):
    chance = np.random.default_rng(0)
    rows = []
    for size in chance.integers(1, 58, 50).tolist():
        places = np.arange(1, 1 + int(chance.integers(1, size + 1)))
        rows.append(Row(np.full(size, 9), places, np.zeros((len(places), 1), dtype=np.int64), 0))
    stored = StoredRows(rows, vocabulary, 60, torch.device("cpu"))
    shapes = Shapes(stored, rows=4, tokens=None)
    assert shapes.all[-1].tokens == 60  # not wider than an encoder takes
    for numbers in chance.integers(0, 50, (20, 4)).tolist():
        shape = shapes.of(numbers)
        batch = stored.batch(numbers, shape)
        assert batch.batch.mask_BT.sum(dim=1).tolist() == [len(rows[number].ids_N) + 2 for number in numbers]
        assert batch.mask_BW.sum(dim=1).tolist() == [len(rows[number].places_W) for number in numbers]
    by_tokens = Shapes(stored, rows=4, tokens=120)
    assert all(shape.rows * shape.tokens <= 120 for shape in by_tokens.all)
