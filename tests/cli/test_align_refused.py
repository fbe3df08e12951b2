"""What ``isoglot align`` refuses, in one line each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.align_options import FILES, TEXTS


@pytest.mark.parametrize(
    ("use", "options", "line"),
    [
        (
            "sentences",
            (),
            "--parallel is missing; give --parallel en=a.txt --parallel fr=b.txt, or built-in languages: --langs en,fr",
        ),
        ("sentences", FILES[:2], "--parallel names en; name two languages: --parallel en=a.txt --parallel fr=b.txt"),
        ("sentences", ("--parallel", "no.tsv"), "--parallel 'no.tsv': no such file; write --parallel en=a.txt"),
        (
            "sentences",
            (*FILES, "--langs", "en,fr"),
            "--langs chooses from a table; leave it out: the files name theirs",
        ),
        (
            "sentences",
            ("--langs", "english"),
            "--langs 'english' is not two languages; write them as --langs en,fr",
        ),
        ("sentences", ("--langs", "eng,en"), "--langs 'eng,en' is en twice; name two languages: --langs en,fr"),
        (
            "sentences",
            ("--langs", "en,fr", "--test-parallel", "@/p.tsv"),
            "--test-parallel without --parallel; give --parallel too, or leave it out: built-in sentences have a test",
        ),
        (
            "sentences",
            ("--parallel", "en=@/p.en", "--parallel", "de=@/p.fr", "--test-parallel", "@/p.tsv"),
            "--test-parallel @/p.tsv has no de; it has en, fr",
        ),
        ("sentences", ("--langs", "en,sw"), "'sw' is not a built-in language; "),
        ("sentences", (*FILES, "--parallel", "en=@/p.fr"), "--parallel en=@/p.fr: en has a file already; join them"),
        ("sentences", (*FILES, "--layers", "7"), "there is no layer 7; choose from 0 (the embeddings) to 2, or all"),
        ("sentences", (*FILES, "--layers", "top"), "--layers 'top' is no list of numbers; write --layers all"),
        ("sentences", (*FILES, "--method", "ridge", "--set", "options.p=1"), "Ridge has no option 'p'; "),
        ("sentences", (*FILES, "--set", "test_share=2"), "--set test_share=2: test_share = 2 should be less than 1; "),
        (
            "words",
            ("--langs", "en,fr", "--links", "@/p.align"),
            "--links without --parallel; give both, or neither and --langs en,fr",
        ),
        (
            "words",
            (*FILES, "--links", "@/p.align", "--test-links", "@/p.align"),
            "--test-links without --test-parallel; give both, or neither\n",
        ),
        (
            "words",
            (*FILES, "--links", "@/p.align", "--test-parallel", "@/p.tsv"),
            "--links and --test-parallel, but no --test-links; give the test's links, too",
        ),
        (
            "words",
            (*FILES, "--links", "@/p.align", "--segment", "auto"),
            "--segment and --links together; the links are there already: leave one out",
        ),
        (
            "words",
            ("--langs", "en,fr", "--aligner", "@/x"),
            "--aligner with built-in sentences; leave it out: their links are known",
        ),
        ("words", (*FILES, "--aligner", "@/none.safetensors"), "@/none.safetensors: cannot read: no such file"),
        (
            "sentences",
            (*FILES, "--test-parallel", "en=@/p.en", "--test-parallel", "de=@/p.fr"),
            "--test-parallel names en and de, --parallel en and fr; score on the languages that were aligned",
        ),
        (
            "sentences",
            (*FILES, "--test-parallel", "@/p.tsv"),
            "of 150 sentences of the test",
        ),
        (
            "types",
            (*TEXTS[:2], "--dictionary", "en-fr=@/train.txt"),
            "--text names en, the dictionary en and fr; give --text en=FILE --text fr=FILE",
        ),
        (
            "embeddings",
            ("--dictionary", "en-fr=@/train.txt", "--test", "en-de=@/test.txt"),
            "dictionaries of en-de and en-fr; align one pair at a time",
        ),
        (
            "embeddings",
            ("--dictionary", "en-fr=@/train.txt", "--test", "en-fr=@/train.txt"),
            "source words of the test are in training as well: ",
        ),
    ],
)
def test_one_line_says_what_is_wrong(align_run, align_folder: Path, use: str, options: tuple[str, ...], line: str):
    result = align_run(use, *options)
    assert (result.code, result.out) == (2, "")
    assert line.replace("@", str(align_folder)) in result.err
    assert result.err.startswith("isoglot: ")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("use", "files", "options", "line"),
    [
        (
            "sentences",
            {"a": "one\ntwo\nthree\n", "b": "un\n"},
            ("--parallel", "en=@a", "--parallel", "fr=@b"),
            "@a:2: 3 lines, but @b has 1; aligned files have the same sentence on the same line",
        ),
        (
            "sentences",
            {"a": "one\n\n", "b": "un\ndeux\n"},
            ("--parallel", "en=@a", "--parallel", "fr=@b"),
            "@a: no en sentence on line 2; leave the line out in both languages",
        ),
        ("sentences", {"a": "", "b": ""}, ("--parallel", "en=@a", "--parallel", "fr=@b"), "@a: there is no sentence; "),
        (
            "sentences",
            {"a": "one\n", "b": "un\n"},
            ("--parallel", "en=@a", "--parallel", "fr=@b"),
            "nothing of 1 pairs can be held out: there must be two at least; give more pairs, or a test of their own",
        ),
        (
            "words",
            {"a": "one two\n", "b": "un deux\n", "l": "0-0\n1-1\n"},
            ("--parallel", "en=@a", "--parallel", "fr=@b", "--links", "@l"),
            "@l: 2 lines of links for the 1 sentence pairs of @a; give one line of links, even a blank one",
        ),
        (
            "words",
            {"a": "one two\n", "b": "un deux\n", "l": "0-0 1-2\n"},
            ("--parallel", "en=@a", "--parallel", "fr=@b", "--links", "@l"),
            "@l:1: the link 1-2 points past the 2 words of fr in @a:1; positions count from 0",
        ),
        (
            "words",
            {"a": "one two\n", "b": "un deux\n", "l": "0:0\n"},
            ("--parallel", "en=@a", "--parallel", "fr=@b", "--links", "@l"),
            "@l:1: '0:0' is not a link; write source-target",
        ),
        ("embeddings", {"d": ""}, ("--dictionary", "en-fr=@d"), "the dictionary has no entries; "),
        (
            "embeddings",
            {"d": "zzqqzz xxqqxx\n"},
            ("--dictionary", "en-fr=@d"),
            "no entry of the dictionary has both words: 0 of 1 source words and 0 of 1 target words have vectors; ",
        ),
        ("embeddings", {"d": "cat\n"}, ("--dictionary", "en-fr=@d"), "@d:1: 'cat' is not two words; "),
        (
            "embeddings",
            {"d": "dog chien\n", "t": "cat chat\n"},
            ("--dictionary", "en-fr=@d", "--test", "en-fr=@t"),
            "1 of 1 source words of the test is known to pretraining from a dictionary: 'cat'; leave them out",
        ),
    ],
)
def test_bad_files(align_run, tmp_path: Path, use: str, files: dict[str, str], options: tuple[str, ...], line: str):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    place = f"{tmp_path}/"
    result = align_run(use, *(option.replace("@", place) for option in options))
    assert result.code == 2
    assert f"isoglot: {line.replace('@', place)}" in result.err
    assert not list((tmp_path / "map").glob("*.safetensors"))
    assert not list((tmp_path / "map").glob(".vectors*"))
    assert not (tmp_path / "map").exists()
