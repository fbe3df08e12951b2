"""The run as a whole: what it leaves, what decides its bits, and what it refuses."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from isoglot.core.config import build_config
from isoglot.core.errors import ConfigError, CorruptFileError, StorageError
from isoglot.core.files import read_json
from isoglot.model.encoder import Encoder
from isoglot.model.folder import open_encoder
from isoglot.model.load import encoder_folder, load_encoder, run_weights
from isoglot.pretrain import train
from isoglot.pretrain.batches import Batches
from isoglot.pretrain.distributed import World
from isoglot.pretrain.masking import IGNORED
from isoglot.pretrain.metrics_log import read_metrics
from isoglot.pretrain.step import ForwardBackward
from isoglot.pretrain.token_rows import Rows, TextConfig
from isoglot.pretrain.train import Stop, pretrain
from isoglot.text.formats.dictionary import Entry
from isoglot.vocab import Vocabulary, build_shards, train_vocabulary
from tests.errors import check, raises

PLANS = ["default", "1", "emb,pos,softmax", "2,transform", "emb,pos,1-2,transform,softmax"]


@pytest.fixture
def run(tmp_path: Path, corpus, nano):
    """``run("name", "setting=…")``: a nano run; returns its folder."""

    def go(name: str, *settings: str, shards=None, **options) -> Path:
        out = tmp_path / name
        pretrain(nano(*settings), shards or corpus.shards, corpus.vocabulary, out, device="cpu", **options)
        return out

    return go


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return open_encoder(folder / "last").state_dict()


def same(one: Path, other: Path) -> bool:
    first, second = weights(one), weights(other)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def losses(folder: Path) -> list[dict[str, float]]:
    return [line["loss"] for line in read_metrics(folder) if line["kind"] == "train"]


# --- what it leaves ---


def test_a_run_leaves_an_encoder_a_record_and_metrics(tmp_path: Path, corpus, nano):
    seen = []

    def probe(encoder, step):
        seen.append((step, encoder.training))
        return {"squared": step**2}

    done = pretrain(nano(), corpus.shards, corpus.vocabulary, tmp_path, device="cpu", probes=[probe])
    assert (done.position.step, done.position.tokens) == (12, 12 * 8 * 14)
    assert seen == [(5, False), (10, False), (12, False)]
    record = read_json(tmp_path / "run.json")
    assert (record["status"], record["device"], record["seed"]) == ("finished", "cpu, float32", 7)
    assert {Path(name).name for name in record["inputs"]} == {"index.json"}
    assert {Path(name).name for name in record["outputs"]} >= {"encoder.json", "encoder.safetensors"}
    assert record["config"]["optimizer"]["learning_rate"] == 1e-3
    lines = read_metrics(tmp_path)
    assert [line["step"] for line in lines if line["kind"] == "train"] == [2, 4, 6, 8, 10, 12]
    assert next(line["value"] for line in lines if line["kind"] == "probe") == {"squared": 25}
    dev = {line["step"]: line["perplexity"] for line in lines if line["kind"] == "dev"}
    assert {step: sorted(values) for step, values in dev.items()} == {step: ["en", "fr"] for step in (5, 10, 12)}
    assert dev[12] == done.position.dev
    assert done.position.best == min(values["en"] for values in dev.values()) == dev[done.position.best_step]["en"]
    assert open_encoder(tmp_path / "best").config.languages == ("en", "fr")
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["step-00000008", "step-00000012"]


def test_perplexity_falls_and_starts_near_the_size_of_the_vocabulary(run, corpus):
    out = run(
        "a", "budget=150steps", "optimizer.learning_rate=5e-3", "model.dropout=0", "evaluation.every=50", "log.every=50"
    )
    dev = [line["perplexity"]["en"] for line in read_metrics(out) if line["kind"] == "dev"]
    start = read_metrics(run("b", "budget=0steps"))[0]["perplexity"]["en"]
    assert start == pytest.approx(len(corpus.vocabulary), rel=0.1)
    assert dev[-1] < 0.35 * start


def test_best_is_kept_by_english_or_by_whom_one_says(run, corpus):
    assert open_encoder(run("a", "evaluation.best_by=fr") / "best").config.languages == ("en", "fr")
    assert not (run("d", "evaluation.best=counted") / "best").exists()
    french = {"fr": corpus.shards["fr"]}
    assert open_encoder(run("b", shards=french) / "best").config.languages == ("fr",)
    with raises("config.unknown-name", "evaluation.best_by", "'de'"):
        run("c", "evaluation.best_by=de")


def test_runs_that_mask_differently_can_be_measured_alike(run):
    """Random encoders with one seed: the same dev positions give the same perplexity, others another."""
    perplexities = [
        read_metrics(run(name, "budget=0steps", *settings))[-1]["perplexity"]
        for name, settings in {
            "a": [],
            "b": ["masking.rate=0.5", "evaluation.masking_rate=0.15"],
            "c": ["masking.rate=0.5"],
        }.items()
    ]
    assert perplexities[0] == perplexities[1] != perplexities[2]


def test_no_budget_is_the_random_encoder(run, corpus):
    out = run("a", "budget=0steps")
    fresh = open_encoder(out / "last")
    fresh.reset(7)
    assert all(torch.equal(value, weights(out)[name]) for name, value in fresh.state_dict().items())


def test_a_run_without_dev_text_asks_for_none(run):
    out = run("a", "evaluation.every=0")
    assert not (out / "best").exists()
    assert {line["kind"] for line in read_metrics(out)} == {"train"}


# --- what decides its bits ---


def test_the_same_seed_gives_the_same_bits_and_twins_differ_in_what_they_should(run):
    first = run("a")
    assert same(first, run("b"))
    assert not same(first, run("c", "init_seed=8"))
    assert losses(first)[0].keys() == losses(run("d", "init_seed=8"))[0].keys()  # the same order of languages
    start, twin = run("e", "budget=0steps", "seed=1", "init_seed=5"), run("f", "budget=0steps", "seed=2", "init_seed=5")
    assert same(start, twin)
    assert not same(run("g", "seed=1", "init_seed=5"), run("h", "seed=2", "init_seed=5"))


@pytest.mark.parametrize("plan", PLANS)
def test_every_plan_trains(run, plan):
    out = run("a", f'model.plan="{plan}"', "masking.random_from=language")
    assert all(math.isfinite(value) for line in losses(out) for value in line.values())


def test_private_parts_of_a_language_that_never_comes_stay_as_they_were(run, corpus):
    plan = 'model.plan="emb,pos,1-2,transform,softmax"'
    one = run("a", plan, "optimizer.kind=adamw", "optimizer.weight_decay=0.5", "sampling.exponent=0", "budget=1steps")
    start = weights(run("b", plan, "budget=0steps"))
    language = next(iter(losses(run("c", plan, "sampling.exponent=0", "budget=1steps", "log.every=1"))[0]))
    moved = {name for name, value in weights(one).items() if not torch.equal(value, start[name])}
    assert moved == {name for name in start if not set(name.split(".")) & ({"en", "fr"} - {language})}


@pytest.mark.parametrize(("plan", "separator"), [("default", "none"), ("1,softmax", "none"), ("softmax", "sentence")])
def test_parts_of_a_batch_add_up_to_it(run, plan, separator):
    common = [f'model.plan="{plan}"', f"batch.separator={separator}", "model.dropout=0", "log.every=1"]
    common.append("optimizer.learning_rate=1e-2")
    whole, parts = losses(run("a", *common)), losses(run("b", *common, "batch.gradient_accumulation=4"))
    for one, other in zip(whole, parts, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


def test_a_budget_of_tokens_is_one_of_steps(run):
    assert same(run("a", "budget=12steps"), run("b", f"budget={12 * 8 * 14}tokens"))


def test_a_ramp_has_smaller_steps_first_and_is_resumed(run, tmp_path: Path, corpus, nano):
    """Rows of a step: 2, 2, 4, 4, 8, 8, of 14 tokens of text each; the same bits in slices."""
    settings = ["batch.ramp=0.66", "budget=6steps", "log.every=1"]
    lines = [line for line in read_metrics(run("a", *settings)) if line["kind"] == "train"]
    assert [line["tokens"] for line in lines] == [28, 56, 112, 168, 280, 392]
    for _ in range(6):
        pretrain(nano(*settings), corpus.shards, corpus.vocabulary, tmp_path / "cut", resume=True, stop=Stop(0.0))
    one, other = (
        open_encoder(tmp_path / "cut" / "last").state_dict(),
        open_encoder(tmp_path / "a" / "last").state_dict(),
    )
    assert all(one[name].equal(other[name]) for name in other)
    assert read_metrics(run("c", "batch.ramp=0.5", "budget=392tokens"))[-1]["step"] > 392 // 112
    with raises("config.invalid-value", "batch.size", 4):
        run("b", "batch.ramp=0.5", "batch.size=6", "batch.gradient_accumulation=3")


def test_a_budget_of_time_is_kept(run):
    seconds = read_json(run("a", "budget=0.3s", "evaluation.every=0") / "run.json")["wall_seconds"]
    assert 0.3 <= seconds < 5


@pytest.mark.parametrize("settings", [["optimizer.kind=muon", "model.preset=modern"], ["precision=bfloat16"]])
def test_muon_and_bfloat16_train_too(run, settings):
    assert all(math.isfinite(value) for line in losses(run("a", *settings)) for value in line.values())


def test_a_compiled_run_has_the_losses_of_a_plain_one(run, monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda module, **_: module)  # the compiler itself takes a minute
    assert losses(run("a", "compile=on")) == losses(run("b"))


@pytest.mark.parametrize(("width", "apart"), [(384, True), (768, False)])
def test_norms_of_narrow_encoders_are_compiled_as_two_kernels(monkeypatch, nano, width: int, apart: bool):
    from torch._inductor import config as inductor

    seen = []

    def compile_(module, **given):
        seen.append(given["options"])
        return module

    monkeypatch.setattr(torch, "compile", compile_)
    monkeypatch.setattr(inductor.triton, "mix_order_reduction", True, raising=False)
    config = nano("compile=on", f"model.hidden_size={width}", "model.heads=6")
    shape = config.model.encoder(vocabulary_size=50, languages=("en",), pad_id=0, unk_id=1)
    ForwardBackward(config, Encoder(shape, seed=None), World(device=torch.device("cpu")))
    assert seen == [{"triton.mix_order_reduction": False} if apart else None]


@pytest.mark.no_cover
def test_every_shape_of_a_compiled_run_is_compiled(run, monkeypatch, tmp_path: Path):
    """Three sizes of steps times one length of text and three of pairs are twelve graphs; torch's limit is eight."""
    graphs = []

    def count(graph, inputs):
        graphs.append(graph)
        return graph.forward

    monkeypatch.setattr("isoglot.pretrain.step.BACKEND", count)
    torch._dynamo.reset()
    parallel = [{"en": "a cat " * n, "fr": "un chat " * n} for n in range(1, 9)]
    settings = [
        "compile=on",
        "batch.ramp=0.6",
        "budget=60steps",
        "model.max_length=32",
        "pairs.share=0.7",
        "model.dropout=0",
    ]
    run("a", *settings, "evaluation.every=0", parallel=parallel)
    assert len(graphs) == 12


