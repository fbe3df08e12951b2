from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, PreTrainedTokenizerFast

from isoglot.core.errors import ConfigError
from isoglot.core.files import write_bytes
from isoglot.model import Encoder, encoder_config, load_encoder, make_batch
from isoglot.model.hf.export import export_to_hf, hf_family
from isoglot.model.modules import ABSENT
from isoglot.vocab import Vocabulary, train_vocabulary
from isoglot.vocab.external_tokenizer import TEXT_FILE as TEXT
from tests.errors import raises

PAPER = [
    "default",
    "sep-emb",
    "sep-l1-3",
    "sep-l1-6",
    "sep-emb+l1-3",
    "sep-emb+l1-6",
    "emb",
    "softmax",
    "pos,transform",
    "emb,softmax,7",
]
MODERN = ["default", "emb,softmax", "1-3", "1-6", "emb,1-3,softmax", "emb,1-6,softmax", "emb", "softmax,transform", "7"]


def deviation(encoder: Encoder, folder: Path, sentences, language: str) -> float:
    """The largest difference of any logit or hidden state at a real token."""
    model = AutoModelForMaskedLM.from_pretrained(folder)
    batch = make_batch(encoder.vocabulary, sentences, language, length=encoder.max_length)
    assert not batch.full
    with torch.no_grad():
        theirs = model(input_ids=batch.ids_BT, attention_mask=batch.mask_BT.long(), output_hidden_states=True)
        ours = encoder.layers(batch, language)
        logits = encoder.logits(ours[-1], language)
    at = batch.mask_BT
    last = model.base_model(input_ids=batch.ids_BT, attention_mask=at.long()).last_hidden_state
    pairs = [*zip(ours[:-1], theirs.hidden_states[:-1], strict=True), (ours[-1], last), (logits, theirs.logits)]
    return max(float((one[at] - two[at]).detach().abs().max()) for one, two in pairs)


@pytest.mark.parametrize(
    ("preset", "plan"), [*(("paper", plan) for plan in PAPER), *(("modern", plan) for plan in MODERN)]
)
def test_every_view_of_every_plan_gives_the_same_numbers(encoders, sentences, tmp_path: Path, preset: str, plan: str):
    encoder = encoders(preset, plan, layers=7)
    export_to_hf(encoder, tmp_path / "hf", "fr")
    assert deviation(encoder, tmp_path / "hf", sentences, "fr") < 1e-4


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("plan", ["default", "emb,softmax", "emb", "softmax"])
@pytest.mark.parametrize("preset", ["paper", "modern"])
def test_the_vector_of_the_language_goes_along(
    encoders, sentences, tmp_path: Path, preset: str, plan: str, language: str
):
    encoder = encoders(preset, plan, language_embeddings="added")
    export_to_hf(encoder, tmp_path / "hf", language)
    assert deviation(encoder, tmp_path / "hf", sentences, language) < 1e-4


@pytest.mark.parametrize("bias", ["all", "none"])
def test_neighborhoods_and_biases_of_modernbert(encoders, sentences, tmp_path: Path, bias: str):
    encoder = encoders("modern", layers=4, local_window=4, global_every=3, bias=bias)
    export_to_hf(encoder, tmp_path / "hf", "en")
    assert deviation(encoder, tmp_path / "hf", sentences, "en") < 1e-4


@pytest.mark.parametrize("mode", ["joint", "union", "disjoint"])
@pytest.mark.parametrize("preset", ["paper", "modern"])
def test_the_tokenizer_gives_the_ids_of_our_batches(encoders, sentences, tmp_path: Path, preset: str, mode: str):
    encoder = encoders(preset, mode=mode)
    export_to_hf(encoder, tmp_path / "hf", "fr")
    batch = make_batch(encoder.vocabulary, sentences, "fr", length=encoder.max_length)
    for tokenizer in (
        AutoTokenizer.from_pretrained(tmp_path / "hf"),
        PreTrainedTokenizerFast.from_pretrained(tmp_path / "hf"),
    ):
        given = tokenizer(list(sentences), padding=True, return_tensors="pt")
        assert torch.equal(given["input_ids"], batch.ids_BT)
        assert torch.equal(given["attention_mask"].bool(), batch.mask_BT)
        assert tokenizer.model_max_length == encoder.max_length
        assert tokenizer.mask_token_id == encoder.vocabulary.special["[MASK]"]
        AutoModelForMaskedLM.from_pretrained(tmp_path / "hf")(**given)  # takes what the tokenizer gives


