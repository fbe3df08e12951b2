"""Many processes train as one: the same losses, one message when one fails."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from isoglot.model.folder import open_encoder
from isoglot.pretrain.distributed import World, join_world
from isoglot.pretrain.metrics_log import read_metrics
from isoglot.pretrain.train import pretrain
from tests.errors import raises

# One program for several runs and both processes: starting torch takes longer than all of them.
WORKER = """
import json, os, sys
import torch
torch.set_num_threads(1)
from isoglot.core.config import build_config
from isoglot.core.errors import InputError
from isoglot.core.progress import LineProgress
from isoglot.pretrain import train
from isoglot.pretrain.config import PretrainConfig
from isoglot.vocab import Shards, Vocabulary

corpus, out, runs = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
vocabulary = Vocabulary.load(f"{corpus}/vocab")
shards = {code: Shards.open(f"{corpus}/{code}") for code in ("en", "fr")}
parallel = [{"en": "A train left.", "fr": "Un train est parti."}, {"en": "Leo sleeps.", "fr": "Leo dort bien ici."},
            {"en": "A.", "fr": "Le."}]
torch.optim.AdamW([torch.zeros(1)])  # imports half of torch
children = []
for rank in (0, 1):  # torchrun starts them, and gives them this environment
    pid = os.fork()
    if not pid:
        break
    children.append(pid)
if pid:
    codes = [os.waitpid(child, 0)[1] >> 8 for child in children]
    os._exit(codes[0] * 10 + codes[1])
os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
os.environ |= {"MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1"}
for file, name in ((sys.stdout, "out"), (sys.stderr, "err")):
    os.dup2(os.open(f"{out}/{rank}.{name}", os.O_WRONLY | os.O_CREAT), file.fileno())
code = 0
for number, (name, settings) in enumerate(runs.items()):
    if name == "fails":
        real = train.Trainer._step
        def step(self):
            if self.world.rank == 1 and self.position.step == 3:
                raise InputError("a bad row", remedy="mend it", file="x.txt", line=7)
            real(self)
        train.Trainer._step = step
    os.environ["MASTER_PORT"] = sys.argv[4].split(",")[number]
    config = build_config(PretrainConfig, settings=settings)
    pairs = parallel if name == "pairs" else ()
    try:
        train.pretrain(config, shards, vocabulary, f"{out}/{name}", device="cpu", parallel=pairs,
                       progress=LineProgress(sys.stderr))
    except Exception as error:
        print(f"rank {rank}: {error}", flush=True)
        code = 2
    except SystemExit as error:
        code = error.code
os._exit(code)
"""

COMMON = """
    model.size=nano model.max_length=16 model.dropout=0 batch.size=8 budget=8steps optimizer.learning_rate=1e-2 evaluation.every=4
    evaluation.sequences=7 checkpoints.every=4 log.every=1 log.peak=off seed=7 masking.random_from=language
""".split()
RUNS = {
    "shared": [*COMMON],
    "private": [*COMMON, "model.plan='emb,pos,1,softmax'", "optimizer.weight_decay=0.1", "optimizer.kind=adamw"],
    "parts": [*COMMON, "model.plan='1'", "batch.gradient_accumulation=2"],
    "vectors": [*COMMON, "model.language_embeddings=added"],
    "pairs": [*COMMON, "model.max_length=48", "masking.rate=0.5"],  # shares with different numbers of masked pieces
    "fails": [*COMMON],
}


class Ended(NamedTuple):
    """How two processes ended: their exit codes, and what each said."""

    out: Path
    codes: tuple[int, int]
    said: list[str]
    complained: list[str]


def free_ports() -> Iterator[int]:
    """Ports nobody has, below those the system gives to whoever connects."""
    while True:
        port = random.randrange(20_000, 30_000)  # noqa: S311
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            yield port


@pytest.fixture(scope="module")
def two(corpus, tmp_path_factory) -> Ended:
    """The runs on two processes."""
    out = tmp_path_factory.mktemp("two")
    ports = ",".join(str(port) for port in islice(free_ports(), len(RUNS)))
    program = [sys.executable, "-c", WORKER, str(corpus.folder), str(out), json.dumps(RUNS), ports]
    code = subprocess.run(program, check=False, timeout=120).returncode
    texts = [[(out / f"{rank}.{name}").read_text() for rank in (0, 1)] for name in ("out", "err")]
    return Ended(out, (code // 10, code % 10), *texts)


@pytest.mark.parametrize("name", ["shared", "private", "parts", "vectors", "pairs"])
def test_two_processes_have_the_losses_of_one(tmp_path: Path, corpus, nano, two, name):
    parallel = [
        {"en": "A train left.", "fr": "Un train est parti."},
        {"en": "Leo sleeps.", "fr": "Leo dort bien ici."},
        {"en": "A.", "fr": "Le."},
    ]
    config = nano(*RUNS[name])
    pretrain(
        config, corpus.shards, corpus.vocabulary, tmp_path, device="cpu", parallel=parallel if name == "pairs" else ()
    )
    one, other = read_metrics(tmp_path), read_metrics(two.out / name)
    assert [(line["step"], line["kind"]) for line in one] == [(line["step"], line["kind"]) for line in other]
    for key in ("loss", "perplexity"):
        for alone, together in zip(one, other, strict=True):
            assert together.get(key, {}) == pytest.approx(alone.get(key, {}), abs=1e-5, rel=1e-5)
    first, second = open_encoder(tmp_path / "last").state_dict(), open_encoder(two.out / name / "last").state_dict()
    for key, value in first.items():
        torch.testing.assert_close(second[key], value, atol=2e-4, rtol=1e-3)


def test_every_process_tells_its_speed(two):
    assert {len(line["tokens_per_second"]) for line in read_metrics(two.out / "shared") if line["kind"] == "train"} == {
        2
    }


def test_an_error_in_one_ends_all_with_one_message(two):
    assert two.codes == (2, 2), two.complained
    assert "".join(two.said) == "rank 1: x.txt:7: a bad row; mend it\n"
    assert "Traceback" not in "".join(two.complained)
    assert "Warning" not in "".join(two.complained)


def test_a_run_of_two_goes_on_with_one(tmp_path: Path, corpus, nano, two):
    """Rows are numbered for all processes together, so their number may change."""
    done = pretrain(
        nano(*RUNS["shared"]), corpus.shards, corpus.vocabulary, two.out / "shared", device="cpu", resume=True
    )
    assert done.position.step == 8


def test_the_environment_must_be_torchruns(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "many")
    with raises("config.malformed-option", "WORLD_SIZE", "'many'"), join_world("cpu"):
        pass


def test_shares_cover_all_rows_once():
    worlds = [World(rank=rank, size=3, device=torch.device("cpu")) for rank in range(3)]
    rows = list(range(10))
    assert [row for world in worlds for row in rows[world.share_of(10)]] == rows


def test_alone_everything_is_ones_own():
    with join_world("cpu") as world:
        assert (world.first, world.sums([1.0]), world.every(2.0), world.from_first(3.0)) == (True, [1.0], [2.0], 3.0)
        assert float(world.mean(torch.tensor(4.0))) == 4.0