# --- more than text ---


def test_dictionaries_switch_words_and_are_remembered(run, corpus):
    words = [Entry("the", "le"), Entry("a", "un")]
    out = run("a", dictionaries={("en", "fr"): words})
    assert not same(out, run("b"))
    assert open_encoder(out / "last").provenance.words("en") == {"the", "a"}
    with raises("config.not-supported"):
        run("c", "model.plan=sep-emb", dictionaries={("en", "fr"): words})
    with raises("config.other-language", "de"):
        run("d", dictionaries={("en", "de"): words})
    with raises("config.missing-data"):
        run("e", "code_switching.dictionaries=required")


def test_pairs_are_learned_from_and_parts_of_them_add_up(run):
    parallel = [{"en": "A train left.", "fr": "Un train est parti."}, {"en": "Leo sleeps.", "fr": "Léo dort bien ici."}]
    common = ["model.dropout=0", "log.every=1", "pairs.share=0.5", "model.max_length=24"]
    whole = losses(run("a", *common, parallel=parallel))
    parts = losses(run("b", *common, "batch.gradient_accumulation=4", parallel=parallel))
    assert {name for line in whole for name in line} == {"en", "fr", "pairs"}
    for one, other in zip(whole, parts, strict=True):
        assert one == pytest.approx(other, abs=1e-4)
    with raises("config.not-supported", "'1'"):
        run("c", *common, "model.plan='1'", parallel=parallel)


