"""Exact resume: whenever a run is killed, it ends with the bits of one that was not."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from isoglot.core.files import read_json
from isoglot.model.folder import open_encoder
from isoglot.pretrain import train
from isoglot.pretrain.metrics_log import read_metrics
from isoglot.pretrain.train import Stop, pretrain


class Killed(BaseException):
    """The process ends here."""


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return open_encoder(folder).state_dict()


def assert_same_end(out: Path, whole: Path) -> None:
    """The same bits, the same best model, and metrics with no line missing or doubled."""
    for part in ("last", "best"):
        one, other = weights(out / part), weights(whole / part)
        assert all(torch.equal(one[name], other[name]) for name in other)
    lines, expected = read_metrics(out), read_metrics(whole)
    assert [(line["step"], line["kind"]) for line in lines] == [(line["step"], line["kind"]) for line in expected]
    for name in ("loss", "perplexity"):
        assert [line.get(name) for line in lines] == [line.get(name) for line in expected]


def test_a_run_in_slices_ends_with_the_same_bits(tmp_path: Path, corpus, nano):
    """Each slice is over at once and takes one step; only the last writes the encoder.

    A line of the log is about three steps, so the losses of those before a checkpoint are in it.
    """
    config = nano("log.every=3", "budget=5steps", "evaluation.every=2", "checkpoints.every=100")
    run = partial(pretrain, config, corpus.shards, corpus.vocabulary, device="cpu", resume=True)
    run(tmp_path / "whole")
    slices = [run(tmp_path / "cut", stop=Stop(0.0)) for _ in range(4)]
    assert [(done.finished, done.position.step) for done in slices] == [(False, step) for step in (1, 2, 3, 4)]
    assert not (tmp_path / "cut" / "last").exists()
    assert run(tmp_path / "cut", stop=Stop(0.0)).finished
    assert_same_end(tmp_path / "cut", tmp_path / "whole")


def test_an_interrupted_run_saves_its_step_and_ends_with_the_same_bits(tmp_path: Path, corpus, nano, monkeypatch):
    """Ctrl-C in the middle of steps 3 and 6, none of which would have been saved."""
    config = nano("log.every=1", "budget=7steps", "checkpoints.every=100")
    run = partial(pretrain, config, corpus.shards, corpus.vocabulary, device="cpu", resume=True)
    run(tmp_path / "whole")
    real = train.Trainer._step

    def interrupted(self):
        if self.position.step in (2, 5):
            signal.raise_signal(signal.SIGINT)
        real(self)

    monkeypatch.setattr(train.Trainer, "_step", interrupted)
    for step in (3, 6):
        said: list[str] = []
        with pytest.raises(KeyboardInterrupt, match=f"^saved at step {step}$"):
            run(tmp_path / "cut", say=said.append)
        assert said[-1].startswith("interrupted: ")
        assert read_json(tmp_path / "cut" / "run.json")["status"] == "interrupted"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert run(tmp_path / "cut").finished
    assert_same_end(tmp_path / "cut", tmp_path / "whole")


def test_interrupted_twice_it_ends_at_once_and_a_run_without_a_checkpoint_says_so(
    tmp_path: Path, corpus, nano, monkeypatch
):
    run = partial(pretrain, nano("budget=2steps"), corpus.shards, corpus.vocabulary, tmp_path, device="cpu")

    def interrupted(self):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(train.Trainer, "_step", interrupted)
        with pytest.raises(KeyboardInterrupt, match=r"^$"):
            run()
    said: list[str] = []
    assert run(resume=True, say=said.append).finished
    assert len(said) == 1
    assert str(tmp_path) in said[0]


@pytest.mark.parametrize(
    "settings",
    [
        ["model.plan=sep-emb", "masking.random_from=language"],
        ["optimizer.kind=muon", "model.preset=modern", "model.dropout=0.1", "batch.gradient_accumulation=2"],
        ["schedule.kind=trapezoid", "masking.rate=0.4", "masking.rate_end=0.1", "sampling.exponent_end=0"],
        ["budget=1536tokens", "optimizer.kind=adamw"],
    ],
    ids=" ".join,
)
def test_a_run_cut_anywhere_goes_on_to_the_same_bits(tmp_path: Path, corpus, nano, monkeypatch, settings):
    """Cut six times, each in another place; the last one is between the last evaluation and the last checkpoint."""
    config = nano("log.every=1", *settings)
    run = partial(pretrain, config, corpus.shards, corpus.vocabulary, device="cpu", resume=True)
    run(tmp_path / "whole")
    deaths = [("_step", 2), ("_save", 1), ("_evaluate", 1), ("_log", 3), ("finish", 1), ("_save", 1)]
    for name, count in deaths:
        left = [count]
        real = getattr(train.Trainer, name)

        def deadly(self, *args, real=real, left=left):
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return real(self, *args)

        monkeypatch.setattr(train.Trainer, name, deadly)
        with pytest.raises(Killed):
            run(tmp_path / "cut")
        monkeypatch.setattr(train.Trainer, name, real)
    run(tmp_path / "cut")
    assert_same_end(tmp_path / "cut", tmp_path / "whole")


def test_a_finished_run_that_is_resumed_stays_as_it_is(tmp_path: Path, corpus, nano):
    run = partial(pretrain, nano(), corpus.shards, corpus.vocabulary, device="cpu", resume=True)
    first = run(tmp_path / "a")
    before, lines = weights(tmp_path / "a" / "last"), read_metrics(tmp_path / "a")
    again = run(tmp_path / "a")
    assert (again.position.step, again.position.dev) == (first.position.step, first.position.dev)
    assert all(torch.equal(value, before[name]) for name, value in weights(tmp_path / "a" / "last").items())
    assert read_metrics(tmp_path / "a") == lines


def test_a_damaged_checkpoint_is_spoken_of_and_the_one_before_is_used(tmp_path: Path, corpus, nano, monkeypatch):
    run = partial(pretrain, nano("log.every=1"), corpus.shards, corpus.vocabulary, device="cpu", resume=True)
    run(tmp_path / "whole")
    real = train.Trainer.finish
    monkeypatch.setattr(train.Trainer, "finish", lambda self, record: (_ for _ in ()).throw(Killed()))
    with pytest.raises(Killed):
        run(tmp_path / "cut")
    monkeypatch.setattr(train.Trainer, "finish", real)
    path = tmp_path / "cut" / "checkpoints" / "step-00000012" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    said: list[str] = []
    done = run(tmp_path / "cut", say=said.append)
    assert len(said) == len(done.refused) == 1
    assert f"from step 8: {path}: " in said[0]
    assert_same_end(tmp_path / "cut", tmp_path / "whole")
    for file in (tmp_path / "cut" / "checkpoints").glob("*/state.json"):
        file.write_text("{}")
    said.clear()
    run(tmp_path / "cut", say=said.append)
    assert [text.partition(":")[0][-18:] for text in said] == ["from the beginning"] * 2
    assert_same_end(tmp_path / "cut", tmp_path / "whole")


# One process imports torch once and then forks: each child is a run of its own, killed by the kernel at a random moment.
KILLER = """
import json, os, random, signal, sys, time
import torch
torch.set_num_threads(1)
from isoglot.core.config import build_config
from isoglot.pretrain.config import PretrainConfig
from isoglot.pretrain.train import pretrain
from isoglot.vocab import Shards, Vocabulary