def test_ids_that_a_language_does_not_have(encoders, tmp_path: Path):
    encoder = encoders("paper", "sep-emb", mode="disjoint")
    export_to_hf(encoder, tmp_path / "hf", "fr")
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "hf")
    foreign = int(next(i for i in encoder.vocabulary.ids_of("en") if i not in encoder.vocabulary.ids_of("fr")))
    table = model.get_input_embeddings().weight
    assert torch.equal(table[foreign], table[encoder.config.unk_id])
    assert float(model(torch.tensor([[2, 7, 3]])).logits[0, 1, foreign].detach()) == ABSENT
    assert model.config.tie_word_embeddings


def test_twice_is_the_same_bytes_and_other_files_stay(encoders, tmp_path: Path):
    encoder = encoders("modern", "emb,softmax")
    first = {path.name: path.read_bytes() for path in export_to_hf(encoder, tmp_path / "a", "fr")}
    (tmp_path / "a" / "README.md").write_text("mine")
    again = {path.name: path.read_bytes() for path in export_to_hf(encoder, tmp_path / "a", "fr")}
    assert first == again
    assert sorted(first) == [
        "config.json",
        "isoglot_provenance.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["README.md", *sorted(first)]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_with_something_else_in_it_is_refused(encoders, tmp_path: Path):
    (tmp_path / "config.json").write_text("{}")
    with raises("storage.not-replaceable", tmp_path):
        export_to_hf(encoders(), tmp_path, "en")
    assert (tmp_path / "config.json").read_text() == "{}"
    with raises("storage.not-a-folder"):
        export_to_hf(encoders(), tmp_path / "config.json" / "hf", "en")
    with raises("storage.not-a-folder"):
        export_to_hf(encoders(), tmp_path / "config.json", "en")


def test_a_disk_that_fills_up_leaves_all_as_it_was(encoders, tmp_path: Path, monkeypatch):
    target = tmp_path / "hf"
    export_to_hf(encoders(), target, "en")
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    done: list[Path] = []

    def full(path, data):
        done.append(path)
        if len(done) == 3:
            raise OSError(28, "No space left on device")
        write_bytes(path, data)

    monkeypatch.setattr("isoglot.model.hf.export.write_bytes", full)
    for place in (target, tmp_path / "new"):
        done.clear()
        with raises("storage.disk-full"):
            export_to_hf(encoders("modern"), place, "en")
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["hf"]


def test_what_hugging_face_does_not_have_is_named():
    config = encoder_config("paper", "nano", vocabulary_size=9, positions="rotary", bias="none")
    with raises("config.not-supported", "positions=rotary", "bias=none", "BERT"):
        hf_family(config)


def test_a_language_must_be_named_where_there_are_several_views(encoders, tmp_path: Path):
    with raises("config.missing-option"):
        export_to_hf(encoders(), tmp_path / "hf")
    for changes in ({"plan": "1"}, {"language_embeddings": "added"}):
        encoder = encoders(mode="joint", **changes)
        with raises("config.not-supported", "en", "fr"):
            export_to_hf(encoder, tmp_path / "hf")
        with raises("config.not-supported", "'de'"):
            export_to_hf(encoder, tmp_path / "hf", "de")
    export_to_hf(encoders(mode="joint"), tmp_path / "hf")
    with raises("config.not-supported"):
        export_to_hf(Encoder(encoder_config("paper", "nano", vocabulary_size=9)), tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["hf"]


def test_an_encoder_without_a_softmax_becomes_a_model_without_a_head(encoders, sentences, tmp_path: Path):
    for preset in ("paper", "modern"):
        encoder = encoders(preset, softmax="none")
        export_to_hf(encoder, tmp_path / preset, "en")
        assert json.loads((tmp_path / preset / "config.json").read_text())["architectures"][0].endswith("BertModel")
        batch = make_batch(encoder.vocabulary, sentences, "en", length=encoder.max_length)
        model = AutoModel.from_pretrained(tmp_path / preset)
        last = model(input_ids=batch.ids_BT, attention_mask=batch.mask_BT.long()).last_hidden_state
        at = batch.mask_BT
        assert float((last - encoder.layers(batch, "en")[-1])[at].detach().abs().max()) < 1e-4


def test_a_head_without_a_transform_is_no_bert_and_is_refused():
    """XLM's head is the softmax alone; BERT's GELU cannot be made the identity."""
    config = encoder_config("paper", "nano", vocabulary_size=50, head_transform="none")
    with pytest.raises(ConfigError) as error:
        hf_family(config)
    assert "head_transform=none" in error.value.problem


# --- vocabularies that segment text ---

WRITTEN = {"en": "It's John's cat, isn't it? (No.)", "zh": "中国的首都是北京。我们在学习语言。"}


@pytest.fixture(scope="module", params=["joint", "disjoint"])
def segmenting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    """An encoder whose vocabulary segments English by Moses and Chinese by jieba."""
    pytest.importorskip("sacremoses")
    pytest.importorskip("rjieba")
    folder = tmp_path_factory.mktemp("text")
    for code, line in WRITTEN.items():
        (folder / f"{code}.txt").write_text(f"{line}\n" * 50, encoding="utf-8")
    vocabulary = train_vocabulary(
        {code: [folder / f"{code}.txt"] for code in WRITTEN},
        mode=request.param,
        size=320,
        segmentation={"en": "moses", "zh": "jieba"},
    )
    return Encoder(encoder_config("paper", "nano", vocabulary_size=len(vocabulary), languages=("en", "zh")), vocabulary)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_export_is_read_back_with_the_segmentation_of_its_vocabulary(segmenting, tmp_path: Path, language: str):
    export_to_hf(segmenting, tmp_path / "hf", language)
    text, wanted = WRITTEN[language], segmenting.vocabulary.encode(WRITTEN[language], language)
    plain = AutoTokenizer.from_pretrained(tmp_path / "hf")
    assert plain(text, add_special_tokens=False)["input_ids"] != wanted  # what other programs do, if nothing is done
    processed = segmenting.vocabulary.processing(language)(text)
    assert plain(processed, add_special_tokens=False)["input_ids"] == wanted
    opened = load_encoder(tmp_path / "hf").vocabulary
    for found in (opened, Vocabulary.from_tokenizer(tmp_path / "hf" / "tokenizer.json")):
        assert found.encode(text, language) == found.encode(text) == wanted
        assert found.languages == (language,)


def test_an_export_of_all_languages_segments_each_in_its_way(segmenting, tmp_path: Path):
    if segmenting.vocabulary.mode != "joint":
        pytest.skip("has a view for each language")
    export_to_hf(segmenting, tmp_path / "hf")
    opened = load_encoder(tmp_path / "hf").vocabulary
    for code, text in WRITTEN.items():
        assert opened.encode(text, code) == segmenting.vocabulary.encode(text, code)
        assert opened.processing(code) == segmenting.vocabulary.processing(code)
    with raises("config.missing-option"):
        opened.encode("It rains.")
    export_to_hf(load_encoder(tmp_path / "hf"), tmp_path / "again", "zh")  # type: ignore[arg-type]
    assert Vocabulary.from_tokenizer(tmp_path / "again").processing() == segmenting.vocabulary.processing("zh")


def test_a_segmentation_that_was_lost_or_altered_is_refused(segmenting, encoders, tmp_path: Path):
    target = tmp_path / "hf"
    export_to_hf(segmenting, target, "zh")
    facts = (target / TEXT).read_text(encoding="utf-8")
    (target / TEXT).write_text(facts.replace('"segmentation": "jieba"', '"segmentation": "characters"'), "utf-8")
    with raises("corrupt-file.hash"):
        load_encoder(target)
    (target / TEXT).unlink()
    with raises("corrupt-file.missing-part", TEXT):
        load_encoder(target)
    export_to_hf(segmenting, target, "zh")
    export_to_hf(encoders(), target, "en")  # reads text as it is
    assert not (target / TEXT).exists()
