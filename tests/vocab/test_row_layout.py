"""Special tokens, pairs and padding of tokenizers from elsewhere: the ids are those of ``AutoTokenizer``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from isoglot.model import make_batch
from isoglot.model.protocol import in_second_text
from isoglot.vocab import Vocabulary
from isoglot.vocab.external_tokenizer import row_layout
from isoglot.vocab.word_reader import Reader
from tests.errors import raises

WORDS = "the cat sleeps a dog sees big house".split()
TEXTS = ["the cat sleeps", "a dog sees the big house", "cat"]
BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
TEMPLATE = processors.TemplateProcessing


class Kind(NamedTuple):
    """A tokenizer, what its configuration says beside it, and the model type it comes with."""

    tokenizer: Tokenizer
    names: dict[str, str]
    model_type: str | None = None
    settings: dict[str, Any] = {}  # noqa: RUF012 - never written to
    family: str | None = None  # the class it is saved as


def around(
    special: tuple[str, ...], first: str, last: str, pair: str, ids: Mapping[str, int | None] | None = None
) -> processors.PostProcessor:
    places: Mapping[str, int | None] = ids or {piece: index for index, piece in enumerate(special)}
    used = [(name, places[name] or 0) for name in (first, last)]
    return TEMPLATE(single=f"{first} $A {last}".strip(), pair=pair, special_tokens=used)


def wordpiece(special: tuple[str, ...] = BERT, *, lower: bool = False) -> Tokenizer:
    pieces = (*special, *WORDS, "##s", "The")
    made = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token=special[1]))
    made.normalizer = normalizers.BertNormalizer(lowercase=lower)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.add_special_tokens(list(special))
    return made


def byte_bpe(special: tuple[str, ...], ordinary: tuple[str, ...] = ()) -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("Ġ", "c"), ("a", "t"), ("Ġc", "at")]
    pieces = [*special, *ordinary, *alphabet, *(a + b for a, b in merges)]
    made = Tokenizer(models.BPE({piece: i for i, piece in enumerate(dict.fromkeys(pieces))}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(list(special))
    return made


def metaspace_bpe(special: tuple[str, ...], unknown: str, ordinary: tuple[str, ...] = ()) -> Tokenizer:
    letters = sorted(set("".join(WORDS)))
    merges = [("t", "h"), ("th", "e"), ("▁", "c")]
    pieces = [*special, *ordinary, "▁", *letters, *(a + b for a, b in merges)]
    made = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges, unk_token=unknown, fuse_unk=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.add_special_tokens(list(special))
    return made


def unigram(special: tuple[str, ...], unknown: str) -> Tokenizer:
    pieces = [*((piece, 0.0) for piece in special), *(("▁" + word, -2.0) for word in WORDS)]
    pieces += [("▁", -3.0), *((letter, -5.0) for letter in sorted(set("".join(WORDS))))]
    made = Tokenizer(models.Unigram(pieces, unk_id=special.index(unknown)))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.add_special_tokens(list(special))
    return made


def character_bpe() -> Tokenizer:
    letters = sorted(set("".join(WORDS)))
    pieces = ["<s>", "</s>", "<unk>", "<pad>", "<mask>", *letters, *(letter + "</w>" for letter in letters), "th"]
    places = {piece: i for i, piece in enumerate(pieces)}
    made = Tokenizer(models.BPE(places, [("t", "h")], unk_token=pieces[2], end_of_word_suffix="</w>"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.BPEDecoder(suffix="</w>")
    made.add_special_tokens(pieces[:5])
    return made


def named(*names: str) -> dict[str, str]:
    return dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), names, strict=True))


def bert(name: str, *, lower: bool = False, **more: Any) -> Kind:
    made = wordpiece(lower=lower)
    made.post_processor = around(BERT, "[CLS]", "[SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
    return Kind(made, named(*BERT), name, {"do_lower_case": lower}, **more)


def roberta(make: Callable[[], Tokenizer], name: str, settings: dict[str, Any] | None = None, **more: Any) -> Kind:
    made = make()
    places = {token: made.token_to_id(token) for token in ("<s>", "</s>")}
    made.post_processor = around((), "<s>", "</s>", "<s> $A </s> </s> $B </s>", places)
    names = named("<pad>", "<unk>", "<s>", "</s>", "<mask>") | {"bos_token": "<s>", "eos_token": "</s>"}
    return Kind(made, names, name, settings or {}, **more)


def gemma_style() -> Kind:
    """As mmBERT: <bos> and <eos> around a text, and <s> and </s> are pieces like any other."""
    special = ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>")
    made = metaspace_bpe(special, "<unk>", ordinary=("<s>", "</s>"))
    made.post_processor = around(special, "<bos>", "<eos>", "<bos> $A <eos> $B:1 <eos>:1")
    names = {"bos_token": "<bos>", "eos_token": "<eos>"} | named("<pad>", "<unk>", "<bos>", "<eos>", "<mask>")
    return Kind(made, names, "modernbert")


def llama3_style() -> Kind:
    """As EuroBERT."""
    special = ("<|begin_of_text|>", "<|end_of_text|>", "<|mask|>", "<|pad|>")
    made = byte_bpe(special, ordinary=("<s>", "[MASK]"))
    first, last = special[:2]
    made.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=False), around(special, first, last, f"{first} $A {last} $B:1 {last}:1")]
    )
    names = {"bos_token": first, "eos_token": last, "mask_token": special[2], "pad_token": special[3]}
    return Kind(made, names, "eurobert")


def llama() -> Kind:
    special = ("<unk>", "<s>", "</s>")
    made = metaspace_bpe(special, "<unk>")
    made.post_processor = TEMPLATE(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return Kind(
        made, {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}, "llama", {"padding_side": "left"}
    )


def qwen2() -> Kind:
    made = byte_bpe(("<|endoftext|>",))
    names = dict.fromkeys(("pad_token", "eos_token", "unk_token"), "<|endoftext|>")
    return Kind(made, names, "qwen2", {"padding_side": "left"})


def t5() -> Kind:
    special = ("<pad>", "</s>", "<unk>")
    made = unigram(special, "<unk>")
    made.post_processor = TEMPLATE(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return Kind(made, names, "t5", {"extra_ids": 0})


def albert() -> Kind:
    special = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
    made = unigram(special, "<unk>")
    made.post_processor = around(special, "[CLS]", "[SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
    return Kind(made, named(*special) | {"bos_token": "[CLS]", "eos_token": "[SEP]"}, "albert")


def xlm() -> Kind:
    special = ("<s>", "</s>", "<pad>", "<unk>", "<special1>")
    pieces = (*special, *(word + "</w>" for word in WORDS), *sorted(set("".join(WORDS))))
    made = Tokenizer(
        models.BPE({piece: i for i, piece in enumerate(pieces)}, [], unk_token=special[3], end_of_word_suffix="</w>")
    )
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("</s>", 1), ("</s>", 1))
    made.add_special_tokens(list(special))
    names = named("<pad>", "<unk>", "</s>", "</s>", "<special1>") | {"bos_token": "<s>"}
    return Kind(made, names)


def bare_processor(processor: processors.PostProcessor | None) -> Kind:
    made = wordpiece()
    if processor is not None:
        made.post_processor = processor
    return Kind(made, named(*BERT))


KINDS: dict[str, Callable[[], Kind]] = {
    "bert cased": lambda: bert("bert"),
    "bert uncased": lambda: bert("bert", lower=True),
    "bert, its own class": lambda: bert("bert", family="BertTokenizer"),
    "distilbert": lambda: bert("distilbert"),
    "electra": lambda: bert("electra", lower=True),
    "labse": lambda: bert("bert"),
    "mpnet": lambda: Kind(
        roberta(lambda: wordpiece(("<s>", "<unk>", "<pad>", "</s>", "<mask>")), "mpnet").tokenizer,
        named("<pad>", "<unk>", "<s>", "</s>", "<mask>"),
        "mpnet",
    ),
    "roberta": lambda: roberta(lambda: byte_bpe(ROBERTA), "roberta"),
    "roberta, its own class": lambda: roberta(lambda: byte_bpe(ROBERTA), "roberta", family="RobertaTokenizer"),
    "xlm-roberta": lambda: roberta(lambda: unigram(ROBERTA, "<unk>"), "xlm-roberta"),
    "camembert": lambda: roberta(lambda: unigram(ROBERTA, "<unk>"), "camembert"),
    "xlm": xlm,
    "albert": albert,
    "deberta-v2": lambda: Kind(albert().tokenizer, albert().names, "deberta-v2"),
    "modernbert": lambda: Kind(bert("modernbert").tokenizer, named(*BERT), "modernbert"),
    "mmbert": gemma_style,
    "eurobert": llama3_style,
    "character bpe": lambda: roberta(character_bpe, "roberta"),
    "t5": t5,
    "llama": llama,
    "qwen2": qwen2,
    "no post-processor": lambda: bare_processor(None),
    "roberta's processor": lambda: bare_processor(processors.RobertaProcessing(("[SEP]", 3), ("[CLS]", 2))),
    "several tokens before": lambda: bare_processor(
        TEMPLATE(single="[CLS] [MASK] $A", pair="[CLS] [MASK] $A [SEP] $B:1", special_tokens=[("[CLS]", 2), ("[MASK]", 4), ("[SEP]", 3)])
    ),
}  # fmt: skip


@pytest.fixture(params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A tokenizer as it comes with a model."""
    import transformers

    kind = KINDS[request.param]()
    family = PreTrainedTokenizerFast if kind.family is None else getattr(transformers, kind.family)
    made = family(tokenizer_object=kind.tokenizer, **kind.names, **kind.settings)
    made.save_pretrained(tmp_path)
    if kind.model_type is not None:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind.model_type}))
    return tmp_path