# --- what it refuses ---


def test_a_folder_that_holds_a_run_is_refused(run, tmp_path: Path):
    run("a")
    with raises("config.run-exists", tmp_path):
        run("a")


def test_a_run_is_not_resumed_with_other_settings_or_data(run, tmp_path: Path, corpus, each_damage):
    run("a")
    for wrong in each_damage(tmp_path / "a" / "pretrain.json"):
        if wrong[:2] in ("{}", "[]", "No"):
            with pytest.raises(CorruptFileError):
                run("a", resume=True)
    with raises("config.other-settings", tmp_path, "optimizer.learning_rate", "0.001", "0.002"):
        run("a", "optimizer.learning_rate=2e-3", resume=True)
    with raises("config.other-settings", "shards.fr"):
        run("a", shards={"en": corpus.shards["en"]}, resume=True)


def test_shards_must_fit_their_names_and_the_vocabulary(run, corpus, tmp_path: Path):
    en, fr = corpus.shards["en"], corpus.shards["fr"]
    with raises("config.other-language", fr.folder, "fr", "de"):
        run("a", shards={"en": en, "de": fr})
    text = {"fr": [corpus.folder / "fr.txt"]}
    other = train_vocabulary(text, mode="joint", size=380, coverage=1.0)
    alien = build_shards(text["fr"], other, "fr", tmp_path / "alien")
    with raises("config.other-vocabulary", "en"):
        run("b", shards={"en": en, "fr": alien})
    with raises("config.other-vocabulary"):
        run("c", shards={"fr": alien})
    assert not (tmp_path / "b").exists()


