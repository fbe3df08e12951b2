"""Fine-tuning by the clock: UD English-EWT and WikiAnn English, and the same tagging job with Hugging Face.

    python benchmarks/transfer.py DATA [--size base] [--epochs 10] [--rounds 3] [--device auto] [--job ner] …

DATA has ``ud/en_ewt-ud-train.conllu.xz`` (and dev) and ``wikiann/train-en.tsv.xz`` (and dev). The encoder is new and
its vocabulary is learned from the same sentences: only time is measured here.

First each job as a user has it, from examples to the best epoch, dev included: on a GPU steps are recorded, which is in
the time. Then rounds of one epoch of tagging each, one after the other so that all have the same machine: ours
recorded, ours as it is, and the peer, ``BertForTokenClassification`` of the same shape on the same tokens, in batches
of 32 in random order padded to their longest, bfloat16 on a GPU and a fused AdamW: by ``transformers.Trainer`` where
``accelerate`` is installed, else by a plain loop of the same steps. The ratio is the median of the rounds'.

Target, on an H200 with the base model: 10 epochs of either job under 90 s; twice the peer's examples a second; all of
it in less than 6 minutes. ``--size nano --epochs 1 --sentences 300 --rounds 1 --device cpu`` shows that it runs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import torch

from isoglot.core.config import build_config
from isoglot.core.devices import choose_device
from isoglot.core.optional import import_part
from isoglot.core.progress import SILENT
from isoglot.model import Encoder, encoder_config
from isoglot.transfer import Data, TuneConfig, find_task
from isoglot.transfer.tuning.fine_tuning import TaskTrainer
from isoglot.transfer.tuning.tuned_encoder import autocast, reader_of
from isoglot.vocab import train_vocabulary

FILES = {"parse": "ud/en_ewt-ud-{}.conllu.xz", "ner": "wikiann/{}-en.tsv.xz"}


def new_encoder(size: Any, sentences: list[tuple[str, ...]], folder: Path) -> Encoder:
    path = folder / "en.txt"
    path.write_text("\n".join(" ".join(words) for words in sentences) + "\n", encoding="utf-8")
    vocabulary = train_vocabulary({"en": [path]}, mode="joint", size=32_000 if len(sentences) > 5000 else 4000)
    special = vocabulary.special
    shape = encoder_config(
        "paper",
        size,
        vocabulary_size=len(vocabulary),
        languages=("en",),
        pad_id=special["[PAD]"],
        unk_id=special["[UNK]"],
    )
    return Encoder(shape, vocabulary)


def wait(device: torch.device) -> None:
    """Until a device has done all it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def trainer_of(name: str, encoder: Encoder, train: Data[Any], dev: Data[Any], epochs: int, mode: str) -> TaskTrainer:
    config = build_config(TuneConfig, settings=[f"epochs={epochs}", "batch_size=32", "keep=1", f"cuda_graphs={mode}"])
    return TaskTrainer(encoder, find_task(name), {"en": train}, {"en": dev}, config, None, lambda _: None)


def whole_job(name: str, encoder: Encoder, train: Data[Any], dev: Data[Any], epochs: int, mode: str) -> TaskTrainer:
    """A run from its examples to its best epoch, and what it took."""
    wait(encoder.device)
    start = time.monotonic()
    trainer = trainer_of(name, encoder, train, dev, epochs, mode)
    ready = time.monotonic()
    trainer.train(SILENT)
    tuned = trainer.finish()
    wait(encoder.device)
    end = time.monotonic()
    scored = sum(entry["dev_seconds"] for entry in tuned.history)
    learning = [entry["seconds"] - entry["dev_seconds"] for entry in tuned.history]
    print(
        f"{name}, cuda_graphs={mode}: {len(train):,} examples x {epochs} epochs in {end - start:.1f} s, "
        f"{ready - start:.1f} s of it reading, {scored:.1f} s dev ({len(dev):,} examples)",
        flush=True,
    )
    step = 1000 * sum(learning) / trainer.step
    scores = ", ".join(f"{entry['dev']['en']:.1f}" for entry in tuned.history)
    print(f"  {step:.2f} ms a step all in; {trainer.task.metric} on dev {scores}", flush=True)
    return trainer


def one_epoch(trainer: TaskTrainer) -> float:
    """Seconds of an epoch of a run that has been through one before."""
    with SILENT.task("epoch", total=None, unit="examples") as work:
        trainer.epoch = 0
        wait(trainer.device)
        start = time.monotonic()
        trainer._one_epoch(work)
        wait(trainer.device)
        return time.monotonic() - start