def theirs(folder: Path) -> Any:
    kind: Any = AutoTokenizer
    return kind.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def test_rows_are_those_of_transformers(folder: Path):
    vocabulary, tokenizer = Vocabulary.from_tokenizer(folder), theirs(folder)
    for text in TEXTS:
        assert vocabulary.layout.framed([vocabulary.encode(text)]) == tokenizer(text)["input_ids"]
    reader = Reader(vocabulary, None, 64)
    for one, other in pairwise(TEXTS):
        pair = reader.framed(*reader.texts([one, other])).tolist()
        assert pair == tokenizer(one, other)["input_ids"]


def test_segments_are_those_of_transformers(folder: Path):
    vocabulary, tokenizer = Vocabulary.from_tokenizer(folder), theirs(folder)
    reader, separator = Reader(vocabulary, None, 64), vocabulary.layout.segment_separator
    for one, other in pairwise(TEXTS):
        ids = torch.from_numpy(reader.framed(*reader.texts([one, other])))[None]
        expected = tokenizer(one, other, return_token_type_ids=True)["token_type_ids"]
        if separator is None:  # or nothing shows where the second begins
            layout = vocabulary.layout
            assert not any(expected) or set(layout.pair_between[-1:]) <= set(layout.pair_before)
        else:
            assert in_second_text(ids, separator, vocabulary.pad_id)[0].int().tolist() == expected