def test_a_given_vocabulary_learns_its_members_from_the_shards(tmp_path: Path, corpus, nano):
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text(corpus.vocabulary.view())
    given = Vocabulary.from_tokenizer(tokenizer)
    shards = {
        code: build_shards([corpus.folder / f"{code}.txt"], given, code, tmp_path / code, dev_share=0.2)
        for code in ("en", "fr")
    }
    pretrain(nano("model.plan=sep-emb"), shards, given, tmp_path / "out", device="cpu")
    members = open_encoder(tmp_path / "out" / "last").member_ids()
    assert len(members["en"]) < len(given)
    assert set(members["en"].tolist()) == set((shards["en"].counts() > 0).nonzero()[0]) | set(given.special.values())


def test_rows_that_cannot_be_shared_are_refused(run):
    with raises("config.invalid-value", 8, 1, 3):
        run("a", "batch.gradient_accumulation=3")


def test_what_cannot_work_is_refused_before_anything_is_written(run, tmp_path: Path, monkeypatch):
    with raises("config.invalid-value", "batch.sequence_length", 500, 16):
        run("a", "batch.sequence_length=500")
    for name in ("tensorboard", "wandb", "mlflow", "trackio"):
        monkeypatch.setitem(sys.modules, name, None)
        with raises("missing-extra", f"'isoglot[{name}]'"):
            run("a", f"log.to={name}")
    assert not (tmp_path / "a").exists()


def test_a_perplexity_that_is_not_finite_stops_the_run_and_is_no_best(run, tmp_path: Path):
    """The last step's loss was finite, and the weights it led to are, too."""
    with raises("numeric", 1, "en"):
        run("a", "optimizer.learning_rate=1e30", "schedule.warmup=0", "evaluation.every=1", "log.every=100")
    assert not (tmp_path / "a" / "best").exists()
    assert read_metrics(tmp_path / "a") == []


