"""Counts of chunks stand for the text: the trainer sees the same words as often, and learns the same."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, pre_tokenizers, trainers

from isoglot.vocab import train as module
from isoglot.vocab import train_vocabulary
from isoglot.vocab.subword_scheme import BYTES, SPECIAL, empty_model, normalizer, word_splitter
from isoglot.vocab.survey import text_lines
from isoglot.vocab.train import Repeated, count_chunks, grouped
from tests.errors import raises

LINES = st.lists(
    st.text(st.sampled_from("ab  1é☃#▁\u0301漢."), min_size=1).filter(lambda line: not line.isspace()), max_size=30
)


@given(LINES, st.sampled_from(["bpe", "wordpiece"]))
def test_the_trainer_meets_every_word_as_often_as_in_the_text(lines, model):
    form, splitter = normalizer("nfc").normalize_str, word_splitter(model)
    repeated = pre_tokenizers.Sequence([splitter, pre_tokenizers.PreTokenizer.custom(Repeated())])
    expected = Counter(word for line in lines for word, _ in splitter.pre_tokenize_str(form(line)))
    counts, every = count_chunks(lambda: iter(lines), held=10_000)
    texts = [f"{count} {text}" for count, text in grouped(counts)]
    assert every == 1
    assert Counter(word for text in texts for word, _ in repeated.pre_tokenize_str(form(text))) == expected


@given(st.dictionaries(st.text("ab", max_size=6), st.integers(1, 60)))
def test_a_chunk_that_counts_very_much_goes_in_several_texts(counts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_COPIES", 20)
        found: Counter[str] = Counter()
        for count, text in grouped(counts):
            assert count * len(text) <= 20
            for chunk in text.split(" "):
                found[chunk] += count
    assert found == counts


def test_with_too_many_chunks_every_so_many_lines_are_read():
    lines = [f"the w{number}" for number in range(1000)]
    counts, every = count_chunks(lambda: iter(lines), held=1000)
    assert every == 4
    assert counts == Counter(chunk for line in lines[::4] for chunk in line.split(" "))
    assert sum(map(len, counts)) <= 1100  # it looks after blocks of lines
    assert count_chunks(lambda: iter(["the same"] * 10_000), held=1000)[1] == 1


def test_bpe_is_what_tokenizers_learns_from_the_lines(texts):
    paths = texts["en"]
    vocabulary = train_vocabulary({"en": paths}, mode="joint", size=900)
    letters = [piece for piece in vocabulary.pieces if len(piece) == 1]
    tokenizer = Tokenizer(empty_model("bpe", "bytes"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer("nfc"), word_splitter("bpe")
    trainer = trainers.BpeTrainer(
        vocab_size=900,
        special_tokens=[*SPECIAL, *BYTES],
        initial_alphabet=letters,
        limit_alphabet=len(letters),
        show_progress=False,
    )
    tokenizer.train_from_iterator(text_lines(paths), trainer)
    models = [json.loads(made.to_str())["model"] for made in (tokenizer, vocabulary.tokenizer("en"))]
    assert models[0] == models[1]
    assert vocabulary.about["learned"] == {"en": {"every": 1}}


def test_a_line_that_is_no_text(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text("fine\n" + "x" * 1_000_001 + "\n", encoding="utf-8")
    with raises("input.line-length", path, 2, "1,000,001"):
        train_vocabulary({"en": [path]}, mode="joint", size=900)


def test_ctrl_c_is_heard_while_pieces_are_learned(tmp_path):
    """The trainer itself cannot be broken off."""
    path = tmp_path / "en.txt"
    chance = random.Random(0)  # noqa: S311 - not for secrets
    path.write_text("".join("".join(chance.choices("abcdefgh", k=60)) + "\n" for _ in range(60_000)), encoding="utf-8")
    program = "from isoglot.__main__ import entry; entry()"
    command = [sys.executable, "-c", program, "vocab", "train", "--text", f"en={path}", "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        assert run.stderr is not None
        assert any("counting" in line for line in run.stderr)
        time.sleep(1)
        os.killpg(run.pid, signal.SIGINT)
        start = time.monotonic()
        errors = run.stderr.read()
    assert (run.returncode, errors) == (130, "isoglot: interrupted\n")
    assert time.monotonic() - start < 20
    assert not (tmp_path / "out").exists()
