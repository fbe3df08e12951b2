"""What ``isoglot align`` refuses, in one line each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.align_options import FILES, TEXTS


@pytest.mark.parametrize(
    ("use", "options", "expected"),
    [
        (
            "sentences",
            (),
            ("config.missing-option", "--parallel"),
        ),
        ("sentences", FILES[:2], ("config.other-language", "--parallel", "en")),
        ("sentences", ("--parallel", "no.tsv"), ("config.missing-file", "--parallel", "'no.tsv'")),
        (
            "sentences",
            (*FILES, "--langs", "en,fr"),
            ("config.conflicting-options", "--langs"),
        ),
        (
            "sentences",
            ("--langs", "english"),
            ("config.malformed-option", "--langs", "'english'"),
        ),
        ("sentences", ("--langs", "eng,en"), ("config.duplicate", "--langs", "'eng,en'", "en")),
        (
            "sentences",
            ("--langs", "en,fr", "--test-parallel", "@/p.tsv"),
            ("config.missing-option", "--test-parallel", "--parallel"),
        ),
        (
            "sentences",
            ("--parallel", "en=@/p.en", "--parallel", "de=@/p.fr", "--test-parallel", "@/p.tsv"),
            ("config.missing-data", "--test-parallel", "de"),
        ),
        ("sentences", ("--langs", "en,sw"), ("config.built-in-language", "'sw'")),
        ("sentences", (*FILES, "--parallel", "en=@/p.fr"), ("config.duplicate", "--parallel", "en")),
        ("sentences", (*FILES, "--layers", "7"), ("config.unknown-layer", "7")),
        ("sentences", (*FILES, "--layers", "top"), ("config.malformed-option", "--layers", "'top'")),
        ("sentences", (*FILES, "--method", "ridge", "--set", "options.p=1"), ("config.unknown-name", "'p'")),
        (
            "sentences",
            (*FILES, "--set", "test_share=2"),
            ("config.invalid-value", "--set", "test_share=2", "test_share", "2", "1"),
        ),
        (
            "words",
            ("--langs", "en,fr", "--links", "@/p.align"),
            ("config.missing-option", "--links", "--parallel"),
        ),
        (
            "words",
            (*FILES, "--links", "@/p.align", "--test-links", "@/p.align"),
            ("config.missing-option", "--test-links", "--test-parallel"),
        ),
        (
            "words",
            (*FILES, "--links", "@/p.align", "--test-parallel", "@/p.tsv"),
            ("config.missing-option", "--links", "--test-parallel", "--test-links"),
        ),
        (
            "words",
            (*FILES, "--links", "@/p.align", "--segment", "auto"),
            ("config.conflicting-options", "--segment", "--links"),
        ),
        (
            "words",
            ("--langs", "en,fr", "--aligner", "@/x"),
            ("config.conflicting-options", "--aligner"),
        ),
        ("words", (*FILES, "--aligner", "@/none.safetensors"), ("storage.not-found",)),
        (
            "sentences",
            (*FILES, "--test-parallel", "en=@/p.en", "--test-parallel", "de=@/p.fr"),
            ("config.other-language", "--test-parallel", "en", "de", "--parallel", "fr"),
        ),
        (
            "sentences",
            (*FILES, "--test-parallel", "@/p.tsv"),
            ("input.leak", "150"),
        ),
        (
            "types",
            (*TEXTS[:2], "--dictionary", "en-fr=@/train.txt"),
            ("config.other-language", "--text", "en", "fr"),
        ),
        (
            "embeddings",
            ("--dictionary", "en-fr=@/train.txt", "--test", "en-de=@/test.txt"),
            ("config.other-language", "en-de", "en-fr"),
        ),
        (
            "embeddings",
            ("--dictionary", "en-fr=@/train.txt", "--test", "en-fr=@/train.txt"),
            ("input.leak", "'a'"),
        ),
    ],
)
def test_one_line_says_what_is_wrong(
    align_run, align_folder: Path, use: str, options: tuple[str, ...], expected: tuple[str, ...]
):
    result = align_run(use, *options)
    assert (result.code, result.out) == (2, "")
    result.failed(*expected)
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("use", "files", "options", "expected"),
    [
        (
            "sentences",
            {"a": "one\ntwo\nthree\n", "b": "un\n"},
            ("--parallel", "en=@a", "--parallel", "fr=@b"),
            ("input.line-count", "2", "3", "1"),
        ),
        (
            "sentences",
            {"a": "one\n\n", "b": "un\ndeux\n"},
            ("--parallel", "en=@a", "--parallel", "fr=@b"),
            ("input.malformed-line", "en", "2"),
        ),
        ("sentences", {"a": "", "b": ""}, ("--parallel", "en=@a", "--parallel", "fr=@b"), ("input.empty",)),
        (
            "sentences",
            {"a": "one\n", "b": "un\n"},
            ("--parallel", "en=@a", "--parallel", "fr=@b"),
            ("input.too-few", "1"),
        ),
        (
            "words",
            {"a": "one two\n", "b": "un deux\n", "l": "0-0\n1-1\n"},
            ("--parallel", "en=@a", "--parallel", "fr=@b", "--links", "@l"),
            ("input.line-count", "2", "1"),
        ),
        (
            "words",
            {"a": "one two\n", "b": "un deux\n", "l": "0-0 1-2\n"},
            ("--parallel", "en=@a", "--parallel", "fr=@b", "--links", "@l"),
            ("input.out-of-range", "1", "1-2", "2", "fr"),
        ),
        (
            "words",
            {"a": "one two\n", "b": "un deux\n", "l": "0:0\n"},
            ("--parallel", "en=@a", "--parallel", "fr=@b", "--links", "@l"),
            ("input.malformed-line", "1", "'0:0'"),
        ),
        ("embeddings", {"d": ""}, ("--dictionary", "en-fr=@d"), ("input.empty",)),
        (
            "embeddings",
            {"d": "zzqqzz xxqqxx\n"},
            ("--dictionary", "en-fr=@d"),
            ("input.no-match", "0", "1"),
        ),
        ("embeddings", {"d": "cat\n"}, ("--dictionary", "en-fr=@d"), ("input.malformed-line", "1", "'cat'")),
        (
            "embeddings",
            {"d": "dog chien\n", "t": "cat chat\n"},
            ("--dictionary", "en-fr=@d", "--test", "en-fr=@t"),
            ("input.leak", "1", "'cat'"),
        ),
    ],
)
def test_bad_files(
    align_run, tmp_path: Path, use: str, files: dict[str, str], options: tuple[str, ...], expected: tuple[str, ...]
):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    place = f"{tmp_path}/"
    result = align_run(use, *(option.replace("@", place) for option in options))
    result.failed(*expected)
    assert not list((tmp_path / "map").glob("*.safetensors"))
    assert not list((tmp_path / "map").glob(".vectors*"))
    assert not (tmp_path / "map").exists()