@pytest.mark.parametrize("due", ["log.every=7", "checkpoints.every=7", "evaluation.every=7"])
def test_a_loss_that_is_not_finite_stops_the_run_and_no_checkpoint_has_it(run, tmp_path: Path, monkeypatch, due):
    real, calls = ForwardBackward.run, []

    def poisoned(self, batch):
        calls.append(batch.language)
        return real(self, batch) * (float("nan") if len(calls) == 6 else 1.0)

    monkeypatch.setattr(ForwardBackward, "run", poisoned)
    rare = ["log.every=100", "evaluation.every=100", "checkpoints.every=4"]
    kept = [] if due == "checkpoints.every=7" else ["step 4"]
    with raises("numeric", "step 6", *kept) as error:
        run("a", *rare, due, *(["checkpoints.every=4"] if kept else []))
    check(error.value, "numeric", calls[5])
    assert read_json(tmp_path / "a" / "run.json")["status"] == "failed"


def test_weights_that_are_not_finite_are_never_written(run, tmp_path: Path):
    with raises("numeric"):
        run("a", "optimizer.learning_rate=1e38", "schedule.warmup=0", "optimizer.kind=adamw", "log.every=100")
    assert not list((tmp_path / "a").glob("checkpoints/*/model.safetensors"))


# --- which weights a run stands for ---


def overtrained(run: Any) -> Any:
    """A run that is worse at its end than before: so high a rate that English gets worse after step 4."""
    out = run("worse", "budget=8steps", "evaluation.every=1", "optimizer.learning_rate=0.5", "schedule.warmup=7")
    dev = {line["step"]: line["perplexity"]["en"] for line in read_metrics(out) if line["kind"] == "dev"}
    assert min(dev, key=dev.__getitem__) < 8
    return out


def test_a_run_opens_the_weights_with_the_lowest_english_dev_perplexity_and_the_last_only_if_told(run):
    out = overtrained(run)
    dev = {line["step"]: line["perplexity"] for line in read_metrics(out) if line["kind"] == "dev"}
    step = min(dev, key=lambda step: dev[step]["en"])
    found: Any = {which: run_weights(out, which) for which in ("best", "last")}
    assert {which: one.facts() for which, one in found.items()} == {
        "best": {"weights": "best", "step": step, "dev_perplexity": dev[step]},
        "last": {"weights": "last", "step": 8, "dev_perplexity": dev[8]},
    }
    best: Any = load_encoder(out, device="cpu")
    last: Any = load_encoder(out, device="cpu", weights="last")
    for name, opened in (("best", best), ("last", last)):
        kept = open_encoder(out / name).state_dict()
        assert all(torch.equal(value, kept[key]) for key, value in opened.state_dict().items())
    assert not torch.equal(best.head.softmax["shared"].bias, last.head.softmax["shared"].bias)
    assert encoder_folder(out) == out / "best"


def test_a_run_without_evaluations_has_only_its_last_weights_and_says_so(run):
    out = run("a", "evaluation.every=0")
    found: Any = run_weights(out)
    assert found.facts() == {"weights": "last", "step": 12, "dev_perplexity": {}}
    assert (
        str(found)
        == f"{out / 'last'}: last weights (the run kept no best weights), step 12, dev perplexity not measured"
    )


def test_a_run_that_is_not_finished_is_not_opened(run):
    out = run("a", stop=Stop(0.0))
    with pytest.raises(StorageError) as error:
        load_encoder(out)
    assert error.value.problem == "the training run has not finished"
    assert run_weights(out.parent) is None


# --- what an arm requires ---


def refused(run, *settings: str, **options) -> str:
    with pytest.raises(ConfigError) as error:
        run("refused", *settings, **options)
    return error.value.problem


def test_an_arm_refuses_another_vocabulary_size_or_plan_and_says_what_it_found(run, corpus):
    assert refused(run, "requires.vocabulary=disjoint") == (
        "the recipe requires a disjoint vocabulary, found a joint one"
    )
    assert refused(run, "requires.vocabulary_size=80000") == (
        "the recipe requires a vocabulary of 80,000 subwords, found one of 400"
    )
    assert refused(run, "requires.count=merges") == (
        "the recipe requires a vocabulary whose size counts merges, found one that counts subwords"
    )
    assert refused(run, "requires.plan=default", "model.plan=l1") == (
        "the recipe requires sharing plan default, found sep-l1-1"
    )
    ours = [
        "requires.vocabulary=joint",
        "requires.vocabulary_size=400",
        "requires.count=subwords",
        "requires.plan=sep-l1-1",
    ]
    run("fits", *ours, "model.plan=l1", "budget=0steps")
    run("overridden", "requires.vocabulary_size=any", "requires.vocabulary=any", "budget=0steps")
    run("alone", "requires.vocabulary=union", "budget=0steps", shards={"en": corpus.shards["en"]})


