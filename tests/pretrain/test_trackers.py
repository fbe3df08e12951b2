"""Trackers: what each library is told, by fakes that record it; and the libraries themselves, where installed."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from isoglot.pretrain.metrics_log import MetricsLog, TrackedRun, TrackerName, open_tracker
from isoglot.pretrain.train import Stop, pretrain

CONFIG = {"model": {"size": "nano"}, "seed": 1}
RECORD = {"step": 8, "kind": "dev", "perplexity": {"en": 9.0}, "speeds": [1.0], "note": None}
NUMBERS = {"dev/perplexity/en": 9.0, "dev/speeds/0": 1.0}


class Calls(list[tuple[str, Any, Any]]):
    """Records calls: ``calls.of("log")`` is a function that does so and returns a value."""

    def of(self, name: str, result: object = None):
        def called(*args: object, **options: object) -> object:
            self.append((name, args, options))
            return result

        return called

    def named(self, name: str) -> list[tuple[Any, ...]]:
        return [call[1:] for call in self if call[0] == name]


def module(monkeypatch: pytest.MonkeyPatch, name: str, **members: object) -> None:
    fake = ModuleType(name)
    vars(fake).update(members)
    monkeypatch.setitem(sys.modules, name, fake)


def fake_wandb(monkeypatch, calls: Calls) -> None:
    run = SimpleNamespace(log=calls.of("log"), finish=calls.of("finish"))
    module(monkeypatch, "wandb", init=calls.of("init", run), Settings=lambda **settings: settings)


def fake_mlflow(monkeypatch, calls: Calls) -> None:
    client = SimpleNamespace(
        get_experiment_by_name=lambda name: None,
        create_experiment=calls.of("create_experiment", "7"),
        create_run=calls.of("create_run", SimpleNamespace(info=SimpleNamespace(run_id="made-by-mlflow"))),
        log_param=calls.of("log_param"),
        log_batch=calls.of("log_batch"),
        set_terminated=calls.of("set_terminated"),
    )
    entities = SimpleNamespace(Metric=lambda name, value, time, step: (name, value, step))
    module(monkeypatch, "mlflow", MlflowClient=calls.of("client", client), entities=entities)


def fake_trackio(monkeypatch, calls: Calls) -> None:
    def init(**options):
        sys.stdout.write("* Trackio project initialized")
        calls.append(("init", (), options))

    module(monkeypatch, "trackio", init=init, log=calls.of("log"), finish=calls.of("finish"))


def logged(name: TrackerName, out: Path, after: int | None = None) -> None:
    log = MetricsLog(out, after=after, tracker=open_tracker(name, TrackedRun(out, CONFIG, after)))
    log.add(RECORD)
    log.close()


def test_tensorboard_gets_every_number(tmp_path: Path, monkeypatch):
    calls = Calls()
    writer = SimpleNamespace(add_scalar=calls.of("add"), close=calls.of("close"))
    module(monkeypatch, "tensorboard")
    module(monkeypatch, "torch.utils.tensorboard", SummaryWriter=calls.of("open", writer))
    logged("tensorboard", tmp_path, after=7)
    assert calls.named("open") == [((str(tmp_path / "tensorboard"),), {"purge_step": 8})]
    assert [args for args, _ in calls.named("add")] == [(name, value, 8) for name, value in NUMBERS.items()]
    assert len(calls.named("close")) == 1


def test_wandb_is_offline_unless_told_and_resumes_under_its_id(tmp_path: Path, monkeypatch):
    calls = Calls()
    fake_wandb(monkeypatch, calls)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    logged("wandb", tmp_path)
    monkeypatch.setenv("WANDB_MODE", "online")
    logged("wandb", tmp_path, after=7)
    logged("wandb", tmp_path)  # started again
    first, second, third = (options for _, options in calls.named("init"))
    assert (first["mode"], second["mode"]) == ("offline", "online")
    assert first["id"] == second["id"] != third["id"]
    assert (first["dir"], first["config"], first["resume"]) == (str(tmp_path), CONFIG, "allow")
    assert calls.named("log")[0] == ((NUMBERS,), {"step": 8})
    assert len(calls.named("finish")) == 3


def test_mlflow_writes_to_the_folder_of_the_run_unless_told(tmp_path: Path, monkeypatch):
    calls = Calls()
    fake_mlflow(monkeypatch, calls)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    logged("mlflow", tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://there")
    logged("mlflow", tmp_path, after=7)
    assert [options["tracking_uri"] for _, options in calls.named("client")] == [
        f"sqlite:///{tmp_path / 'mlflow.db'}",
        "http://there",
    ]
    assert len(calls.named("create_run")) == 1  # resumed under the id that MLflow gave
    assert [args for args, _ in calls.named("log_param")] == [
        ("made-by-mlflow", "model.size", "nano"),
        ("made-by-mlflow", "seed", 1),
    ]
    expected = [(name, value, 8) for name, value in NUMBERS.items()]
    assert calls.named("log_batch") == [(("made-by-mlflow",), {"metrics": expected})] * 2
    assert calls.named("set_terminated") == [(("made-by-mlflow",), {})] * 2


def test_trackio_resumes_under_its_name_and_leaves_stdout_alone(tmp_path: Path, monkeypatch, capsys):
    calls = Calls()
    fake_trackio(monkeypatch, calls)
    logged("trackio", tmp_path)
    logged("trackio", tmp_path, after=7)
    first, second = (options for _, options in calls.named("init"))
    assert first["name"] == second["name"]
    assert calls.named("log") == [((NUMBERS,), {"step": 8})] * 2
    assert capsys.readouterr().out == ""


def test_a_run_and_its_continuation_are_one_tracked_run(tmp_path: Path, corpus, nano, monkeypatch):
    calls = Calls()
    fake_wandb(monkeypatch, calls)
    config = nano("log.to=wandb")
    pretrain(config, corpus.shards, corpus.vocabulary, tmp_path, device="cpu", stop=Stop(step=6))
    pretrain(config, corpus.shards, corpus.vocabulary, tmp_path, device="cpu", resume=True)
    assert len({options["id"] for _, options in calls.named("init")}) == 1
    steps = [options["step"] for args, options in calls.named("log") if "train/loss/en" in args[0]]
    assert steps == sorted(set(steps))
    assert len(calls.named("finish")) == 2


# --- the libraries themselves ---


@pytest.fixture
def quiet(tmp_path: Path, monkeypatch):
    for name in ("WANDB_MODE", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    monkeypatch.setenv("WANDB_SILENT", "true")
    return tmp_path


def test_real_tensorboard(quiet: Path):
    pytest.importorskip("tensorboard")
    accumulator = import_module("tensorboard.backend.event_processing.event_accumulator")
    logged("tensorboard", quiet)
    events = accumulator.EventAccumulator(str(quiet / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("dev/perplexity/en")] == [(8, 9.0)]


def test_real_wandb(quiet: Path):
    pytest.importorskip("wandb")
    logged("wandb", quiet)
    name = json.loads((quiet / "tracker.json").read_text())["id"]
    (file,) = (quiet / "wandb").glob(f"offline-run-*-{name}/run-{name}.wandb")
    assert b"dev/perplexity/en" in file.read_bytes()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_real_mlflow(quiet: Path):
    mlflow = pytest.importorskip("mlflow")
    logged("mlflow", quiet)
    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{quiet / 'mlflow.db'}")
    (run,) = client.search_runs([client.get_experiment_by_name("isoglot").experiment_id])
    assert (run.data.metrics, run.data.params) == (NUMBERS, {"model.size": "nano", "seed": "1"})


def test_real_trackio(quiet: Path):
    """It reads TRACKIO_DIR when it is imported, which happens here first."""
    trackio = pytest.importorskip("trackio")
    logged("trackio", quiet)
    (run,) = trackio.Api().runs("isoglot")
    assert run.name.startswith(quiet.name)
    (line,) = trackio.SQLiteStorage.get_logs("isoglot", run.name)
    assert {name: line[name] for name in NUMBERS} == NUMBERS