def test_padding_and_the_mask_are_those_of_transformers(folder: Path):
    vocabulary, tokenizer = Vocabulary.from_tokenizer(folder), theirs(folder)
    assert vocabulary.special.get("[MASK]") == tokenizer.mask_token_id
    assert vocabulary.special.get("[PAD]") == tokenizer.pad_token_id
    assert vocabulary.special.get("[UNK]") == tokenizer.unk_token_id
    batch = make_batch(vocabulary, TEXTS)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token  # it would pad nothing otherwise
    expected = tokenizer(TEXTS, padding=True)
    assert batch.ids_BT.tolist() == expected["input_ids"]
    assert batch.mask_BT.long().tolist() == expected["attention_mask"]


def test_the_roles_are_kept_in_a_folder_of_ours(folder: Path, tmp_path: Path):
    vocabulary = Vocabulary.from_tokenizer(folder)
    vocabulary.save(tmp_path / "ours")
    loaded = Vocabulary.load(tmp_path / "ours")
    assert (loaded.special, loaded.layout, loaded.padding_side) == (
        vocabulary.special,
        vocabulary.layout,
        vocabulary.padding_side,
    )
    assert loaded.hash == vocabulary.hash


def test_without_transformers_the_files_say_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch):
    expected = Vocabulary.from_tokenizer(folder)

    def missing(_: object) -> None:
        raise ImportError("not installed")

    monkeypatch.setattr("isoglot.vocab.external_tokenizer._by_transformers", missing)
    found = Vocabulary.from_tokenizer(folder)
    assert (found.special, found.layout, found.padding_side) == (
        expected.special,
        expected.layout,
        expected.padding_side,
    )


def test_a_template_that_turns_texts_around_is_refused():

    made = wordpiece()
    made.post_processor = TEMPLATE(single="$A", pair="$B $A", special_tokens=[])
    with raises("config.not-supported", "'BA'", "'AB'"):
        row_layout(made.to_str())
