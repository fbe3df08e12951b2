"""What holds for all five languages alike."""

from __future__ import annotations

import importlib.util
import random
from itertools import islice, pairwise
from pathlib import Path

import conllu
import numpy as np
import pytest

from isoglot.languages import LANGUAGES, align, documents, grammar, parallel, paraphrases
from isoglot.languages.corpus import meanings, split_of
from isoglot.languages.export import tree_of
from isoglot.languages.grammars import lexicon
from isoglot.languages.meaning import Meaning, Name, Pronoun, Thing, Wording
from isoglot.languages.sentence import Sentence, gloss, word_glosses
from isoglot.text.formats.conll import read_conllu, write_conllu
from tests.errors import raises

specification = importlib.util.spec_from_file_location("golden", Path(__file__).parent / "golden.py")
assert specification is not None
assert specification.loader is not None
golden = importlib.util.module_from_spec(specification)
specification.loader.exec_module(golden)

UPOS = set("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
RELATIONS = set(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl fixed "
    "flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative xcomp".split()
)
LABELS = {"O"} | {f"{p}-{k}" for p in "BI" for k in ("PER", "LOC", "ORG")}

each_language = pytest.mark.parametrize("language", LANGUAGES)


def some(language: str, count: int = 1500, **options) -> list[Sentence]:
    return [row[0] for row in islice(parallel([language], **options), count)]


@each_language
def test_golden_sentences(language: str):
    rows = golden.load()
    made = grammar(language)
    assert len(rows) == 200
    assert [made.render(m, w).text for _, m, w in rows] == golden.sentences(language)


@each_language
def test_every_tree_is_a_tree(language: str):
    for sentence in some(language):
        heads = sentence.heads
        count = len(heads)
        assert heads.count(0) == 1, sentence.text
        assert sentence.relations[heads.index(0)] == "root"
        assert sentence.relations.count("root") == 1
        assert all(0 <= head <= count and head != i for i, head in enumerate(heads, start=1))
        for start in range(1, count + 1):
            here, steps = start, 0
            while here:
                here, steps = heads[here - 1], steps + 1
                assert steps <= count, f"a cycle: {sentence.text}"
        assert set(sentence.tags) <= UPOS
        assert {relation.partition(":")[0] for relation in sentence.relations} <= RELATIONS


@each_language
def test_every_tree_is_projective(language: str):
    for sentence in some(language):
        arcs = [tuple(sorted((i, head))) for i, head in enumerate(sentence.heads, start=1) if head]
        for a, b in arcs:
            assert not any(a < c < b < d for c, d in arcs), sentence.text


@each_language
def test_punctuation_has_no_dependents_and_function_words_no_subjects(language: str):
    for sentence in some(language, 500):
        for head, relation in zip(sentence.heads, sentence.relations, strict=True):
            if head:
                assert sentence.tags[head - 1] != "PUNCT", sentence.text
                if relation.startswith(("nsubj", "obj")):
                    assert sentence.tags[head - 1] not in {"AUX", "ADP", "DET", "CCONJ", "SCONJ"}, sentence.text


@each_language
def test_an_independent_parser_reads_the_trees(language: str, tmp_path: Path):
    sentences = some(language, 300)
    path = tmp_path / "x.conllu"
    write_conllu(path, (tree_of(s, str(i)) for i, s in enumerate(sentences)))
    theirs = conllu.parse(path.read_text(encoding="utf-8"))
    ours = list(read_conllu(path))
    assert len(theirs) == len(ours) == len(sentences)
    for parsed, sentence in zip(theirs, sentences, strict=True):
        words = [token for token in parsed if isinstance(token["id"], int)]
        assert [token["form"] for token in words] == sentence.words
        assert [token["head"] for token in words] == sentence.heads
        assert parsed.metadata["text"] == sentence.text
        parsed.to_tree()
        # The text is what the tokens spell, with a blank where SpaceAfter=No does not forbid it.
        inside: set[int] = set()
        text = ""
        for token in parsed:
            if isinstance(token["id"], tuple):
                inside |= set(range(token["id"][0], token["id"][2] + 1))
            elif token["id"] in inside:
                continue
            text += token["form"] + ("" if (token["misc"] or {}).get("SpaceAfter") == "No" else " ")
        assert text.rstrip() == sentence.text


@each_language
def test_names_are_labelled_and_only_names(language: str):
    count = 0
    for sentence in some(language):
        assert set(sentence.entities) <= LABELS
        for before, here in zip(["O", *sentence.entities], sentence.entities, strict=False):
            if here.startswith("I-"):
                assert before[2:] == here[2:], "a name begins with B"
        found = sum(entity.startswith("B-") for entity in sentence.entities)
        assert found == names_in(sentence.meaning)
        count += found
    assert count > 300


def names_in(meaning: Meaning) -> int:
    def count(value) -> int:
        if isinstance(value, Name):
            return 1
        if isinstance(value, (str, int, type(None))):
            return 0
        if hasattr(value, "person"):
            return 0  # a pronoun stands for a name without saying it
        return sum(count(getattr(value, slot)) for slot in value.__slots__)

    return count(meaning)


@each_language
def test_every_word_of_content_says_something(language: str):
    for sentence in some(language, 500):
        glosses = gloss(sentence.meaning)
        for word, tag, unit in zip(sentence.words, sentence.tags, sentence.units, strict=True):
            if tag in {"NOUN", "VERB", "ADJ", "PROPN", "NUM", "PRON"}:
                assert unit >= 0, f"{word} in {sentence.text}"
            if unit >= 0:
                assert unit in glosses, f"{word} in {sentence.text}"


@each_language
def test_what_is_written_is_clean(language: str):
    for sentence in some(language):
        text = sentence.text
        assert text == " ".join(text.split())
        assert text[-1] in ".?。？"
        assert text[0] == text[0].upper()
        assert all(word and " " not in word for word in sentence.words)
        assert all(sentence.lemmas)


@each_language
def test_the_lexicon_has_every_concept_and_no_word_twice(language: str):
    world = grammar(language).world
    concepts = {
        "nouns": {n.concept for n in world.nouns.values() if n.spoken},
        "verbs": set(world.verbs),
        "adjectives": set(world.adjectives),
        "adverbs": set(world.adverbs),
        "numbers": set(world.numbers.values()),
    }
    for table, wanted in concepts.items():
        rows = lexicon.read_table(language, table)
        assert {row["concept"].partition("~")[0] for row in rows} == wanted, table
        owner: dict[str, str] = {}
        for row in rows:
            word = row.get("lemma") or row.get("words") or next(v for k, v in row.items() if k != "concept")
            # What splits are made of must be told apart: nouns and verbs, and verbs up to what they share.
            family = row["concept"].partition("_")[0] if table == "verbs" else row["concept"]
            if table == "adjectives":
                family = family.replace("elderly", "old")
            assert owner.setdefault(word, family) == family, f"{table}: {word}"


@each_language
def test_the_same_seed_says_the_same(language: str):
    for make in (lambda: islice(documents(language, seed=5), 20), lambda: [some(language, 50, seed=5)]):
        first, second = ([[s.text for s in text] for text in make()] for _ in range(2))
        assert first == second
    other = [[s.text for s in text] for text in islice(documents(language, seed=6), 20)]
    assert other != [[s.text for s in text] for text in islice(documents(language, seed=5), 20)]


@pytest.mark.no_cover
@each_language
def test_splits_share_no_sentence(language: str):
    texts = {
        split: {s.text for s in some(language, 3000 if split == "train" else 1000, split=split)}
        for split in ("train", "dev", "test")
    }
    assert not texts["train"] & (texts["dev"] | texts["test"])
    assert not texts["dev"] & texts["test"]


@each_language
def test_paraphrases_say_the_same_otherwise(language: str):
    for first, second in islice(paraphrases(language), 200):
        assert first.text != second.text
        assert first.meaning is second.meaning


def test_documents_stay_with_their_topic_and_their_people():
    recurring = 0
    for document in islice(documents("en", seed=3), 200):
        assert 4 <= len(document) <= 9
        assert len({s.meaning.topic for s in document}) == 1
        assert len({s.meaning.register for s in document}) == 1
        said = [w for s in document for w, e in zip(s.words, s.entities, strict=True) if e.startswith("B-")]
        recurring += len(said) > len(set(said))
    assert recurring > 60


def test_a_sentence_alone_refers_to_nothing_before_it():
    for sentence in some("en", 2000):
        agent = sentence.meaning.main.agent
        assert not (isinstance(agent, Pronoun) and agent.person == 3), sentence.text


def test_a_pronoun_stands_for_what_the_sentence_before_was_about():
    found = 0
    for document in islice(documents("en", seed=8), 300):
        for before, here in pairwise(document):
            agent, subject = here.meaning.main.agent, before.meaning.main.agent
            if isinstance(agent, Pronoun) and agent.person == 3:
                found += 1
                if isinstance(subject, Pronoun):
                    subject = subject.of  # he, and he again
                assert isinstance(subject, (Thing, Name)), here.text
                assert isinstance(agent.of, type(subject))
    assert found > 50


def test_registers_differ():
    said = {register: some("en", 400, register=register) for register in ("encyclopaedic", "conversational")}
    assert not any(s.meaning.question for s in said["encyclopaedic"])
    assert not any("I" in s.words for s in said["encyclopaedic"])
    assert sum(s.meaning.question for s in said["conversational"]) > 50
    assert sum("I" in s.words for s in said["conversational"]) > 20


@pytest.mark.parametrize("language", [code for code in LANGUAGES if code != "en"])
def test_alignment_links_every_name_number_and_noun(language: str):
    """What both languages say with one word each is linked one to one."""
    for english, other in islice(parallel(["en", language], seed=1), 500):
        links = align(english, other)
        assert len(set(links)) == len(links)
        shared = set(english.units) & set(other.units) - {-1}
        linked = {u for i, _ in links for u in english.token_units()[i]}
        assert shared <= linked
        nouns = {u for u, t in zip(english.units, english.tags, strict=True) if t in {"NOUN", "PROPN"} and u % 8 == 0}
        assert nouns <= set(other.units), f"{english.text} | {other.text}"
        reverse = align(other, english)
        assert sorted((j, i) for i, j in reverse) == links


def test_frequencies_are_zipfian():
    """Frequency falls with rank by a power near -1, and every topic occurs."""
    seen: dict[str, int] = {}
    topics: dict[str, int] = {}
    for sentence in some("en", 6000):
        topics[sentence.meaning.topic] = topics.get(sentence.meaning.topic, 0) + 1
        for lemma, tag in zip(sentence.lemmas, sentence.tags, strict=True):
            if tag == "NOUN":
                seen[lemma] = seen.get(lemma, 0) + 1
    counts = np.sort(list(seen.values()))[::-1]
    slope = np.polyfit(np.log(np.arange(1, len(counts) + 1)), np.log(counts), 1)[0]
    assert -1.4 < slope < -0.8
    assert len(topics) == 20
    ranked = sorted(topics.values(), reverse=True)
    assert ranked[0] > 8 * ranked[-1]


def test_a_split_is_a_function_of_the_meaning():
    for meaning, _ in islice(meanings(split="dev"), 50):
        assert split_of(meaning) == "dev"


def test_unknown_languages():
    with raises("config.built-in-language", "'es'"):
        grammar("es")
    assert grammar("cmn") is grammar("zh")


def test_a_broken_table_names_its_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "xx").mkdir()
    (tmp_path / "xx" / "nouns.tsv").write_text("a\tb\n1\t2\n1\n")
    monkeypatch.setattr(lexicon, "DATA", tmp_path)
    with raises("input.column-count", "nouns.tsv", 1, 2, line=3):
        lexicon.read_table("xx", "nouns")