def test_a_vocabulary_whose_text_was_too_short_for_its_size_is_not_of_that_size(tmp_path: Path, corpus, nano):
    text = tmp_path / "en.txt"
    text.write_text("the cat sleeps\n" * 40, encoding="utf-8")
    vocabulary = train_vocabulary({"en": [text]}, mode="joint", size=5000)
    shards = {"en": build_shards([text], vocabulary, "en", tmp_path / "en", dev_share=0)}
    with raises("config.requirement", "5,000"):
        pretrain(
            nano("requires.vocabulary_size=5000", "evaluation.every=0"),
            shards,
            vocabulary,
            tmp_path / "out",
            device="cpu",
        )


def test_an_arm_about_domains_wants_them_declared_and_different(tmp_path: Path, corpus, run):
    def shards(english: str | None, french: str | None):
        named = {"en": english, "fr": french}
        return {
            code: build_shards([corpus.folder / f"{code}.txt"], corpus.vocabulary, code, tmp_path / f"{code}-{domain}",
                               domain=domain, dev_share=0.2)
            for code, domain in named.items()
        }  # fmt: skip

    different, same = ["requires.domains=different", "budget=0steps"], ["requires.domains=same", "budget=0steps"]
    wiki, crawl, unknown = shards("wiki", "wiki"), shards("wiki", "crawl"), shards("wiki", None)
    assert crawl["fr"].domain == "crawl"
    assert "different domains, found en wiki, fr wiki" in refused(run, *different, shards=wiki)
    assert "found en wiki, fr not declared" in refused(run, *different, shards=unknown)
    assert "one domain, found en wiki, fr crawl" in refused(run, *same, shards=crawl)
    run("a", *different, shards=crawl)
    run("b", *same, shards=wiki)
    run("c", *same)


def test_text_can_be_cut_to_the_same_number_of_tokens(run, corpus):
    there = {code: len(one.ids("train")) for code, one in corpus.shards.items()}
    least = min(there.values())
    assert build_config(TextConfig, settings=["tokens=least"]).limits(corpus.shards) == dict.fromkeys(there, least)
    assert build_config(TextConfig, settings=["tokens.fr=90"]).limits(corpus.shards) == {"en": None, "fr": 90}
    assert "asks for 999,999 tokens of en" in refused(run, "text.tokens=999999")
    rows = Rows(corpus.shards["en"], length=16, layout=corpus.vocabulary.layout, limit=100, separator="sentence")
    ids = corpus.shards["en"].ids("train")[:100]
    every = rows.take(0, 3 * rows.per_epoch)[:, 1:-1]
    assert set(every.flatten().tolist()) <= {*ids.tolist(), corpus.vocabulary.special["[SEP]"]}
    whole, cut = run("a", "budget=6steps"), run("b", "budget=6steps", "text.tokens=200")
    assert not same(whole, cut)


# --- windows, and what a budget of tokens counts ---


def test_windows_of_any_length_read_as_much_text_for_the_same_budget(run):
    """Both ends are within one step of the budget; special tokens and padding are not text."""
    for name, settings, step in (
        ("long", ["batch.sequence_length=16", "batch.size=8"], 8 * 14),
        ("short", ["batch.sequence_length=6", "batch.size=8"], 8 * 4),
        ("sentences", ["batch.sequence_length=6", "batch.size=8", "batch.windows=sentences"], 8 * 4),
    ):
        out = run(name, *settings, "budget=1000tokens", "masking.draw=binomial", "log.every=1", "evaluation.every=0")
        tokens = [line["tokens"] for line in read_metrics(out) if line["kind"] == "train"]
        assert 1000 <= tokens[-1] < 1000 + step
        assert max(np.diff([0, *tokens])) <= step


