"""How long a check-up takes: a BERT of 6 layers x 384 with random weights, built-in sentences in five languages.

    python benchmarks/diagnose.py [--sentences 1000] [--threads 2]

The target is two minutes on two quiet cores for 1,000 sentences in each of five languages. Wall time is what a user
waits for; on a machine that has other things to do, time of the processor over the number of threads is nearer to what
a quiet one would take.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import BertConfig, BertModel

from isoglot.core.progress import choose_progress
from isoglot.diagnose import all_findings, builtin_set, diagnose
from isoglot.languages import LANGUAGES, parallel
from isoglot.model import load_encoder
from isoglot.vocab.subword_scheme import SPECIAL


def save_model(folder: Path) -> None:
    """An untrained BERT with a WordPiece tokenizer of the built-in languages."""
    torch.manual_seed(0)
    tokenizer = Tokenizer(models.WordPiece(unk_token=SPECIAL[1]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    texts = (sentence.text for row in islice(parallel(LANGUAGES), 2000) for sentence in row)
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=8000, special_tokens=list(SPECIAL)))
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
    )
    model: Any = BertModel
    model(config).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder))
        encoder = load_encoder(folder, device="cpu")
    wall, processor = time.perf_counter(), time.process_time()
    sentences = builtin_set(LANGUAGES, options.sentences)
    found = diagnose(encoder, [sentences], name="random", progress=choose_progress())
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{options.sentences:,} sentences x {len(LANGUAGES)} languages, {len(found.layers)} layers x {found.width}")
    print(
        f"  {wall:.1f} s, {options.threads} threads; {processor:.1f} s of processor time (target: 120 s on two cores)"
    )
    for each in all_findings(found)[:3]:
        print(f"  {each.text}")


if __name__ == "__main__":
    main()
