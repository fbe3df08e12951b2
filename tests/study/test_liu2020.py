"""The studies of Liu et al. (2020) from recipe to numbers, at the smallest size."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from isoglot.core.artifact import load_arrays
from isoglot.core.errors import StorageError
from isoglot.core.progress import SILENT
from isoglot.report.study import study_page, write_figures
from isoglot.static.train import train_static
from isoglot.study.build import BuiltStudy, StudyOptions, build_study
from isoglot.study.claims import verify
from isoglot.study.data import StudyData, data_from
from isoglot.study.kinds.pretrain import ENCODER
from isoglot.study.kinds.words import VECTORS
from isoglot.study.multilingual import released_model
from isoglot.study.numbers import RESAMPLES, items_hash, ratio_number
from isoglot.study.steps import Step
from isoglot.study.store import source_hash
from isoglot.study.study import Study
from isoglot.study.tables.multilingual_tables import differences_in_setting
from isoglot.study.tables.results import result_tables
from isoglot.transfer.shift_protocol import GRID
from tests.errors import raises

TINY = (
    "tokens=2000",
    "moments=1",
    "settings.model.layers=2",
    "pairs=20",
    "sizes=[100,200]",
    "builtin_sentences=220",
    "context_sentences=150",
    "contexts=1",
    "mean_sentences=100",
    "tasks.nli.builtin={train = 24, test = 12}",
    "tasks.nli-static.builtin={train = 24, test = 12}",
    "tasks.nli-static.settings={epochs = 1}",
)
OPTIONS = StudyOptions(scale="nano", scale_settings=TINY, pairs=("en-fr",))


def planned(name: str, **options: Any) -> BuiltStudy:
    return build_study(name, StudyData(), StudyOptions(**{**vars(OPTIONS), **options}))


def computed(built: BuiltStudy, out: Path) -> Study:
    """A study, computed in this process."""
    study = Study.create(out, built)
    cache: dict[Any, Any] = {}
    for step in study.needed():
        study.store.run(step, device="cpu", progress=SILENT, cache=cache)
    return study


def outcomes(study: Study) -> dict[str, str]:
    found = verify(study.numbers(), "liu2020")
    return {one.claim: one.reason for one in found if one.claim in study.about["claims"] and one.outcome == "not run"}


# --- plans ---


def test_every_system_reads_the_same_shards_with_one_vocabulary() -> None:
    built = planned("liu2020-size")
    trained = [step for step in built.steps if step.kind == "static" or (step.kind == "pretrain" and step.tokens)]
    by_size: dict[tuple[str, ...], list[Step]] = {}
    for step in trained:
        by_size.setdefault(tuple(step.steps[f"shards.{code}"].key for code in ("en", "fr")), []).append(step)
    assert [len(some) for some in by_size.values()] == [5, 4]  # two static ones, two windows, and equal epochs
    assert len({step.steps["vocabulary"].key for step in trained}) == 1
    encoders = [step for step in trained if step.kind == "pretrain"]
    tokens = sorted(step.tokens for step in encoders)
    assert tokens[-1] - tokens[1] <= 0.05 * tokens[-1]
    assert tokens[0] < 0.7 * tokens[-1]  # of equal epochs
    lengths = {step.settings["config"]["batch"]["sequence_length"] for step in encoders}
    assert lengths == {12, 32}
    dimensions = {step.settings["config"]["dimensions"] for step in trained if step.kind == "static"}
    assert len(dimensions) == 1


def test_word2vec_reads_as_many_tokens_whatever_the_size() -> None:
    built = planned("liu2020-size", scale_settings=(*TINY, "static.word2vec.epochs=3"))
    epochs = [
        step.settings["config"].get("epochs", 5) for step in built.steps if step.settings.get("method") == "word2vec"
    ]
    assert epochs == [6, 3]


def test_several_threads_make_other_word2vec_vectors_and_the_same_glove_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []

    def train(*arguments: Any, workers: int, **options: Any) -> Any:
        given.append(workers)
        return train_static(*arguments, workers=workers, **options)

    monkeypatch.setattr("isoglot.static.train.train_static", train)
    one, several = (planned("liu2020-size", scale_settings=(*TINY, *more)) for more in ((), ("static_workers=3",)))
    keys = [
        {step.settings["method"]: step.key for step in built.steps if step.kind == "static"} for built in (one, several)
    ]
    assert keys[0]["glove"] == keys[1]["glove"]
    assert keys[0]["word2vec"] != keys[1]["word2vec"]
    study = Study.create(tmp_path, several)
    study.measurements = [one for one in several.measurements if one.step.key in keys[1].values()]
    for step in study.needed():
        study.store.run(step, device="cpu", progress=SILENT, cache={})
    assert sorted(given) == sorted([3, torch.get_num_threads()])


def test_sizes_that_the_text_does_not_have_are_left_out(tmp_path: Path) -> None:
    built = planned("liu2020-size", scale_settings=(*TINY, "sizes=[100,5000]"))
    assert any("5,000 sentences" in reason for reason in built.left_out)
    for code in ("en", "de"):
        (tmp_path / f"{code}.txt").write_text("It is so. They say no.\n" * 30)
    data = data_from({"text": {"en": "en.txt", "de": "de.txt"}}, folder=tmp_path)
    found = build_study("liu2020-size", data, StudyOptions(scale="nano", scale_settings=("sizes=[60,61]",)))
    assert "61 sentences a language: en has about 60" in found.left_out
    assert any("en-de" in reason and "--dictionary" in reason for reason in found.left_out)


def test_files_of_three_languages(tmp_path: Path) -> None:
    for code in ("en", "de", "fr"):
        (tmp_path / f"{code}.txt").write_text("It is so. They say no.\n\n" * 60)
        for split in ("train", "dev", "test"):
            (tmp_path / f"{split}.{code}.tsv").write_text("It is so.\tThey say no.\tcontradiction\n")
    (tmp_path / "en-de.txt").write_text("so so\n")
    nli = {code: {split: f"{split}.{code}.tsv" for split in ("train", "dev", "test")} for code in ("en", "de")}
    tables = {
        "text": {code: f"{code}.txt" for code in ("en", "de", "fr")},
        "dictionary": {"en-de": {"test": "en-de.txt"}},
        "parallel": {"en-de": {"en": "en.txt", "de": "de.txt"}},
        "nli": {**nli, "fr": {"test": "test.fr.tsv"}},
    }
    options = StudyOptions(scale="nano", scale_settings=("sizes=[50,100]",))
    built = build_study("liu2020", data_from(tables, folder=tmp_path), options)
    steps = {kind: [step for step in built.steps if step.kind == kind] for kind in ("word-retrieval", "steering")}
    assert [step.settings["target"] for step in steps["word-retrieval"]] == ["de"]
    assert [step.settings["languages"] for step in steps["steering"]] == [["en", "de"], ["de", "en"]]
    shift = next(step for step in built.steps if step.kind == "shifted-transfer")
    assert shift.settings["targets"] == ["de", "fr"]
    assert {name for name in shift.files if name.startswith("dev.")} == {"dev.en", "dev.de"}  # French is not shifted
    assert [reason.partition(":")[0] for reason in built.left_out] == ["word retrieval en-fr", "steering en-fr"]
    encoder = next(step for step in built.steps if step.kind == "pretrain")
    assert {name for name in encoder.steps if name.startswith("shards.")} == {f"shards.{c}" for c in ("en", "de", "fr")}


def test_all_studies_of_the_paper_share_their_encoder() -> None:
    parts = [
        {step.key for step in planned(name).steps if step.kind == "pretrain"}
        for name in ("liu2020-steer", "liu2020-shift")
    ]
    assert parts[0] < parts[1]  # which has the untrained one as well
    whole = {step.key for step in planned("liu2020").steps}
    assert set.union(*parts) < whole


def test_an_arm_of_a_study_of_pairs_cannot_be_a_released_model() -> None:
    with raises("config.conflicting-options"):
        build_study("table1", StudyData(), StudyOptions(scale="nano", model="isoglot-mini"))


# --- steering ---


@pytest.fixture(scope="module")
def steering(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return computed(planned("liu2020-steer"), tmp_path_factory.mktemp("studies") / "steer")


def test_steering_measures_what_claims_read(steering: Study) -> None:
    assert outcomes(steering) == {}
    numbers = steering.numbers()
    for measure in ("convert_rate", "outside_share", "bleu1", "other_language_share"):
        assert all(len(number.draws) == RESAMPLES for number in numbers.select(measure))
    assert sorted(numbers.select("outside_share", source="en").values_of("alpha")) == [-1, 0, 1, 2, 3]
    assert sorted(numbers.select("bleu1", source="fr").values_of("alpha")) == [1, 2, 3]
    assert numbers.select("bleu1").values_of("layer") == [1, 2]


def test_without_a_shift_every_layer_decodes_the_same(steering: Study) -> None:
    for measure in ("convert_rate", "outside_share"):
        found = steering.numbers().select(measure, source="en", alpha=0.0)
        assert len(found) == 2
        assert len({number.value for number in found}) == 1


def test_token_sets_and_examples_stand_beside_the_grid(steering: Study) -> None:
    numbers = steering.numbers()
    assert numbers.select("fertility", arm="multilingual").values_of("language") == ["en", "fr"]
    sizes = {number.at["language"]: number.value for number in numbers.select("token_set_size")}
    shared = numbers.select("token_set_shared", source="en", target="fr").one.value
    assert 0 < shared <= min(sizes["en"], sizes["fr"])
    assert numbers.select("token_set_threshold").one.value >= 1
    step = next(step for step in steering.steps.values() if step.kind == "steering")
    examples = json.loads((steering.store.folder(step.key) / "examples.json").read_text())
    assert set(examples["examples"][0]["decoded"]) == {"-1", "0", "1", "2", "3"}


def test_tables_of_steering(steering: Study) -> None:
    bleu, rates, outside, sets = result_tables(steering)
    assert bleu.column("direction")[:2] == rates.column("direction")[:2] == ["en → fr", "fr → en"]
    assert len(bleu.rows) == 12  # all that the paper prints
    best = max(number.value for number in steering.numbers().select("bleu1", source="en"))
    assert bleu.column("best_bleu1")[0] == pytest.approx(best)
    assert bleu.column("best_bleu1_paper")[0] == 12.18
    assert outside.column("direction") == ["en → fr", "fr → en"]
    assert sets.column("language")[:2] == ["en", "fr"]
    assert sets.column("size_paper")[:2] == [9140, 8552]


def test_numbers_of_the_paper_are_labeled_where_the_encoder_is_another(steering: Study) -> None:
    numbers = steering.numbers()
    assert differences_in_setting(numbers) == ["2 layers", "trained here"]
    for table in result_tables(steering)[:2]:
        assert "paper*" in table.text()
        assert "Ours is another setting (2 layers, trained here)" in table.text()


def test_figures_of_steering(steering: Study) -> None:
    names = [path.name.removesuffix(".vl.json") for path in write_figures(steering)]
    for way in ("en-fr", "fr-en"):
        assert {f"figure8-{way}", f"figure8-{way}-grid"} <= set(names)
    assert "No decoded token" in (page := study_page(steering).html()) or "A shift at layer" in page
    assert "Token sets (Table 3)" in page


# --- a released encoder ---


def test_a_released_encoder_is_identified_by_its_content(steering: Study, tmp_path: Path) -> None:
    pretrained = next(step for step in steering.steps.values() if step.kind == "pretrain")
    for name in ("one", "other"):
        shutil.copytree(steering.store.folder(pretrained.key) / ENCODER, tmp_path / name)
    first, second = (planned("liu2020-steer", model=str(tmp_path / name)) for name in ("one", "other"))
    assert [step.key for step in first.steps] == [step.key for step in second.steps]
    assert not any(step.kind in ("pretrain", "vocabulary", "shards") for step in first.steps)
    (tmp_path / "other" / "README.md").write_text("notes\n")
    assert released_model(str(tmp_path / "other")).key == released_model(str(tmp_path / "one")).key

    study = computed(first, tmp_path / "study")
    for number in study.numbers().select("convert_rate"):
        assert steering.numbers().select("convert_rate", **number.at).one.value == number.value

    index = tmp_path / "one" / "encoder.json"
    index.write_text(index.read_text() + "\n")
    assert released_model(str(tmp_path / "one")).key != released_model(str(tmp_path / "other")).key
    again = Study.create(tmp_path / "again", first)
    means = next(step for step in again.steps.values() if step.kind == "language-means")
    for text in means.steps.values():
        again.store.run(text, device="cpu", progress=SILENT)
    with raises("storage.changed"):
        again.store.run(means, device="cpu", progress=SILENT)


def test_the_bundled_encoder_can_be_named() -> None:
    built = planned("liu2020-shift", model="isoglot-mini")
    assert {step.kind for step in built.steps} == {"builtin-text", "language-means", "transfer", "shifted-transfer"}
    assert all("untrained" not in one.at.values() for one in built.measurements)


def test_a_folder_without_an_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        released_model(str(tmp_path))


def test_the_hash_of_a_folder_is_of_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.json").write_text("{}")
    before = source_hash(tmp_path / "a")
    (tmp_path / "a" / ".hidden").write_text("x")
    assert source_hash(tmp_path / "a") == before
    (tmp_path / "a" / "x.json").rename(tmp_path / "a" / "y.json")
    assert source_hash(tmp_path / "a") != before


# --- shift ---


@pytest.fixture(scope="module")
def shifted(tmp_path_factory: pytest.TempPathFactory) -> Study:
    built = planned("liu2020-shift", scale_settings=(*TINY, "tasks.nli.settings.epochs=2"))
    return computed(built, tmp_path_factory.mktemp("studies") / "shift")


def test_a_shift_measures_what_claims_read(shifted: Study) -> None:
    assert outcomes(shifted) == {}
    numbers = shifted.numbers()
    assert set(numbers.select("nli", variant=None).values_of("arm")) == {"tune-all", "tune-upper", "tune-upper+shift"}
    assert all(len(number.draws) == RESAMPLES for number in numbers.select("nli"))
    assert numbers.select("shift_layer").one.value == 1  # the middle of 2


def test_a_shift_is_tested_on_the_same_examples_with_an_alpha_of_the_grid(shifted: Study) -> None:
    numbers = shifted.numbers()
    plain, moved = (numbers.select("nli", arm=arm, language="fr").one for arm in ("tune-upper", "tune-upper+shift"))
    assert plain.items == moved.items == numbers.select("nli", arm="tune-all", language="fr", variant=None).one.items
    assert numbers.select("shift_alpha", language="fr").one.value in {0.0, *GRID}
    assert len(numbers.select("nli", arm="tune-upper+shift", language="en")) == 0  # what is shifted to stays


def test_the_table_of_a_shift(shifted: Study) -> None:
    (table,) = result_tables(shifted)
    rows = {row["language"]: row for row in table.dicts()}
    assert list(rows)[:2] == ["en", "fr"]
    assert rows["fr"]["tune-upper"] == shifted.numbers().select("nli", arm="tune-upper", language="fr").one.value
    assert (rows["fr"]["tune-all_paper"], rows["en"]["tune-all_paper"]) == (70.42, 80.86)
    assert rows["mean of fr"]["tune-upper+shift_paper"] == 72.42
    assert rows["mean without en"]["tune-upper_paper"] == 61.8
    assert rows["mean without en"]["tune-upper"] == rows["fr"]["tune-upper"]
    assert "in the paper by +3.8 and +0.4" in study_page(shifted).html()


# --- data size ---


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Study:
    pytest.importorskip("gensim")
    return computed(planned("liu2020-size"), tmp_path_factory.mktemp("studies") / "size")


def test_data_size_measures_what_claims_read(sizes: Study) -> None:
    assert outcomes(sizes) == {}


def test_more_sentences_are_more_text(sizes: Study) -> None:
    tokens = {number.at["sentences"]: number.value for number in sizes.numbers().select("text_tokens", language="fr")}
    assert list(tokens) == [100, 200]
    assert 1.5 < tokens[200] / tokens[100] < 2.5


def test_all_systems_are_scored_on_the_same_entries(sizes: Study) -> None:
    found = sizes.numbers().select("word_mrr", layer=None)
    assert len(found) == 10  # three systems, one with two windows, of two sizes; equal epochs; the untrained encoder
    assert len({number.items for number in found}) == 1
    assert all(len(number.draws) == RESAMPLES for number in found)


def test_mrr_is_that_of_a_full_search(sizes: Study) -> None:
    step = next(step for step in sizes.steps.values() if step.kind == "word-retrieval")
    sides, known = {}, []
    for side in ("source", "target"):
        words = [
            set(load_arrays(sizes.store.folder(one.key) / VECTORS, "vectors of words", remedy="")[0]["words"])
            for name, one in step.steps.items()
            if name.endswith(side)
        ]
        known.append(set.intersection(*words))
        folder = sizes.store.folder(step.steps[f"glove-200.{side}"].key)
        facts, arrays = load_arrays(folder / VECTORS, "vectors of words", remedy="")
        sides[side] = dict(zip(facts["words"], arrays["layer.0"], strict=True))
    text = (sizes.store.folder(step.steps["dictionary"].key) / "dictionary.txt").read_text()
    entries = {tuple(line.split()[:2]) for line in text.splitlines() if line.strip()}
    entries = {(one, other) for one, other in entries if one in known[0] and other in known[1]}
    candidates = sorted({other for _, other in entries})
    matrix = np.stack([sides["target"][word] for word in candidates]).astype(np.float64)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    reciprocal = []
    for one, other in entries:
        scores = matrix @ sides["source"][one].astype(np.float64)
        reciprocal.append(1 / (1 + (scores > scores[candidates.index(other)] + 1e-9).sum()))
    number = sizes.numbers().select("word_mrr", system="glove", sentences=200).one
    assert len(entries) == sizes.numbers().select("word_entries").one.value
    assert number.value == pytest.approx(np.mean(reciprocal), abs=2e-3)


def test_a_chosen_layer_is_no_better_than_the_best(sizes: Study) -> None:
    numbers = sizes.numbers().select("word_mrr", system="encoder", sentences=200, window=32, variant=None)
    layers = {number.at["layer"]: number.value for number in numbers if "layer" in number.at}
    assert sorted(layers) == [0, 1, 2]
    assert min(layers.values()) - 0.05 <= numbers.select(layer=None).one.value <= max(layers.values()) + 0.05


def test_the_table_of_sizes(sizes: Study) -> None:
    table, by_language = result_tables(sizes)
    assert by_language.column("system") == table.column("system")
    assert by_language.column("word_mrr_fr") == pytest.approx(table.column("mrr"))  # French is the only other language
    assert list(zip(table.column("system"), table.column("sentences"), table.column("window"), strict=True)) == [
        ("encoder, untrained", None, None),
        ("encoder", 100, 12),
        ("encoder", 100, 32),
        ("encoder, equal epochs", 100, 32),
        ("GloVe", 100, None),
        ("Word2Vec", 100, None),
        ("encoder", 200, 12),
        ("encoder", 200, 32),
        ("GloVe", 200, None),
        ("Word2Vec", 200, None),
    ]


def test_figures_of_sizes(sizes: Study) -> None:
    paths = {path.name.removesuffix(".vl.json"): path.read_text() for path in write_figures(sizes)}
    assert set(paths) == {
        *("sizes-mrr", "figure1-mrr", "figure3-mrr", "figure5-mrr"),
        *("sizes-nli", "figure2-nli", "figure4-nli", "figure6-nli"),
    }
    for system in ("Word2Vec", "GloVe", "encoder, 12 tokens", "encoder, 32 tokens", "untrained encoder"):
        assert system in paths["sizes-mrr"]
    page = study_page(sizes).html()
    assert "Best by sentences of text in each language" in page
    assert page.count('class="figure"') == 8


# --- parts ---


def first_sentences(folder: Path, text: str, count: int) -> str:
    from isoglot.study.kinds.text import first_sentences as cut
    from isoglot.study.steps import Work

    for name in ("in", "out", "scratch"):
        (folder / name).mkdir(parents=True)
    (folder / "in" / "text.txt").write_text(text)
    cut(
        Work(
            settings={"language": "en", "sentences": count},
            execution={},
            inputs={"text": folder / "in"},
            folder=folder / "out",
            scratch=folder / "scratch",
            device="cpu",
            deadline=None,
            progress=SILENT,
            say=lambda _: None,
            cache={},
        )
    )
    return (folder / "out" / "text.txt").read_text()


def test_a_text_is_cut_to_its_first_sentences(tmp_path: Path) -> None:
    text = "One is here. Two is there.\nThree is near.\n\nFour is far. Five is gone.\n"
    assert first_sentences(tmp_path / "a", text, 1) == "One is here.\n"
    assert first_sentences(tmp_path / "b", text, 3) == "One is here. Two is there.\nThree is near.\n"
    assert first_sentences(tmp_path / "c", text, 4).endswith("\n\nFour is far.\n")
    assert first_sentences(tmp_path / "d", text, 5) == text
    with raises("input.too-few", 5, 6):
        first_sentences(tmp_path / "e", text, 6)


def test_a_ratio_has_the_same_resamples_for_the_same_items() -> None:
    rng = np.random.default_rng(0)
    parts = np.stack([rng.integers(0, 5, 50), np.full(50, 5)], axis=1).astype(float)
    one, other = (ratio_number("x", some, {}, items_hash(["a"])) for some in (parts, parts * [1, 2]))
    assert one.value == pytest.approx(parts[:, 0].sum() / 250)
    assert np.allclose(np.array(one.draws), 2 * np.array(other.draws))  # pairs of resamples have the same items
    assert np.std(one.draws) == pytest.approx(np.std(parts[:, 0] / 5) / np.sqrt(50), rel=0.2)
