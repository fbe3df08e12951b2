"""Fine-tuning by the clock: UD English-EWT and WikiAnn English, and the same tagging job with Hugging Face.

    python benchmarks/transfer.py DATA [--size base] [--epochs 10] [--device auto] [--sentences N]

DATA has ``ud/en_ewt-ud-train.conllu.xz`` (and dev) and ``wikiann/train-en.tsv.xz`` (and dev). The encoder is new and
its vocabulary is learnt from the same sentences: only time is measured here. The peer is
``BertForTokenClassification`` of the same shape on the same tokens, in batches of 32 in random order padded to their
longest, bfloat16 on a GPU and a fused AdamW: by ``transformers.Trainer`` where ``accelerate`` is installed, else by a
plain loop of the same steps.

Target, on an H200 with the base model: 10 epochs of either under 90 s; twice the peer's examples a second.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import torch

from isoglot.core.config import build_config
from isoglot.core.devices import choose_device
from isoglot.core.parts import import_part
from isoglot.model import Encoder, encoder_config
from isoglot.transfer import Data, TuneConfig, find_task, fine_tune
from isoglot.transfer.tuned import autocast, reader_of
from isoglot.vocab import train_vocabulary

FILES = {"parse": ("ud/en_ewt-ud-{}.conllu.xz"), "ner": "wikiann/{}-en.tsv.xz"}


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


def peer(encoder: Encoder, train: Data[Any], epochs: int, folder: Path) -> tuple[str, float]:
    """Seconds of the same tagging job with Hugging Face, dev not counted."""
    hf: Any = import_part("transformers")
    task = find_task("ner")
    labels = task.learned_labels([train])
    rows = task.rows(train.examples, reader_of(encoder, "en", None), labels, purpose="learn").rows
    special, config = encoder.vocabulary.special, encoder.config
    items = []
    for row in rows:
        ids = [special["[CLS]"], *row.ids_N.tolist(), special["[SEP]"]]
        targets = [-100] * len(ids)
        assert row.targets_WK is not None
        for place, target in zip(row.places_W.tolist(), row.targets_WK[:, 0].tolist(), strict=True):
            targets[place] = target
        items.append({"input_ids": ids, "labels": targets})
    model = hf.BertForTokenClassification(
        hf.BertConfig(
            vocab_size=config.vocabulary_size,
            hidden_size=config.width,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            intermediate_size=config.inner,
            max_position_embeddings=config.length,
            num_labels=len(labels),
        )
    ).to(encoder.device)

    def collate(batch: list[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
        width = max(len(item["input_ids"]) for item in batch)

        def padded(key: str, value: int) -> torch.Tensor:
            return torch.tensor([item[key] + [value] * (width - len(item[key])) for item in batch])

        mask = torch.tensor([[1] * len(i["input_ids"]) + [0] * (width - len(i["input_ids"])) for i in batch])
        return {"input_ids": padded("input_ids", 0), "attention_mask": mask, "labels": padded("labels", -100)}

    if find_spec("accelerate"):
        options = hf.TrainingArguments(
            str(folder / "peer"),
            per_device_train_batch_size=32,
            num_train_epochs=epochs,
            bf16=encoder.device.type == "cuda",
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            optim="adamw_torch_fused",
            use_cpu=encoder.device.type == "cpu",
        )
        trainer = hf.Trainer(model, options, train_dataset=items, data_collator=collate)
        start = time.monotonic()
        trainer.train()
        return "transformers.Trainer", time.monotonic() - start
    dataset: Any = items
    loader: Any = torch.utils.data.DataLoader(dataset, batch_size=32, shuffle=True, collate_fn=collate)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-5, fused=True)
    start = time.monotonic()
    model.train()
    for _ in range(epochs):
        for batch in loader:
            with autocast(encoder.device, "auto"):
                loss = model(**{key: value.to(encoder.device) for key, value in batch.items()}).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            loss.item()  # Trainer looks at every loss too
    return "a plain loop", time.monotonic() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--size", default="base")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sentences", type=int, default=None)
    given = parser.parse_args()
    device = choose_device(given.device)
    config = build_config(TuneConfig, settings=[f"epochs={given.epochs}", "batch=32", "keep=1"])
    for name, pattern in FILES.items():
        task = find_task(name)
        train, dev = (task.read(given.data / pattern.format(split), "en") for split in ("train", "dev"))
        if given.sentences is not None:
            train, dev = train.head(given.sentences), dev.head(given.sentences // 5)
        with tempfile.TemporaryDirectory() as folder:
            words = [example.words for example in train.examples]
            encoder = new_encoder(given.size, words, Path(folder)).to(device)
            start = time.monotonic()
            tuned = fine_tune(encoder, task, {"en": train}, {"en": dev}, config)
            whole = time.monotonic() - start
            epochs = [entry["seconds"] for entry in tuned.history]
            scores = ", ".join(f"{entry['dev']['en']:.1f}" for entry in tuned.history)
            print(
                f"{name}: {len(train):,} examples x {given.epochs} epochs in {whole:.1f} s, dev ({len(dev):,}) included"
            )
            print(f"  epochs of {min(epochs):.2f} to {max(epochs):.2f} s; {task.metric} on dev {scores}")
            if name == "ner":
                by, seconds = peer(encoder, train, given.epochs, Path(folder))
                print(f"  {by}: {seconds:.1f} s without dev: {seconds / whole:.2f} x ours with dev")


if __name__ == "__main__":
    main()
