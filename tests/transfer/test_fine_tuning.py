"""Fine-tuning: what is frozen stays, a killed run ends with the same bits, and a cached head learns what any would."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import DistilBertConfig, DistilBertModel

from isoglot.core.artifact import write_sealed
from isoglot.core.config import build_config
from isoglot.core.errors import CorruptFileError, IsoglotError
from isoglot.core.files import read_json
from isoglot.model import Encoder, HookedEncoder, save_encoder
from isoglot.pretrain.run_folder import Checkpoints
from isoglot.represent.encoder_hash import encoder_hash
from isoglot.transfer import Data, TuneConfig, Tuned, evaluate, find_task, fine_tune, load_tuned
from isoglot.transfer.scoring.evaluation import select
from isoglot.transfer.tasks.task import Passage, Tagged
from isoglot.transfer.tuning.config import layer_numbers, trained_parameters
from isoglot.transfer.tuning.fine_tuning import TaskTrainer
from isoglot.transfer.tuning.tuned_folder import check_begun, save_tuned
from tests.errors import raises


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture(scope="module")
def tagging():
    """The task of parts of speech with a little English to learn from."""
    task = find_task("pos")
    return task, {"en": task.builtin("en", "train", 60)}, {"en": task.builtin("en", "dev", 20)}


def config(*settings: str) -> TuneConfig:
    return build_config(
        TuneConfig,
        settings=["epochs=2", "batch_size=16", "encoder_learning_rate=1e-3", "head_learning_rate=1e-2", *settings],
    )


def tune(encoder: Any, tagging: Any, *rest: Any, **named: Any) -> Tuned:
    """Learn from the little English."""
    task, train, dev = tagging
    return fine_tune(encoder, task, train, dev, *rest, **named)


def weights(encoder: Any) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in encoder.state_dict().items()}


def moved(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor]) -> set[str]:
    return {name for name, tensor in before.items() if not torch.equal(tensor, after[name])}


@pytest.fixture
def hooked(vocabulary) -> HookedEncoder:
    torch.manual_seed(0)
    shape = DistilBertConfig(vocab_size=len(vocabulary), dim=16, n_layers=3, n_heads=2, hidden_dim=24)
    return HookedEncoder(DistilBertModel(shape), vocabulary)


# --- saving ---


def test_a_model_that_is_saved_again_takes_the_place_of_the_other(nano, tagging, tmp_path: Path):
    one, two = (tune(nano(), tagging, config("epochs=1", f"seed={seed}")) for seed in (1, 2))
    target = tmp_path / "saved"
    save_tuned(one, target)
    (target / "notes.txt").write_text("mine")
    files = save_tuned(two, target)
    assert {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()} == {
        "notes.txt",
        *(path.relative_to(target).as_posix() for path in files),
    }
    assert encoder_hash(load_tuned(target, device="cpu").encoder) == encoder_hash(two.encoder)
    assert isinstance(one.encoder, Encoder)
    save_encoder(one.encoder, target / "encoder")  # the encoder of another
    with pytest.raises(CorruptFileError):
        load_tuned(target)
    tune(nano(), tagging, config("epochs=1"), tmp_path / "run")
    with raises("config.would-overwrite"):
        save_tuned(two, tmp_path / "run")


# --- what learns ---


@pytest.mark.parametrize(
    ("plan", "settings", "layers"),
    [
        ("default", [], {0, 1, 2}),
        ("default", ["tune=top-1"], {2}),
        ("default", ["freeze=1"], {2}),
        ("default", ["tune=head"], set()),
        ("emb,pos,1", [], {2}),
        ("2", [], {0, 1}),
    ],
)
def test_frozen_is_frozen(plan, settings, layers, nano, tagging):
    """The given encoder is never changed; of the tuned one, all that may learn does, and nothing else."""
    encoder = nano(plan)
    before, hashed = weights(encoder), encoder_hash(encoder)
    tuned = tune(encoder, tagging, config(*settings, "epochs=1"))
    assert encoder_hash(encoder) == hashed
    numbers = layer_numbers(encoder)
    changed = moved(before, weights(tuned.encoder))
    assert {numbers[name] for name in changed} == layers
    assert not any(set(name.split(".")) & {"en", "en-x-shift", "zh"} for name in changed)
    reached = {name for name in trained_parameters(encoder, tuned.config) if "positions" not in name}
    assert reached <= changed


def test_the_other_languages_parts_are_swapped_in(nano, tagging):
    """With private parts the same sentence is read differently as another language; without, the same."""
    task, train, dev = tagging
    for plan, same in (("emb,1", False), ("default", True)):
        tuned = fine_tune(nano(plan), task, train, dev, config("epochs=1"))
        decoded = [tuned.predict(dev["en"].examples, language)[0] for language in ("en", "en-x-shift")]
        assert (decoded[0] == decoded[1]) is same


def test_several_languages_are_learned_from(nano, tagging):
    """A batch is of one language, so that its own parts are used; none of them moves."""
    task, train, dev = tagging
    both = {**train, "zh": task.builtin("zh", "train", 40)}
    encoder = nano("emb,1")
    tuned = fine_tune(encoder, task, both, {**dev, "zh": task.builtin("zh", "dev", 20)}, config("epochs=4"))
    alone = fine_tune(encoder, task, train, dev, config("epochs=4"))
    assert not any({"en", "zh"} & set(name.split(".")) for name in moved(weights(encoder), weights(tuned.encoder)))
    assert set(tuned.history[0]["dev"]) == {"en", "zh"}
    test = {"zh": task.builtin("zh", "test", 30)}
    assert evaluate(tuned, task, test)["zh"].scores.main > evaluate(alone, task, test)["zh"].scores.main


def test_bfloat16_learns_about_the_same(nano, tagging):
    exact, rough = (tune(nano(), tagging, config(f"precision={name}")) for name in ("float32", "bfloat16"))
    assert rough.history[-1]["loss"] == pytest.approx(exact.history[-1]["loss"], rel=0.05)
    assert rough.head.state_dict()["scores.weight"].dtype == torch.float32


def test_foreign_encoders_learn_too(hooked, tagging, tmp_path: Path):
    task, train, dev = tagging
    before = weights(hooked)
    tuned = fine_tune(hooked, task, train, dev, config("tune=top-2"), tmp_path / "run")
    changed = moved(before, weights(tuned.encoder))
    assert {layer_numbers(hooked)[name] for name in changed} == {2, 3}
    with raises("config.not-supported"):
        load_tuned(tmp_path / "run")
    again = load_tuned(tmp_path / "run", encoder=hooked)
    assert again.predict(dev["en"].examples, "en")[0] == tuned.predict(dev["en"].examples, "en")[0]
    assert set(layer_numbers(hooked).values()) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (["tune=top-3"], ("config.invalid-value", "tune=top-3", "2")),
        (["freeze=3"], ("config.invalid-value", "freeze=3", "2")),
        (["layer=3"], ("config.unknown-layer", "3")),
        (["freeze=2"], ("config.not-supported",)),
    ],
)
def test_settings_that_do_not_fit(settings, expected: tuple[str, ...], nano, tagging):
    with raises(*expected):
        tune(nano("2"), tagging, config(*settings))


def test_a_tune_that_is_none():
    with raises("config.invalid-value", "'bottom-2'"):
        config("tune=bottom-2")


# --- the head alone ---


def test_cached_vectors_are_what_the_encoder_gives(nano, tagging, monkeypatch):
    task, train, dev = tagging
    settings = config("tune=head", "head.dropout=0")
    cached = fine_tune(nano("emb"), task, train, dev, settings)
    monkeypatch.setattr("isoglot.transfer.tuning.tuned_encoder.HELD", 0)
    plain = fine_tune(nano("emb"), task, train, dev, settings)
    for name, tensor in cached.head.state_dict().items():
        torch.testing.assert_close(plain.head.state_dict()[name], tensor)
    assert [entry["dev"] for entry in cached.history] == [entry["dev"] for entry in plain.history]


def test_a_head_may_read_a_lower_layer(nano, tagging):
    """It learns the same with the layers above gone."""
    task, train, dev = tagging
    tuned = fine_tune(nano(), task, train, dev, config("layer=1"))
    assert moved(weights(nano()), weights(tuned.encoder)) <= {
        name for name, layer in layer_numbers(nano()).items() if layer <= 1
    }


# --- the run ---


def test_the_same_seed_gives_the_same_bits(nano, tagging):
    one, two, other = (tune(nano(), tagging, config(f"seed={seed}")) for seed in (1, 1, 2))
    assert not moved(one.weights(), two.weights())
    assert moved(one.weights(), other.weights())


@pytest.mark.parametrize("settings", [[], ["tune=head"], ["batch_tokens=128", "patience=2", "keep=1"]])
def test_a_killed_run_ends_with_the_same_bits(settings, nano, tagging, tmp_path: Path, monkeypatch):
    whole = tune(nano("emb"), tagging, config("epochs=3", *settings), tmp_path / "whole")
    save, calls = Checkpoints.save, []

    def killing(self, *given):
        calls.append(save(self, *given))
        if len(calls) == 2:
            raise Killed
        return calls[-1]

    monkeypatch.setattr(Checkpoints, "save", killing)
    with pytest.raises(Killed):
        tune(nano("emb"), tagging, config("epochs=3", *settings), tmp_path / "cut")
    monkeypatch.undo()
    steps: list[int] = []
    one = TaskTrainer._one_epoch

    def noted(self, work):
        steps.append(self.epoch)
        return one(self, work)

    monkeypatch.setattr(TaskTrainer, "_one_epoch", noted)
    cut = tune(nano("emb"), tagging, config("epochs=3", *settings), tmp_path / "cut", resume=True)
    assert steps == [2]
    assert not moved(whole.weights(), cut.weights())
    assert [entry["dev"] for entry in whole.history] == [entry["dev"] for entry in cut.history]
    assert whole.epochs.numbers() == cut.epochs.numbers()
    assert not (tmp_path / "cut" / "checkpoints").exists()


def test_a_kill_before_the_checkpoint_loses_no_epoch(nano, tagging, tmp_path: Path, monkeypatch):
    """Where bits do not repeat, an epoch that is gone through again may not be the best any more; the first then is."""
    scores = iter([50.0, 60.0, 40.0])  # the second time, the second epoch is worse than the first
    monkeypatch.setattr(TaskTrainer, "_dev_scores", lambda self: ({"en": next(scores)}, {}))
    save = Checkpoints.save

    def killing(self, step, *rest):
        if step == 2:
            raise Killed
        return save(self, step, *rest)

    with monkeypatch.context() as killed:
        killed.setattr(Checkpoints, "save", killing)
        with pytest.raises(Killed):
            tune(nano(), tagging, config("keep=1"), tmp_path)
    tuned = tune(nano(), tagging, config("keep=1"), tmp_path, resume=True)
    assert (tuned.epoch, tuned.epochs.numbers()) == (1, [1])


def test_a_folder_holds_one_run(nano, tagging, tmp_path: Path, monkeypatch):
    tuned = tune(nano(), tagging, config("epochs=1"), tmp_path)
    monkeypatch.setattr(
        "isoglot.transfer.tuning.fine_tuning.TaskTrainer", None
    )  # nothing is prepared for what is refused
    with raises("config.run-exists"):
        tune(nano(), tagging, config("epochs=1"), tmp_path)
    with raises("config.other-settings", "config.epochs", 1, 2):
        tune(nano(), tagging, config("epochs=2"), tmp_path, resume=True)
    again = tune(nano(), tagging, config("epochs=1"), tmp_path, resume=True)
    assert not moved(tuned.weights(), again.weights())
    assert read_json(tmp_path / "tuned.json")["history"] == tuned.history


def test_a_saved_model_predicts_the_same(nano, tagging, tmp_path: Path, each_damage):
    task, train, dev = tagging
    tuned = fine_tune(nano("emb"), task, train, dev, config(), tmp_path)
    loaded = load_tuned(tmp_path, device="cpu")
    assert loaded.predict(dev["en"].examples, "zh")[0] == tuned.predict(dev["en"].examples, "zh")[0]
    for _ in each_damage(tmp_path / "tuned.json"):
        with suppress(IsoglotError):
            load_tuned(tmp_path, device="cpu")
    for _ in each_damage(tmp_path / "fine_tune.json"):
        with suppress(IsoglotError):
            check_begun(tmp_path, {"task": "pos", "config": {}, "data": {}})
    (tmp_path / "head.safetensors").write_bytes(b"no")
    with raises("corrupt-file.hash", "head.safetensors", 2):
        load_tuned(tmp_path)


def test_a_model_with_settings_of_another_version_says_so(nano, tagging, tmp_path: Path):
    tune(nano(), tagging, config("epochs=1"), tmp_path)
    index = read_json(tmp_path / "tuned.json")
    write_sealed(tmp_path / "tuned.json", {**index, "config": {**index["config"], "warp": 9}})
    with raises("input.unknown-format", "tuned.json", "'warp'"):
        load_tuned(tmp_path)


def test_early_stop_and_kept_epochs(nano, tagging, monkeypatch):
    scores = iter([50.0, 60.0, 55.0, 54.0, 90.0])
    monkeypatch.setattr(TaskTrainer, "_dev_scores", lambda self: ({"en": next(scores)}, {}))
    tuned = tune(nano(), tagging, config("epochs=5", "patience=2", "keep=2"))
    assert [entry["epoch"] for entry in tuned.history] == [1, 2, 3, 4]
    assert (tuned.epoch, tuned.epochs.numbers()) == (2, [2, 3])


def test_every_row_once_an_epoch_whatever_the_batches(nano, tagging, monkeypatch):
    seen: list[int] = []
    backward = TaskTrainer.backward

    def noted(self, rows_B, *rest):
        seen.extend(rows_B.tolist())
        return backward(self, rows_B, *rest)

    monkeypatch.setattr(TaskTrainer, "backward", noted)
    for settings in (["batch_size=7"], ["batch_tokens=100"]):
        seen.clear()
        tune(nano(), tagging, config("epochs=2", *settings))
        assert sorted(seen) == sorted([*range(60), *range(60)])
    seen.clear()
    tune(nano(), tagging, config("epochs=3", "epoch_size=40"))
    assert sorted(seen) == sorted([*range(60), *range(60)])


def test_speed_is_in_tokens_that_are_read(nano, tagging, monkeypatch):
    """Padding is none of them."""
    counts: list[int] = []
    monkeypatch.setattr("isoglot.transfer.tuning.fine_tuning._NOTED", 1)
    monkeypatch.setattr("isoglot.transfer.tuning.fine_tuning.rate", lambda count, _: counts.append(count))
    tuned = tune(nano(), tagging, config("epochs=1"))
    rows = tuned.rows(tagging[1]["en"].examples, "en", purpose="learn").rows
    assert counts[-1] == sum(len(row.ids_N) for row in rows)


def test_what_cannot_be_learned(nano, tagging):
    task, train, dev = tagging
    with raises("config.missing-data", "en"):
        fine_tune(nano(), task, train, {"zh": dev["en"]})
    for plan in ("emb", "1"):
        with raises("config.unknown-language", "'sw'"):
            fine_tune(nano(plan), task, {"sw": train["en"]}, {"sw": dev["en"]})
    with raises("input.empty", "en.tsv", "en"):
        fine_tune(nano(), task, train, {"en": Data([], "en.tsv")})
    other = Data([Tagged(("a",), ("GREEK",))])
    with raises("input.unknown-label", "'GREEK'"):
        fine_tune(nano(), task, train, {"en": other}, config("unseen_labels=refuse"))
    told: list[str] = []
    fine_tune(nano(), task, train, {**dev, "zh": other}, config("epochs=1"), say=told.append)
    twice = Data([*other.examples, *other.examples])
    fine_tune(nano(), task, train, {**dev, "zh": twice}, config("epochs=1"), say=told.append)
    assert told == [f"dev zh: the label GREEK ({count}) is not in the training data" for count in ("1 time", "2 times")]


def test_a_loss_that_is_not_finite_stops_the_run(nano, tagging):
    with raises("numeric", 1):
        tune(
            nano(),
            tagging,
            config("encoder_learning_rate=1e30", "head_learning_rate=1e38", "max_gradient_norm=0", "epochs=3"),
        )


def test_what_happens_to_long_sentences_is_said(nano):
    task = find_task("parse")
    told: list[str] = []
    train = {"en": task.builtin("en", "train", 40)}
    fine_tune(nano(), task, train, train, config("epochs=1", "max_length=12", "head.arc_size=8"), say=told.append)
    assert any(line.startswith("train en: 40 examples; ") and " left out" in line for line in told)


# --- choosing ---


def test_three_ways_to_choose(nano, tagging):
    task, train, dev = tagging
    dev = {**dev, "zh": task.builtin("zh", "dev", 20)}
    tuned = fine_tune(nano(), task, train, dev, config("epochs=4", "keep=3"))
    test = {"en": task.builtin("en", "test", 20), "zh": task.builtin("zh", "test", 20)}
    before = tuned.weights()
    found = select(tuned, test)
    assert not moved(before, tuned.weights())
    assert [(one.language, one.way) for one in found] == [
        ("en", "source dev"),
        ("en", "averaged"),
        ("zh", "source dev"),
        ("zh", "oracle"),
        ("zh", "averaged"),
    ]
    assert found[0].test.scores.main == evaluate(tuned, task, test)["en"].scores.main
    assert len(found[1].epochs) == 3
    tuned.load(tuned.epochs.mean(found[1].epochs))
    assert evaluate(tuned, task, test)["zh"].scores.main == found[4].test.scores.main


def test_the_oracle_is_what_the_dev_set_would_choose_and_only_tests_are_scored(nano, tagging, monkeypatch):
    task, train, dev = tagging
    dev = {**dev, "zh": task.builtin("zh", "dev", 20)}
    test = {code: task.builtin(code, "test", 20) for code in ("en", "zh")}
    tuned = fine_tune(nano(), task, train, dev, config("epochs=4", "keep=3", "head_learning_rate=3e-2"))
    by_dev = {}
    for epoch in tuned.epochs.numbers():
        tuned.load(tuned.epochs.get(epoch))
        by_dev[epoch] = evaluate(tuned, task, {"zh": dev["zh"]})["zh"].scores.main
    tuned.load(tuned.epochs.get(tuned.epoch))
    scored: list[int] = []

    def noted(gold, predicted, score=task.score):
        scored.append(len(gold))
        return score(gold, predicted)

    monkeypatch.setattr(task, "score", noted)
    found = select(tuned, test)
    (chosen,) = (one.epochs for one in found if one.way == "oracle")
    assert by_dev[chosen[0]] == max(by_dev.values()) > min(by_dev.values())
    assert len(scored) == 4 + (chosen != (tuned.epoch,))


def test_an_edit_is_there_while_its_language_is_read(nano, tagging):
    task, train, dev = tagging
    encoder = nano()
    tuned = fine_tune(encoder, task, train, dev, config("epochs=1"))
    plain = evaluate(tuned, task, dev)["en"].scores.main
    asked: list[str] = []

    def edit(language: str):
        asked.append(language)
        return tuned.encoder.edited(1, lambda hidden, ids: torch.zeros_like(hidden))

    assert evaluate(tuned, task, dev, edit=edit)["en"].scores.main != plain
    assert asked == ["en"]
    assert evaluate(tuned, task, dev)["en"].scores.main == plain
    other = evaluate(tuned, task, dev, encoders={"en": nano("1")})["en"].scores.main
    assert other != plain


def test_no_examples_to_test(nano, tagging):
    tuned = tune(nano(), tagging, config("epochs=1"))
    with raises("input.empty", "de.tsv", "zh"):
        evaluate(tuned, tagging[0], {"zh": Data([], "de.tsv")})


@pytest.mark.parametrize("settings", [["keep=1"], ["tune=head"], ["patience=1"], []])
def test_progress_of_the_tests_ends_at_100_percent(settings, nano):
    """With one epoch kept there is none to average; an oracle may choose the same epoch as English dev."""
    totals: list[list[int]] = []

    class Counting:
        def __init__(self, total: int) -> None:
            totals.append([total, 0])

        def advance(self, amount: int = 1) -> None:
            totals[-1][1] += amount

        def note(self, text: str) -> None:
            pass

    class Counted:
        @contextmanager
        def task(self, label: str, *, total: int | None, unit: str):
            assert total is not None
            yield Counting(total)

    task = find_task("ner")
    sets = {code: task.builtin(code, "dev", 20, spaced=True) for code in ("en", "en-x-shift")}
    tuned = fine_tune(
        nano(), task, {"en": task.builtin("en", "train", 20, spaced=True)}, sets, config("epochs=3", *settings)
    )
    select(tuned, sets, progress=Counted())
    assert totals
    assert all(done == total for total, done in totals)


def test_a_plain_string_is_no_tuple_of_texts():
    with raises("config.malformed-option", "'Eva sleeps'"):
        Passage("Eva sleeps", "calm")  # type: ignore[arg-type]
    with raises("config.malformed-option", "'Eva sleeps'"):
        Tagged("Eva sleeps")  # type: ignore[arg-type]