@each_language
def test_any_wording_of_any_meaning_renders(language: str):
    made = grammar(language)
    dice = random.Random(0)  # noqa: S311
    for meaning, _ in islice(meanings(seed=9), 400):
        wording = Wording(dice.getrandbits(16), dice.random() < 0.5, dice.random() < 0.5)
        sentence = made.render(meaning, wording)
        assert sentence.heads.count(0) == 1
        assert made.render(meaning, wording).words == sentence.words


def test_every_concept_can_be_spoken_of():
    world = grammar("en").world
    roles = {c for v in world.verbs.values() for c in (*v.agents, *v.patients, *v.partners, *v.places)}
    described = {c for a in world.adjectives.values() for c in a.of}
    general = {n.isa for n in world.nouns.values()}
    assert {n.concept for n in world.nouns.values() if n.spoken} <= roles | described | general
    assert {a.opposite for a in world.adjectives.values()} - {""} <= set(world.adjectives)
    assert {v.opposite for v in world.verbs.values()} - {""} <= set(world.verbs)
    assert {t for n in world.nouns.values() for t in n.topics} <= set(world.topics)


@each_language
def test_auxiliaries_are_glossed_by_their_tense_and_predicates_by_their_meaning(language: str):
    future = 0
    for sentence in some(language, 500):
        glosses, parts = word_glosses(sentence), gloss(sentence.meaning)
        assert len(glosses) == len(sentence.words)
        for unit in set(sentence.units) - {-1}:  # nothing that is expressed is left without its gloss
            said = [text for text, each in zip(glosses, sentence.units, strict=True) if each == unit]
            assert parts[unit] in said, sentence.text
        for word, tag, relation, text in zip(sentence.words, sentence.tags, sentence.relations, glosses, strict=True):
            if tag == "AUX" and relation == "aux":
                assert text.removeprefix("be.") in ("past", "present", "future"), f"{word} in {sentence.text}"
                future += text.endswith("future")
            if word == "会":  # with no other word for being somewhere, it says that too
                assert text in ("future", "be.future"), sentence.text
    assert future or language == "fr"
