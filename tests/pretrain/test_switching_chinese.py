"""Chinese is switched on the device, in words with blanks between them and without."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.pretrain.code_switching import DeviceSwitcher
from isoglot.pretrain.code_switching_table import SwitchTable, dictionaries_record
from isoglot.text.formats.dictionary import Entry
from isoglot.vocab import Vocabulary, train_vocabulary
from tests.pretrain.plain_switching import decoded, plainly, spans_in, table_of

CHINESE = "我用电脑写字。他用电脑写信。电脑公司用电。公司写信用Python写。\n他的目的是写字，目的地是公司 电脑。\n"
WORDS = {("en", "zh"): [Entry("computer", "电脑"), Entry("write", "写"), Entry("of", "的"), Entry("firm", "公司"), Entry("trust", "信用")]}  # fmt: skip


def test_segmented_chinese_is_switched(tmp_path: Path):
    (tmp_path / "zh").write_text("我 用 电脑 写 字 。\n他 用 电脑 。\n" * 20, encoding="utf-8")
    (tmp_path / "en").write_text("the computer writes .\n" * 20, encoding="utf-8")
    vocabulary = train_vocabulary(
        {"zh": [tmp_path / "zh"], "en": [tmp_path / "en"]}, mode="joint", size=330, coverage=1.0
    )
    found = {("en", "zh"): [Entry("computer", "电脑")]}
    assert decoded(vocabulary, "他 用 电脑 写 字", found, "zh") == "他 用 computer 写 字"
    assert decoded(vocabulary, "他用电脑写字", found, "zh") == "他用电脑写字"


@pytest.fixture(scope="module")
def unsegmented(tmp_path_factory: pytest.TempPathFactory):
    """``unsegmented(model)``: vocabularies of Chinese without blanks and English, each trained once."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "zh").write_text(CHINESE * 20, encoding="utf-8")
    (folder / "en").write_text("the computer of the firm writes , trust .\n" * 20, encoding="utf-8")

    @cache
    def train(model: str) -> Vocabulary:
        texts = {code: [folder / code] for code in ("zh", "en")}
        return train_vocabulary(texts, mode="joint", size=300, model=model, coverage=1.0)

    return train


@cache
def chinese_table(vocabulary: Vocabulary, *known: str) -> SwitchTable:
    words = [*WORDS["en", "zh"], *(Entry("-", word, 0.0) for word in known)]
    return table_of({("en", "zh"): words}, vocabulary, "zh")


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_chinese_without_blanks_is_switched(unsegmented, model: str):
    vocabulary = unsegmented(model)
    assert decoded(vocabulary, "他用电脑。的公司", WORDS, "zh") == "他用 computer。 of firm"
    assert decoded(vocabulary, "电脑用Python，他", WORDS, "zh") == "computer用Python，他"


def test_in_other_text_chinese_has_no_mark(unsegmented):
    vocabulary = unsegmented("bpe")
    assert decoded(vocabulary, "the computer of (trust) , the", WORDS) == "the电脑的 (信用) , the"
    inside = vocabulary.encode("用电脑。", "zh")[-2:-1]
    options = table_of(WORDS, vocabulary, "en").entries
    assert {option.ids for some in options.values() for option in some if option.written == "电脑"} == {tuple(inside)}


def test_the_longest_word_is_taken_and_words_of_weight_0_stay(unsegmented):
    vocabulary = unsegmented("bpe")
    assert {"目", "的", "地"} <= set(vocabulary.pieces)

    def words(table: SwitchTable, text: str) -> list[str]:
        ids = vocabulary.encode(f"。{text}。", "zh")
        return [vocabulary.decode(ids[span.start : span.stop]) for span in spans_in(table, ids) if span.word]

    assert words(chinese_table(vocabulary), "写信用的字") == ["写", "信用", "的", "字"]
    assert words(chinese_table(vocabulary), "目的地") == ["目", "的", "地"]
    known = chinese_table(vocabulary, "目的", "目的地", "信用")
    assert words(known, "目的地") == ["目的地"]
    assert words(known, "信用") == ["信用"]
    found = {("en", "zh"): [*WORDS["en", "zh"], Entry("-", "目的地", 0.0)]}
    assert decoded(vocabulary, "他的。目的地", found, "zh") == "他 of。目的地"
    assert decoded(vocabulary, "信用", found, "zh") == "trust"  # a word with an entry has it
    assert dictionaries_record(found)[0].target_words == {entry.target for entry in WORDS["en", "zh"]}


@given(st.data(), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**40))
@settings(max_examples=100, deadline=None)
def test_any_ids_at_all_without_blanks(unsegmented, data: st.DataObject, rate: float, cap: float, step: int):
    vocabulary = unsegmented("bpe")
    table = chinese_table(vocabulary, *data.draw(st.sampled_from([(), ("目的", "目的地", "写信", "用电", "写字写")])))
    likely = [index for ids in [*table.entries, *table.known] for index in ids]
    likely += [index for index, piece in enumerate(vocabulary.pieces) if piece in ("▁", "-", "，", "<0xE7>", "n", "▁P")]
    window = data.draw(st.integers(1, 24))
    length = data.draw(st.integers(1, window))
    ids = data.draw(st.lists(st.sampled_from(likely), min_size=window, max_size=window))
    switcher = DeviceSwitcher(table, window=window, length=length, rate=rate, cap=cap, seed=1)
    result = switcher.switched(torch.tensor([ids]), step, torch.tensor([3]))
    plain, picks = plainly(table, ids, length=length, rate=rate, cap=cap, seed=1, step=step, row=3)
    assert result.ids_BT.tolist() == [plain]
    assert int(result.words_B) == sum(span.word for span in spans_in(table, ids))
    assert len(picks) == int(result.replaced_B) <= int(result.with_entry_B) <= int(result.words_B)


def test_chinese_may_be_split_and_compiled(unsegmented):
    vocabulary = unsegmented("bpe")
    table = chinese_table(vocabulary, "目的地")
    ids = torch.tensor([index for line in CHINESE.split("\n") * 12 for index in vocabulary.encode(line, "zh")])
    raw, rows = ids[: len(ids) // 48 * 48].reshape(-1, 48)[:8], torch.arange(5, 13)
    switcher = DeviceSwitcher(table, window=48, length=32, seed=2)
    whole = switcher.switched(raw, 4, rows)
    assert int(whole.replaced_B.sum()) > 8
    parts = [switcher.switched(raw[part::2], 4, rows[part::2]).ids_BT for part in (0, 1)]
    assert torch.equal(torch.stack(parts, 1).flatten(0, 1), whole.ids_BT)
    compiled = torch.compile(switcher.switched, fullgraph=True, backend="eager")
    assert torch.equal(compiled(raw, torch.tensor(4), rows).ids_BT, whole.ids_BT)
