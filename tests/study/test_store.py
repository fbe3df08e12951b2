"""The store: a step appears whole or not at all, is computed once, and can be dropped, merged and checked."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from isoglot.core.errors import CorruptFileError, InputError, StorageError
from isoglot.core.progress import SILENT
from isoglot.study import steps as steps_module
from isoglot.study.numbers import Number
from isoglot.study.steps import Paused, SourceFile, Step, Work
from isoglot.study.store import Store, source_hash
from tests.errors import raises

if TYPE_CHECKING:
    from collections.abc import Sequence


def write(work: Work) -> Sequence[Number]:
    """A kind for tests: writes a small and a large file, and says how often it ran."""
    before = sum(len(path.read_text()) for path in work.inputs.values() if path.is_file())
    (work.folder / "small.txt").write_text(str(work.settings["value"] + before))
    (work.folder / "large").mkdir()
    (work.folder / "large" / "weights.bin").write_bytes(b"0" * 1000)
    with Path(work.settings["count"]).open("a") as out:
        out.write("x")
    time.sleep(work.settings.get("seconds", 0))
    if work.settings.get("fail"):
        raise InputError("no such thing", remedy="give another")
    if work.settings.get("pause") and not (work.scratch / "begun").exists():
        (work.scratch / "begun").touch()
        raise Paused
    return [Number("value", float(work.settings["value"]), {"language": "de"}, (1.0, 2.0), "items")]


@pytest.fixture(autouse=True)
def _kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(steps_module.KINDS, "write", steps_module.Kind(1, f"{__name__}:write"))


def step(tmp_path: Path, value: int = 1, **settings: object) -> Step:
    return Step("write", {"value": value, "count": str(tmp_path / "count"), **settings}, heavy=("large",))


def runs(tmp_path: Path) -> int:
    return len((tmp_path / "count").read_text())


def test_a_step_runs_once(tmp_path: Path) -> None:
    store, one = Store(tmp_path / "study"), step(tmp_path)
    record = store.run(one, progress=SILENT)
    assert record == store.run(one, progress=SILENT)
    assert runs(tmp_path) == 1
    assert store.is_whole(one.key)
    assert store.numbers(one.key).one.draws == (1.0, 2.0)
    assert not list((tmp_path / "study" / "steps").glob(".*"))  # no lock, no work left


def test_numbers_are_read_once_and_again_where_their_file_has_changed(tmp_path: Path) -> None:
    store, one = Store(tmp_path / "study"), step(tmp_path)
    assert len(store.numbers(one.key)) == 0
    store.run(one, progress=SILENT)
    assert store.numbers(one.key) is store.numbers(one.key)
    (store.folder(one.key) / "numbers.json").write_text("{}")
    with pytest.raises(CorruptFileError):
        store.numbers(one.key)


def test_a_failed_step_leaves_nothing_but_the_reason(tmp_path: Path) -> None:
    store, one = Store(tmp_path / "study"), step(tmp_path, fail=True)
    with pytest.raises(InputError):
        store.run(one, progress=SILENT)
    assert not store.is_done(one.key)
    assert "no such thing" in store.failures(one.key)[0].error


def test_a_paused_step_is_resumed_with_its_scratch_files(tmp_path: Path) -> None:
    store, one = Store(tmp_path / "study"), step(tmp_path, pause=True)
    with pytest.raises(Paused):
        store.run(one, progress=SILENT)
    assert store.is_begun(one.key)
    store.run(one, progress=SILENT)
    assert store.is_whole(one.key)
    assert not store.failures(one.key)


def test_dropping_keeps_numbers_and_a_later_run_brings_all_back(tmp_path: Path) -> None:
    store, one = Store(tmp_path / "study"), step(tmp_path)
    whole = store.run(one, progress=SILENT)
    store.drop(one)
    assert not store.heavy_files(one)
    assert store.is_done(one.key)
    assert not store.is_whole(one.key)
    assert len(store.numbers(one.key)) == 1
    store.check(one.key)
    again = store.run(one, progress=SILENT)
    assert store.is_whole(one.key)
    assert again["payload_sha256"] == whole["payload_sha256"]


def test_a_drop_that_was_killed_is_ended_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, one = Store(tmp_path / "study"), step(tmp_path)
    store.run(one, progress=SILENT)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            store.drop(one)
    assert not store.is_whole(one.key)
    assert store.heavy_files(one)
    store.drop(one)
    assert not store.heavy_files(one)
    store.check(one.key)


def test_an_altered_payload_is_found(tmp_path: Path) -> None:
    store, one = Store(tmp_path / "study"), step(tmp_path)
    store.run(one, progress=SILENT)
    (store.folder(one.key) / "small.txt").write_text("altered")
    with pytest.raises(CorruptFileError):
        store.check(one.key)


def test_stores_are_merged_without_computing(tmp_path: Path) -> None:
    stores = [Store(tmp_path / name) for name in "ab"]
    one, two = step(tmp_path, 1), step(tmp_path, 2)
    stores[0].run(one, progress=SILENT)
    stores[1].run(two, progress=SILENT)
    assert stores[0].merge(stores[1]) == [two.key]
    assert stores[0].merge(stores[1]) == []
    assert sorted(stores[0].keys()) == sorted([one.key, two.key])
    assert runs(tmp_path) == 2


def test_merging_refuses_what_was_altered(tmp_path: Path) -> None:
    stores, one = [Store(tmp_path / name) for name in "ab"], step(tmp_path)
    stores[1].run(one, progress=SILENT)
    (stores[1].folder(one.key) / "small.txt").write_text("altered")
    with pytest.raises(CorruptFileError):
        stores[0].merge(stores[1])
    assert not stores[0].is_done(one.key)


def test_a_step_needs_its_inputs_and_files_as_planned(tmp_path: Path) -> None:
    store, first = Store(tmp_path / "study"), step(tmp_path)
    with raises("storage.not-found"):
        store.run(Step("write", {"value": 2, "count": str(tmp_path / "count")}, {"before": first}), progress=SILENT)
    text = tmp_path / "text.txt"
    text.write_text("one")
    planned = SourceFile(str(text), source_hash(text))
    text.write_text("another")
    with raises("storage.changed"):
        store.run(Step("write", {"value": 2, "count": str(tmp_path / "count")}, {"text": planned}), progress=SILENT)


def _compute(root: str, one: Step) -> None:
    steps_module.KINDS["write"] = steps_module.Kind(1, f"{__name__}:write")
    try:
        Store(root).run(one, progress=SILENT)
    except StorageError:
        raise SystemExit(3) from None


def test_two_processes_do_not_compute_a_step_twice(tmp_path: Path) -> None:
    one = step(tmp_path, seconds=0.7)
    context = multiprocessing.get_context("fork")
    both = [context.Process(target=_compute, args=(str(tmp_path / "study"), one)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert runs(tmp_path) == 1
    assert sorted(process.exitcode or 0 for process in both) in ([0, 3], [0, 0])