def test_a_run_on_sentences_learns_and_resumes(run, corpus, nano, tmp_path: Path):
    settings = ["batch.windows=sentences", "masking.draw=binomial", "budget=40steps", "optimizer.learning_rate=5e-3"]
    out = run("a", *settings, "batch.gradient_accumulation=2")
    dev = [line["perplexity"]["en"] for line in read_metrics(out) if line["kind"] == "dev"]
    assert dev[-1] < dev[0]
    again = tmp_path / "b"
    for limit in (0.0, None):
        pretrain(nano(*settings, "batch.gradient_accumulation=2"), corpus.shards, corpus.vocabulary, again, device="cpu",
                 resume=True, stop=Stop(limit))  # fmt: skip
    assert same(out, again)


def test_padding_does_not_change_the_loss(corpus, nano):
    """Rows of one sentence each, padded to 16: the loss is that of the rows by themselves, without padding."""
    config = nano("batch.windows=sentences", "masking.draw=binomial", "model.dropout=0")
    world = World(device=torch.device("cpu"))
    batch = Batches(config, corpus.shards, corpus.vocabulary, length=16, world=world).next(0, 0.0)
    encoder = train._encoder(config, corpus.vocabulary, tuple(corpus.shards)).eval()
    whole = float(batch.loss(encoder).detach())
    mask_BT: Any = batch.mask_BT
    assert not bool(mask_BT.all())
    total, count = 0.0, 0
    for row in range(8):
        length = int(mask_BT[row].sum())
        kept = batch.masked.targets_BK[row] != IGNORED
        at_BK, targets_BK = (part[row][kept][None] for part in (batch.masked.at_BK, batch.masked.targets_BK))
        hidden = encoder.hidden(batch.masked.inputs_BT[row, :length][None])
        total += float(encoder.loss(hidden, at_BK, targets_BK, reduction="sum").detach())
        count += int(kept.sum())
    assert whole == pytest.approx(total / count, rel=1e-5)


@pytest.mark.parametrize("parts", [1, 2])
def test_the_softmax_of_binomial_masks_is_computed_for_few_more_positions_than_are_masked(corpus, nano, parts: int):
    config = nano("masking.draw=binomial", "batch.size=128", f"batch.gradient_accumulation={parts}", "model.dropout=0")
    world = World(device=torch.device("cpu"))
    batch = Batches(config, corpus.shards, corpus.vocabulary, length=16, world=world).next(0, 0.0)
    encoder = train._encoder(config, corpus.vocabulary, tuple(corpus.shards)).eval()
    scored, found, wanted = [], [], []
    for part in batch.parts(parts):
        kept = part.masked.targets_BK != IGNORED
        assert part.most is not None
        assert kept.sum() <= part.most < kept.numel()
        scored.append(part.most)
        found.append(float(part.loss(encoder).detach()))
        wanted.append(float(replace(part, most=None).loss(encoder).detach()))
    assert sum(scored) < 0.6 * batch.masked.targets_BK.numel()
    assert found == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("unit", ["tokens", "sentences"])
def test_languages_are_sampled_by_their_share_of_tokens_or_of_sentences(tmp_path: Path, corpus, nano, unit: str):
    """French with one sentence a line, English with all of a document in one: fewer sentences, as many tokens."""
    text = (corpus.folder / "en.txt").read_text(encoding="utf-8")
    (tmp_path / "en.txt").write_text("\n\n".join(part.replace("\n", " ") for part in text.split("\n\n")) + "\n")
    shards = {**corpus.shards, "en": build_shards([tmp_path / "en.txt"], corpus.vocabulary, "en", tmp_path / "en")}
    config = nano(f"sampling.unit={unit}", "sampling.exponent=0.5", "evaluation.every=0")
    batches = Batches(config, shards, corpus.vocabulary, length=16, world=World(device=torch.device("cpu")))
    counts = {code: one.index["counts"]["train"][unit] for code, one in shards.items()}
    share = counts["en"] ** 0.5 / (counts["en"] ** 0.5 + counts["fr"] ** 0.5)
    assert batches.sampler.probabilities()["en"] == pytest.approx(share)
    assert (share < 0.4) == (unit == "sentences")
