"""``isoglot fix``: its options, the folder it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoglot.core.files import read_json
from isoglot.model import load_encoder

QUICK = ("--set", "resamples=20", "--set", "copies=10", "--device", "cpu", "-q")


@pytest.fixture
def fix(isoglot, align_folder: Path):
    """``fix(*options)``: fix the nano encoder on its translations; ``@`` stands for the folder."""

    def go(*options: str, sets: tuple[str, ...] = ("en=@/p.en", "fr=@/p.fr")):
        given = [word for each in sets for word in ("--parallel", each)]
        words = ["fix", "@/model", *given, *QUICK, *options]
        return isoglot(*(word.replace("@", str(align_folder)) for word in words))

    return go


def test_the_folder_is_a_model_and_can_be_written_again(fix, tmp_path: Path):
    out = tmp_path / "fixed"
    for name in ("leace", "trimmed"):
        result = fix("--set", f"method={name}", "--out", str(out))
        assert (result.code, result.err) == (0, "")
        facts = read_json(out / "fix.json")
        assert facts["written"]["name"] == name
        assert facts["difference"] < 1e-5
        assert "## Fixed with isoglot" in (out / "README.md").read_text()
        assert load_encoder(out, device="cpu").sentence_head is not None
    assert facts["mixed"][0]["finds"] == "a translation"
    assert sum(row["after"]["value"] for row in facts["mixed"]) == pytest.approx(1)


def test_earlier_layers_are_tried_and_none_if_not_wanted(fix):
    tried = [json.loads(fix("--json", *more).out)["tried"] for more in ((), ("--set", "layers_tried=0"))]
    assert len({each["layer"] for each in tried[0]}) <= 2
    assert {each["layer"] for each in tried[1]} == {max(each["layer"] for each in tried[0])}


def test_own_queries_are_compared_before_and_after(fix, align_folder: Path, tmp_path: Path):
    pairs = zip(*((align_folder / f"p.{code}").read_text().splitlines()[:20] for code in ("fr", "en")), strict=True)
    (tmp_path / "pairs.tsv").write_text("".join(f"{fr}\t{en}\n" for fr, en in pairs))
    facts = json.loads(fix("--json", "--set", "method=leace", "--eval", f"fr-en={tmp_path}/pairs.tsv").out)
    (task,) = facts["tasks"]
    assert (task["name"], task["languages"], task["queries"]) == ("pairs.tsv", ["fr", "en"], 20)
    assert set(task["gain"]) == {"first", "recall", "ndcg"}


def test_means_of_other_text_are_used(fix):
    plain, other = (
        json.loads(fix("--json", "--set", "method=leace", *more).out)["gain"]["value"]
        for more in ((), ("--means-from", "fr=@/text.fr", "--means-from", "en=@/text.en"))
    )
    assert plain != other


@pytest.mark.parametrize(
    ("options", "code", "value"),
    [
        (["--means-from", "sw=@/text.en"], "config.unknown-name", "sw"),
        (["--eval", "no.tsv"], "config.missing-file", "no.tsv"),
        (["--eval", "@/p.en"], "input.column-count", "tab"),
        (["--eval", "xx-1=@/p.tsv"], "config.malformed-option", "xx-1"),
        (["--pool", "mean"], "usage", "mean"),
        (["--set", "method=magic"], "config.invalid-value", "magic"),
    ],
)
def test_bad_options_are_one_line(fix, options: list[str], code: str, value: str):
    fix(*options).failed(code, value)
