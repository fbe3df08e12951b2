"""``isoglot retrieve``: what it says when it cannot."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pytest

from isoglot.align import Center
from tests.cli.retrieve_data import ALIGNED, VECTORS


@pytest.mark.usefixtures("without_mini")
def test_sentences_that_cannot_be_compared_are_one_line(sentences, retrieve_folder: Path, tmp_path: Path):
    (retrieve_folder / "short.txt").write_text("le chat dort\nle chien mange\n")
    (retrieve_folder / "blank.txt").write_text("\n" * 6)
    bad = np.ones((12, 5), dtype=np.float32)
    bad[4, 2] = np.nan
    np.save(retrieve_folder / "nan.npy", bad)
    bad[4] = 0
    np.save(retrieve_folder / "zero.npy", bad)
    np.save(retrieve_folder / "one.npy", bad[:1])
    np.save(retrieve_folder / "flat.npy", bad[:4])
    np.save(retrieve_folder / "two.npy", bad[:2])
    np.save(retrieve_folder / "wide.npy", np.ones((12, 7), dtype=np.float32))
    np.save(retrieve_folder / "whole.npy", np.ones((12, 7), dtype=np.int64))
    (retrieve_folder / "junk.npy").write_bytes(b"no such thing")
    np.save(retrieve_folder / "long.npy", np.ones((12, 5), dtype=np.longdouble))
    (retrieve_folder / "torn.npy").write_bytes((retrieve_folder / "x.npy").read_bytes()[:20])
    Center().fit(np.eye(5, dtype=np.float32)).save(retrieve_folder / "center.safetensors")
    model = ("model",)
    cases = [
        (
            (*model, "--parallel", "en=a.txt", "--parallel", "fr=short.txt"),
            "a.txt:3: 6 lines, but short.txt has 2; aligned files",
        ),
        (
            (*model, "--parallel", "en=a.txt", "--parallel", "fr=blank.txt"),
            "a.txt: no row has a sentence in all of en, fr; give at least one",
        ),
        (
            (*model, "--parallel", "en=a.txt"),
            "parallel sentences of one language, en; give files of two or more languages",
        ),
        (
            (*model, "--parallel", "en=a.txt", "--parallel", "en=b.txt"),
            "--parallel en=b.txt: en has a file already; join them into one",
        ),
        (
            (*model, "--parallel", "en=a.txt", "--parallel", "table.tsv"),
            (
                "--parallel 'table.tsv' is a whole set, and there is more; name the language of a file: "
                "--parallel en=table.tsv; or give one table or folder"
            ),
        ),
        (
            (*model, "--parallel", "none.tsv"),
            "--parallel 'none.tsv': no such file; write en=file.txt, or name a table or folder",
        ),
        (
            (*model, "--parallel", "table.tsv", "--langs", "en,ru"),
            "table.tsv has no column ru; choose among en, fr, de",
        ),
        (
            (*model, "--parallel", "table.tsv", "--langs", "en"),
            "table.tsv",
        ),
        (
            (*ALIGNED, "--langs", "en,fr"),
            "--langs chooses from a table or folder; leave it out: the files name theirs",
        ),
        (
            (*model, "--parallel", "tatoeba"),
            "tatoeba is a folder of test sets with English, and no language is chosen; choose some, such as de and fr",
        ),
        (
            (*model, "--parallel", "tatoeba", "--langs", "de"),
            "tatoeba: no Tatoeba test set of 'de'; there should be tatoeba.xxx-eng.xxx and .eng",
        ),
        ((*ALIGNED, "--method", "clss"), "unknown method 'clss'; did you mean 'csls'?"),
        ((*ALIGNED, "--center", "median"), "unknown center 'median'; did you mean 'mean'?"),
        (
            (*ALIGNED, "--layers", "last"),
            "--layers 'last' is not a list of numbers; write --layers all, or --layers 0,4,-1",
        ),
        (
            ("model", "--source", "x.npy", "--target", "x.npy"),
            "MODEL and --source FILE exclude each other; give vectors, or a model",
        ),
        (
            ("--source", "x.npy", "--target", "x.npy", "--pool", "first"),
            "--pool and --source FILE exclude each other; give vectors, or a model",
        ),
        (("--source", "x.npy"), "--source and --target go together; give both, or a MODEL"),
        (
            ("--source", "x.npy", "--target", "one.npy"),
            "12 in x.npy (source), 1 in one.npy (target); row i of one must be the translation of row i of the other",
        ),
        (
            ("--source", "x.npy", "--target", "wide.npy"),
            "7 in wide.npy",
        ),
        (("--source", "x.npy", "--target", "nan.npy"), "nan.npy: row 5"),
        (("--source", "zero.npy", "--target", "x.npy"), "zero.npy: row 5"),
        (
            ("--source", "one.npy", "--target", "one.npy"),
            "one.npy has 1 row",
        ),
        (
            ("--source", "two.npy", "--target", "two.npy"),
            "two.npy has 2 rows",
        ),
        (
            ("--source", "flat.npy", "--target", "flat.npy"),
            "flat.npy: row 1",
        ),
        (
            ("--source", "x.npy", "--target", "layers.npy"),
            "layers.npy 0, 1",
        ),
        (
            ("--source", "layers.npy", "--target", "layers.npy", "--layers", "7"),
            "layer 7",
        ),
        (
            ("--source", "x.npy", "--target", "whole.npy"),
            "whole.npy: an array of int64",
        ),
        (
            ("--source", "x.npy", "--target", "long.npy"),
            f"long.npy: an array of {np.dtype(np.longdouble)}",
        ),
        (
            ("--source", "x.npy", "--target", "no.npy"),
            "no.npy: cannot read: no such file or folder; check the spelling of the path",
        ),
        (
            ("--source", "layers.npy", "--target", "layers.npy", "--map", "map.safetensors"),
            "layer 0 of layers.npy",
        ),
        (
            ("--source", "wide.npy", "--target", "wide.npy", "--map", "map.safetensors"),
            "wide.npy 7",
        ),
        (
            ("--source", "x.npy", "--target", "x.npy", "--map", "center.safetensors"),
            "center.safetensors: a Center",
        ),
    ]
    for options, message in cases:
        result = sentences(*options, "--quiet")
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert message in result.err
    for name in ("torn.npy", "junk.npy"):
        bad = sentences("--source", "x.npy", "--target", name, "--out", str(tmp_path / "out"))
        bad.failed("storage", name)
    assert not (tmp_path / "out").exists()
    sentences(*ALIGNED[1:]).failed("config.not-supported")


def test_words_that_cannot_be_compared_are_one_line(words, retrieve_folder: Path):
    (retrieve_folder / "none.txt").write_text("sky ciel\nw1 ciel\n")
    (retrieve_folder / "empty.txt").write_text("")
    (retrieve_folder / "foreign.txt").write_text("sky ciel\nsea mer\n")
    model = ("model", "--dictionary")
    text = ("--text", "en=a.txt", "--text", "fr=b.txt")
    need = "there is no en text for words in context, and the model is not a table of static vectors; give text"
    cases = [
        (
            (*VECTORS[:-1], "none.txt"),
            "none.txt: no entry of the dictionary has both words: 1 of 2 source words and 0 of 1 target words have vectors; check the two languages",
        ),
        (
            (*VECTORS[:-1], "empty.txt"),
            "empty.txt: ",
        ),
        ((*VECTORS, "--dictionary", "none.txt"), "two files of vectors have one dictionary; give --dictionary once"),
        (
            ("--source", "x.npy", "--target", "y.vec", "--dictionary", "w.txt"),
            "x.npy",
        ),
        ((*VECTORS, *text), "--text and --source FILE exclude each other; give vectors, or a model"),
        *(
            ((*VECTORS, *option), f"{option[0]} and --source FILE exclude each other; give vectors, or a model")
            for option in (("--case", "keep"), ("--contexts", "3"), ("--words-as", "embeddings"))
        ),
        *(
            (
                (*model, "en-fr=en-fr.txt", "--words-as", "embeddings", *option),
                f"{option[0]} and --words-as embeddings exclude each other; leave it out: there is one row a word, from no text",
            )
            for option in (("--case", "keep"), ("--contexts", "4"), ("--layers", "1"), ("--rows", "3"), text[:2])
        ),
        (
            ("--source", "empty.txt", "--target", "y.vec", "--dictionary", "w.txt"),
            "empty.txt: ",
        ),
        ((*model, "en-fr=en-fr.txt"), need),
        (
            (*model, "en-fr.txt", *text),
            "--dictionary 'en-fr.txt' is not from-to=path; write it as --dictionary en-fr=file.txt",
        ),
        ((*model, "en-fr=en-fr.txt", *text[:2]), "there is no fr text; give it, beside that of en"),
        ((*model, "en-en=en-fr.txt", *text), "en-en is one language; name two languages"),
        (
            (*model, "en-fr=foreign.txt", *text),
            "foreign.txt: no entry of the dictionary has both words: 0 of 2 source words and 0 of 2 target words have vectors; check the two languages",
        ),
        (
            (*model, "en-fr=foreign.txt", "--words-as", "embeddings"),
            "foreign.txt: no entry of the dictionary has both words: 0 of 2 source words and 0 of 2 target words have vectors; check the two languages",
        ),
        (
            (*model, "en-fr=en-fr.txt", "--text", "en=empty.txt", "--text", "fr=b.txt"),
            "empty.txt:",
        ),
    ]
    for options, message in cases:
        result = words(*options, "--quiet")
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert message in result.err
