"""Text as an encoder reads it: every word is found again by its first subword."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from isoglot.vocab import Vocabulary
from isoglot.vocab.subword_scheme import SPECIAL
from isoglot.vocab.word_reader import Reader, usual_blanks, windows, written
from tests.errors import raises


def firsts(reader: Reader, words: list[str], blanks=None, joined="apart") -> list[str]:
    """The piece that each word begins with."""
    (pieces,) = reader.words([words], [blanks], joined=joined)
    return [reader.vocabulary.pieces[pieces.ids_N[first]] for first in pieces.firsts_W]


def test_a_sentence_is_read_as_it_is_written(vocabulary):
    reader = Reader(vocabulary, "en", 64)
    words = ["The", "cat", "sleeps", "."]
    (pieces,) = reader.words([words], [[True, True, False, False]])
    assert pieces.ids_N.tolist() == vocabulary.encode("The cat sleeps.", "en")
    assert [piece.lstrip("▁")[0] for piece in firsts(reader, words)] == ["T", "c", "s", "."]
    assert (pieces.unread, pieces.joined) == (0, 0)


def test_words_in_one_token_are_cut_apart_or_share_it(vocabulary):
    reader = Reader(vocabulary, "zh", 64)
    name = next(p for p in vocabulary.pieces if len(p) == 2 and all("一" <= c <= "鿿" for c in p))
    words = ["大", *name, "。"]
    shared = reader.words([words], [None], joined="share")[0]
    if shared.joined:
        assert (np.diff(shared.firsts_W) == 0).sum() == shared.joined
    apart = reader.words([words], [None])[0]
    assert (np.diff(apart.firsts_W) > 0).all()
    assert vocabulary.decode(apart.ids_N).replace(" ", "") == "".join(words)


def test_what_a_tokenizer_does_not_read_is_counted(tmp_path):
    """BERT's normalizer removes control characters: the word is left to the token before it."""
    tokenizer = Tokenizer(models.WordPiece({p: i for i, p in enumerate((*SPECIAL, "a", "b"))}, unk_token=SPECIAL[1]))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    reader = Reader(Vocabulary.from_tokenizer(tmp_path / "tokenizer.json"), None, 16)
    ids, places, _, unread, joined = reader.words([["a", "\x07", "b"]], [None])[0]
    assert (len(ids), places.tolist(), unread, joined) == (2, [0, 0, 1], 1, 0)
    ids, places, _, unread, _ = reader.words([["\x07"]], [None])[0]
    assert (ids.tolist(), places.tolist(), unread) == ([reader.vocabulary.special["[UNK]"]], [0], 1)


@given(st.lists(st.tuples(st.text("ab.(", min_size=1, max_size=3), st.booleans()), min_size=1, max_size=8))
def test_words_lie_where_they_are_written(pairs):
    words, blanks = [word for word, _ in pairs], [blank for _, blank in pairs]
    text, places = written(words, blanks)
    assert [text[start:end] for start, end in places] == words


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.integers(3, 6))
def test_windows_have_every_word_once_and_fit(sizes, room):
    ends = np.cumsum(sizes)
    cut = windows(ends - sizes, int(ends[-1]), room)
    assert [word for window in cut for word in window.words] == list(range(len(sizes)))
    assert all(1 <= len(window.tokens) <= room for window in cut)
    assert all(window.tokens.start == ends[window.words.start] - sizes[window.words.start] for window in cut)


def test_no_blanks_where_none_are_written():
    assert usual_blanks(["我", "来"], "zh") == [False, False]


def test_no_room(vocabulary):
    with raises("config.invalid-value", 4):
        Reader(vocabulary, "en", 4)
