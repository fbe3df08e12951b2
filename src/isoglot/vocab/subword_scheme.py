"""How text becomes pieces: the parts of a Hugging Face tokenizer that are the same in every vocabulary of ours.

A text is normalized (NFC unless told otherwise), a mark ``▁`` is put before it and in place of every blank, and it is
cut before each mark and where letters, digits and other signs meet. Pieces are made inside those words only, so::

    encode("one two") == encode("one") + encode("two")

holds for every text. Three things rest on it: a word met before need not be encoded again (:mod:`.line_encoder`), a
vocabulary can be trained on counts of words (:mod:`.word_counts`), and a very long line can be encoded in parts.

What decoding gives back is the text, normalized, with ``▁`` itself read as a blank; nothing else is changed. Letters
are the categories L and M, and private use (Co): the made-up scripts of twins are letters.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokenizers import Tokenizer

ModelName = Literal["bpe", "wordpiece", "unigram"]
"""``bpe`` merges frequent pairs, ``wordpiece`` is read greedily from the left, ``unigram`` finds the likeliest cut."""
Unknown = Literal["bytes", "unk"]
"""What becomes of a character outside the alphabet: its UTF-8 bytes as pieces, or ``[UNK]``."""
Normalization = Literal["nfc", "nfkc", "none"]
"""The Unicode form text is brought to."""

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MARK = "▁"
CONTINUES = "##"
BYTES = tuple(f"<0x{value:02X}>" for value in range(256))

# No word is longer than this: WordPiece takes quadratic time in it, and nobody learns from a longer one.
LONGEST_WORD = 64
_LETTERS = r"\p{L}\p{M}\p{Co}"
_WORD = (
    rf"{MARK}?[{_LETTERS}]{{1,{LONGEST_WORD}}}"
    rf"|{MARK}?\p{{N}}{{1,{LONGEST_WORD}}}"
    rf"|{MARK}?[^{MARK}{_LETTERS}\p{{N}}]{{1,{LONGEST_WORD}}}"
    rf"|{MARK}"
)


def normalizer(form: Normalization) -> Any:  # noqa: ANN401 - tokenizers has no common public type
    """What brings a text to its normal form and marks its words."""
    from tokenizers import normalizers

    forms: dict[str, list[Any]] = {"nfc": [normalizers.NFC()], "nfkc": [normalizers.NFKC()], "none": []}
    return normalizers.Sequence([*forms[form], normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])


def normal_form(form: Normalization) -> Callable[[str], str]:
    """What brings a text to its normal form and marks nothing; a text that is in it already comes back at once.

    >>> normal_form("nfc")("e\u0301") == "\u00e9"
    True
    """
    from tokenizers import normalizers

    if form == "none":
        return str
    bring = (normalizers.NFKC() if form == "nfkc" else normalizers.NFC()).normalize_str
    name: Literal["NFC", "NFKC"] = "NFKC" if form == "nfkc" else "NFC"

    def formed(text: str) -> str:
        # By Python's tables. The tokenizer's may be of a later Unicode: what was added since is beyond the first plane.
        if text.isascii():
            return text
        plane = len(text.encode("utf-16-le", "surrogatepass")) == 2 * len(text)
        return text if plane and unicodedata.is_normalized(name, text) else bring(text)

    return formed


def word_splitter(model: ModelName) -> Any:  # noqa: ANN401 - as above
    """What cuts normalized text into words.

    WordPiece marks what continues a word with ``##``, which a text may contain: there, each ``#`` is a word of its own.
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
    """A model with nothing in it, to be trained."""
    from tokenizers import models

    if model == "bpe":
        return models.BPE(unk_token=SPECIAL[1], byte_fallback=unknown == "bytes")
    if model == "wordpiece":
        return models.WordPiece(unk_token=SPECIAL[1], continuing_subword_prefix=CONTINUES)
    return models.Unigram()


def assemble(model: ModelName, normalization: Normalization, fields: Mapping[str, Any]) -> Tokenizer:
    """A whole tokenizer around a model's own fields, as ``tokenizer.json`` writes them.

    Special tokens take the first ids, in order. A pair of texts is framed as BERT does: ``[CLS] a [SEP] b [SEP]``.
    """
    import json

    from tokenizers import Tokenizer, processors

    bare = Tokenizer(empty_model(model, "unk"))
    bare.normalizer = normalizer(normalization)
    bare.pre_tokenizer = word_splitter(model)
    frame, end = SPECIAL.index("[CLS]"), SPECIAL.index("[SEP]")
    bare.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", frame), ("[SEP]", end)],
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
    """A ``tokenizer.json`` of ours for text with ``[MASK]`` in it: a mask is one id in place of its word's.

    A normalizer sees what is between two special tokens, so its mark would come before each of these parts. Here the
    first part alone gets one, as a blank, which no text has any more by then; ``[MASK]`` takes the blank before it.
    """
    import json

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
    """The tokenizer, made to read ``[MASK]`` and the like in a text as text: a corpus must not inject special ids."""
    tokenizer.encode_special_tokens = True
    return tokenizer
