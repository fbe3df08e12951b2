"""Subword scheme: the parts of a Hugging Face tokenizer that all vocabularies of isoglot share.

A text is normalized (by default to NFC), a mark ``▁`` is put before it and replaces every blank, and it is split before
each mark and between letters, digits and other signs. Subwords never cross these limits, so::

    encode("one two") == encode("one") + encode("two")

holds for every text. Therefore the ids of words can be cached (:mod:`.line_encoder`), a vocabulary can be trained on
word counts (:mod:`.train`), and a long line can be encoded in parts.

Decoding returns the normalized text, with ``▁`` replaced by a blank. Letters are the categories L and M, and private
use (Co), the script of twins.
"""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokenizers import Tokenizer

ModelName = Literal["bpe", "wordpiece", "unigram"]
"""``bpe``: merges of frequent pairs; ``wordpiece``: greedy longest match; ``unigram``: most likely segmentation."""
Unknown = Literal["bytes", "unk"]  # how characters outside the alphabet are encoded: as UTF-8 bytes, or as ``[UNK]``
Normalization = Literal["nfc", "nfkc", "none"]  # Unicode normalization form

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MARK = "▁"
CONTINUES = "##"
BYTES = tuple(f"<0x{value:02X}>" for value in range(256))

# maximum length of a word: WordPiece takes quadratic time
LONGEST_WORD = 64
_LETTERS = r"\p{L}\p{M}\p{Co}"
_WORD = (
    rf"{MARK}?[{_LETTERS}]{{1,{LONGEST_WORD}}}"
    rf"|{MARK}?\p{{N}}{{1,{LONGEST_WORD}}}"
    rf"|{MARK}?[^{MARK}{_LETTERS}\p{{N}}]{{1,{LONGEST_WORD}}}"
    rf"|{MARK}"
)


def normalizer(form: Normalization) -> Any:  # noqa: ANN401 - tokenizers has no common public type
    """The normalizer, which also marks words."""
    from tokenizers import normalizers

    forms: dict[str, list[Any]] = {"nfc": [normalizers.NFC()], "nfkc": [normalizers.NFKC()], "none": []}
    return normalizers.Sequence([*forms[form], normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])


def normal_form(form: Normalization) -> Callable[[str], str]:
    """A function that normalizes text without marking words; fast if the text is already normalized.

    >>> normal_form("nfc")("e\u0301") == "\u00e9"
    True
    """
    from tokenizers import normalizers

    if form == "none":
        return str
    bring = (normalizers.NFKC() if form == "nfkc" else normalizers.NFC()).normalize_str
    name: Literal["NFC", "NFKC"] = "NFKC" if form == "nfkc" else "NFC"

    def formed(text: str) -> str:
        # Python's Unicode tables may be older than the tokenizer's; later additions are beyond the first plane.
        if text.isascii():
            return text
        plane = len(text.encode("utf-16-le", "surrogatepass")) == 2 * len(text)
        return text if plane and unicodedata.is_normalized(name, text) else bring(text)

    return formed


def word_splitter(model: ModelName) -> Any:  # noqa: ANN401 - as above
    """The pre-tokenizer, which splits normalized text into words.

    WordPiece marks continuations with ``##``, which a text may contain: there, each ``#`` is a separate word.
    """
    from tokenizers import Regex, pre_tokenizers

    words = pre_tokenizers.Split(Regex(_WORD), "isolated")
    if model != "wordpiece":
        return words
    return pre_tokenizers.Sequence([words, pre_tokenizers.Split("#", "isolated")])


def _decoder(model: ModelName) -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    if model == "wordpiece":
        steps.append({"type": "Replace", "pattern": {"Regex": f"^{CONTINUES}(?=.)"}, "content": ""})
    steps += [
        {"type": "Replace", "pattern": {"String": MARK}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ]
    return {"type": "Sequence", "decoders": steps}


def empty_model(model: ModelName, unknown: Unknown) -> Any:  # noqa: ANN401 - as above
    """An empty model to be trained."""
    from tokenizers import models

    if model == "bpe":
        return models.BPE(unk_token=SPECIAL[1], byte_fallback=unknown == "bytes")
    if model == "wordpiece":
        return models.WordPiece(unk_token=SPECIAL[1], continuing_subword_prefix=CONTINUES)
    return models.Unigram()


def assemble(model: ModelName, normalization: Normalization, fields: Mapping[str, Any]) -> Tokenizer:
    """Build a ``tokenizer.json`` from the fields of a model.

    Special tokens take the first ids, in order. A pair of texts is encoded as in BERT: ``[CLS] a [SEP] b [SEP]``.
    """
    from tokenizers import Tokenizer, processors

    bare = Tokenizer(empty_model(model, "unk"))
    bare.normalizer = normalizer(normalization)
    bare.pre_tokenizer = word_splitter(model)
    frame, end = SPECIAL.index("[CLS]"), SPECIAL.index("[SEP]")
    bare.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", frame), ("[SEP]", end)]
    )
    whole = json.loads(bare.to_str())
    whole["model"] = dict(fields)
    whole["decoder"] = _decoder(model)
    whole["added_tokens"] = [
        {
            "id": index,
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for index, content in enumerate(SPECIAL)
    ]
    return literal(Tokenizer.from_str(json.dumps(whole, ensure_ascii=False)))


def for_masked_text(view: str) -> str:
    """Convert a ``tokenizer.json`` for text with ``[MASK]``, which becomes one id.

    The normalizer is applied to each part between special tokens, and would put a mark before each of them. Here only
    the first part gets one, and ``[MASK]`` includes the blank before it.
    """
    whole = json.loads(view)
    normalizers = whole["normalizer"]["normalizers"]
    whole["normalizer"]["normalizers"] = [one for one in normalizers if one["type"] != "Prepend"]
    first = {"type": "Metaspace", "replacement": " ", "prepend_scheme": "first", "split": False}
    marked = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "never", "split": False}
    whole["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [first, marked, whole["pre_tokenizer"]]}
    for token in whole["added_tokens"]:
        token["lstrip"] = token["content"] == "[MASK]"
    return json.dumps(whole, ensure_ascii=False)


def literal(tokenizer: Tokenizer) -> Tokenizer:
    """Make a tokenizer read ``[MASK]`` and other special tokens as text, so that a corpus cannot inject them."""
    tokenizer.encode_special_tokens = True
    return tokenizer