class Peer:
    """The same tagging job with Hugging Face."""

    def __init__(self, encoder: Encoder, train: Data[Any], folder: Path) -> None:
        self.hf: Any = import_part("transformers")
        task = find_task("ner")
        labels = task.learned_labels([train])
        rows = task.rows(train.examples, reader_of(encoder, "en", None), labels, purpose="learn").rows
        config = encoder.config
        self.items: Any = []
        for row in rows:
            ids = row.ids_N.tolist()
            targets = [-100] * len(ids)
            assert row.targets_WK is not None
            for place, target in zip(row.places_W.tolist(), row.targets_WK[:, 0].tolist(), strict=True):
                targets[place] = target
            self.items.append({"input_ids": ids, "labels": targets})
        self.device, self.folder = encoder.device, folder
        self.model = self.hf.BertForTokenClassification(
            self.hf.BertConfig(
                vocab_size=config.vocabulary_size,
                hidden_size=config.hidden_size,
                num_hidden_layers=config.layers,
                num_attention_heads=config.heads,
                intermediate_size=config.intermediate_size,
                max_position_embeddings=config.max_length,
                num_labels=len(labels),
            )
        ).to(self.device)
        self.name = "transformers.Trainer" if find_spec("accelerate") else "a plain loop"

    def run(self, steps: int = -1) -> float:
        """Seconds of an epoch, or of so many steps."""
        return self._by_trainer(steps) if find_spec("accelerate") else self._by_loop(steps)

    def _by_trainer(self, steps: int) -> float:
        options = self.hf.TrainingArguments(
            str(self.folder / "peer"),
            per_device_train_batch_size=32,
            num_train_epochs=1,
            max_steps=steps,
            bf16=self.device.type == "cuda",
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            optim="adamw_torch_fused",
            use_cpu=self.device.type == "cpu",
        )
        trainer = self.hf.Trainer(self.model, options, train_dataset=self.items, data_collator=collate)
        wait(self.device)
        start = time.monotonic()
        trainer.train()
        wait(self.device)
        return time.monotonic() - start

    def _by_loop(self, steps: int) -> float:
        loader: Any = torch.utils.data.DataLoader(self.items, batch_size=32, shuffle=True, collate_fn=collate)
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-5, fused=True)
        self.model.train()
        wait(self.device)
        start = time.monotonic()
        for number, batch in enumerate(loader):
            if number == steps:
                break
            with autocast(self.device, "auto"):
                loss = self.model(**{key: value.to(self.device) for key, value in batch.items()}).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            loss.item()  # Trainer looks at every loss too
        wait(self.device)
        return time.monotonic() - start


def collate(batch: list[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
    width = max(len(item["input_ids"]) for item in batch)

    def padded(key: str, value: int) -> torch.Tensor:
        return torch.tensor([item[key] + [value] * (width - len(item[key])) for item in batch])

    mask = torch.tensor([[1] * len(i["input_ids"]) + [0] * (width - len(i["input_ids"])) for i in batch])
    return {"input_ids": padded("input_ids", 0), "attention_mask": mask, "labels": padded("labels", -100)}


def rounds(encoder: Encoder, train: Data[Any], ours: dict[str, TaskTrainer], count: int, folder: Path) -> None:
    """Epochs of tagging, ours and the peer's in turn."""
    peer = Peer(encoder, train, folder)
    peer.run(steps=20)  # warms up
    found: dict[str, list[float]] = {**{f"cuda_graphs={mode}": [] for mode in ours}, peer.name: []}
    for _ in range(count):
        for mode, trainer in ours.items():
            found[f"cuda_graphs={mode}"].append(one_epoch(trainer))
        found[peer.name].append(peer.run())
    for name, seconds in found.items():
        many = statistics.median(seconds)
        ratio = statistics.median(a / b for a, b in zip(found[peer.name], seconds, strict=True))
        told = "" if name == peer.name else f"; {ratio:.2f} x {peer.name}"
        times = ", ".join(f"{each:.2f}" for each in seconds)
        print(f"  an epoch of ner, {name}: {times} s; {len(train) / many:,.0f} examples/s{told}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--size", default="base")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sentences", type=int, default=None)
    parser.add_argument("--job", choices=list(FILES), default=None, help="left out: both")
    parser.add_argument("--record", choices=["auto", "off"], default="auto")
    given = parser.parse_args()
    device = choose_device(given.device)
    mode = given.record if device.type == "cuda" else "off"
    begun = time.monotonic()
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
    print(f"{given.size}, torch {torch.__version__}, {where}", flush=True)
    for name, pattern in FILES.items():
        if given.job not in (None, name):
            continue
        task = find_task(name)
        train, dev = (task.read(given.data / pattern.format(split), "en") for split in ("train", "dev"))
        if given.sentences is not None:
            train, dev = train.head(given.sentences), dev.head(given.sentences // 5)
        with tempfile.TemporaryDirectory() as folder:
            words = [example.words for example in train.examples]
            encoder = new_encoder(given.size, words, Path(folder)).to(device)
            one = train.head(64), dev.head(32)
            trainer_of(name, encoder, *one, 1, "off").train(SILENT)  # libraries and kernels that load when first used
            trainer = whole_job(name, encoder, train, dev, given.epochs, mode)
            plain = trainer if mode == "off" else trainer_of(name, encoder, train, dev, given.epochs, "off")
            if name == "ner":
                rounds(encoder, train, {mode: trainer, "off": plain}, given.rounds, Path(folder))
            elif mode != "off":
                seconds = one_epoch(plain)
                print(
                    f"  an epoch of {name}, cuda_graphs=off: {seconds:.2f} s; "
                    f"cuda_graphs={mode}: {one_epoch(trainer):.2f} s"
                )
    print(f"all of it: {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