corpus, out, kills, settings = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
config = build_config(PretrainConfig, settings=settings)
vocabulary = Vocabulary.load(f"{corpus}/vocab")
shards = {code: Shards.open(f"{corpus}/{code}") for code in ("en", "fr")}
torch.optim.AdamW([torch.zeros(1)])  # imports half of torch

def child(folder):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        pretrain(config, shards, vocabulary, folder, device="cpu", resume=True)
        code = 0
    finally:
        os._exit(code)

start = time.perf_counter()
assert os.waitpid(child(f"{out}/whole"), 0)[1] == 0
length = time.perf_counter() - start
chance, found, patience = random.Random(7), [], length
while sum(one[0] == 9 for one in found) < kills and len(found) < 5 * kills:
    pid = child(f"{out}/cut")
    time.sleep(chance.uniform(0, 0.6) * patience)
    os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    steps = sorted(name for name in os.listdir(f"{out}/cut/checkpoints")) if os.path.isdir(f"{out}/cut/checkpoints") else []
    found.append([status, [name for name in steps if not name.startswith(".")][-1:], any(n.startswith(".") for n in steps)])
    if len(found) > 1 and found[-1][1] == found[-2][1]:  # the machine has become slower: no step got through
        patience *= 1.2
    if status == 0:  # it was faster: begin another
        patience = length
        os.rename(f"{out}/cut", f"{out}/done{len(found)}")
assert os.waitpid(child(f"{out}/cut"), 0)[1] == 0
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_twenty_two_kills_at_random_moments(tmp_path: Path, corpus):
    settings = """
        model.size=nano model.max_length=16 model.dropout=0.1 batch.size=8 budget=24steps optimizer.learning_rate=1e-3 log.every=1
        evaluation.every=7 evaluation.sequences=8 checkpoints.every=3 log.peak=off seed=7
    """.split()
    program = [sys.executable, "-c", KILLER, str(corpus.folder), str(tmp_path), "22", *settings]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    killed = [one for one in found if one[0] == 9]
    assert len(killed) == 22
    assert len({tuple(one[1]) for one in killed}) >= 2  # at different steps; how many, hangs on the machine's speed
    for out in (tmp_path / "cut", *tmp_path.glob("done*")):
        assert_same_end(out, tmp_path / "whole")
    assert not list((tmp_path / "cut" / "checkpoints").glob(".*"))
