"""Settings and the recipes that set them."""

from __future__ import annotations

from itertools import combinations

import pytest

from isoglot.core.config import build_config, load_recipe, recipe_names
from isoglot.model.config import SharingPlan
from isoglot.pretrain.config import PretrainConfig
from isoglot.pretrain.run_folder import changed_key
from tests.errors import raises

TABLE1 = {
    "default": ("joint --size 80000", "default"),
    "wiki-cc": ("joint --size 80000", "default"),
    "no-anchors": ("disjoint --size 40000", "default"),
    "default-anchors": ("union --size 40000", "default"),
    "extra-anchors": ("joint --size 80000", "default"),
    "sep-emb": ("disjoint --size 40000", "emb,pos,softmax"),
    "sep-l1-3": ("union --size 40000", "1-3"),
    "sep-l1-6": ("union --size 40000", "1-6"),
    "sep-emb+l1-3": ("disjoint --size 40000", "emb,pos,1-3,softmax"),
    "sep-emb+l1-6": ("disjoint --size 40000", "emb,pos,1-6,softmax"),
}


def config_of(name: str) -> PretrainConfig:
    return build_config(PretrainConfig, recipe=load_recipe(name, room="pretrain"))


@pytest.mark.parametrize("name", recipe_names("pretrain"))
def test_every_recipe_is_whole_and_says_its_vocabulary(name):
    recipe = load_recipe(name, room="pretrain")
    config = config_of(name)
    shape = config.model.encoder(vocabulary_size=1000, languages=("en", "fr"), pad_id=0, unk_id=1)
    assert (config.batch.sequence_length or shape.max_length) <= shape.max_length
    assert recipe.text.startswith("# ")
    assert "# Vocabulary: " in recipe.text
    assert max(len(line) for line in recipe.text.splitlines()) <= 120


def test_there_is_one_recipe_for_each_arm_of_table_1():
    assert {name for name in recipe_names("pretrain") if name.startswith("table1/")} == {
        f"table1/{arm}" for arm in TABLE1
    }


def test_no_two_arms_of_table_1_are_the_same():
    every = [config_of(f"table1/{arm}").model_dump(mode="json") for arm in TABLE1]
    assert all(one != other for one, other in combinations(every, 2))


@pytest.mark.parametrize("arm", TABLE1)
def test_the_arms_are_the_papers(arm):
    vocabulary, plan = TABLE1[arm]
    config, text = config_of(f"table1/{arm}"), load_recipe(f"table1/{arm}", room="pretrain").text
    shape = config.model.encoder(vocabulary_size=80_000, languages=("en", "fr"), pad_id=0, unk_id=1)
    assert f"--mode {vocabulary} " in text
    assert shape.sharing.text == plan
    mode, size = vocabulary.split(" --size ")
    assert (config.requires.vocabulary, config.requires.vocabulary_size, config.requires.count) == (
        mode,
        int(size),
        "merges",
    )
    assert SharingPlan.parse(config.requires.plan).text == plan
    assert config.requires.domains == ("different" if arm == "wiki-cc" else "same")
    assert (config.code_switching.dictionaries == "required") == (arm == "extra-anchors")
    assert (shape.layers, shape.heads, shape.hidden_size, shape.intermediate_size, shape.dropout) == (
        8,
        12,
        768,
        3072,
        0.1,
    )
    assert (config.batch.size, config.batch.sequence_length, config.sampling.exponent) == (96 * 8, 256, 0.7)
    assert config.batch.separator == "sentence"
    assert (config.masking.rate, config.masking.mask, config.masking.keep) == (0.15, 0.8, 0.1)
    assert shape.head_transform == "none"
    assert (config.masking.draw, config.sampling.unit) == ("binomial", "sentences")
    assert config.masking.random_from == ("language" if plan != "default" else "vocabulary")
    assert (config.optimizer.kind, config.optimizer.learning_rate) == ("adam", 1e-4)
    assert config.schedule.kind == "inverse-sqrt"
    assert config.schedule.warmup * config.spending.amount == pytest.approx(30_000, abs=1)
    assert config.evaluation.best_by is None  # English where it is learned, so that monolingual runs need no --set


def test_one_part_of_a_preset_can_be_the_others():
    settings = [
        "model.preset=modern",
        "model.size=base",
        "model.positions=learned",
        "model.mlp=gelu",
        "model.intermediate_size=3072",
    ]
    config = build_config(PretrainConfig, settings=[*settings, "model.norm=post"])
    shape = config.model.encoder(vocabulary_size=80_000, languages=("en", "fr"), pad_id=0, unk_id=1)
    assert (shape.positions, shape.mlp, shape.intermediate_size, shape.norm, shape.bias) == (
        "learned",
        "gelu",
        3072,
        "post",
        "none",
    )


def test_short_windows_have_as_many_tokens_as_long_ones():
    for size in ("200k", "1000k"):
        long, short = config_of(f"second/{size}"), config_of(f"second/{size}-window20")
        assert long.batch.sequence_length == 512
        assert short.batch.sequence_length == 20
        assert (long.batch.windows, short.batch.windows) == ("stream", "sentences")
        assert long.spending == short.spending
        assert long.masking == short.masking
        assert long.masking.draw == "binomial"
        assert changed_key(long.model.model_dump(), short.model.model_dump()) is None


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("budget=soon", ("config.invalid-value", "--set", "budget=soon", "'soon'")),
        ("model.plan=sep-l1-9", ("config.malformed-option", "'sep-l1-9'")),
        (
            "optimizer.kind=sgd",
            (
                "config.invalid-value",
                "--set",
                "optimizer.kind=sgd:",
                "optimizer.kind",
                "'sgd'",
                "'adam'",
                "'adamw'",
                "'muon'",
            ),
        ),
        (
            "optimiser.learning_rate=1",
            ("config.unknown-key", "--set", "optimiser.learning_rate=1:", "'optimiser'"),
        ),
        ("schedule.warmup=1.5", ("config.invalid-value", "--set", "schedule.warmup=1.5:", "schedule.warmup")),
    ],
)
def test_what_will_not_do_is_refused_in_words(setting, expected: tuple[str, ...]):
    with raises(*expected):
        build_config(PretrainConfig, settings=[setting])


def test_the_first_difference_is_named():
    one, other = PretrainConfig(), build_config(PretrainConfig, settings=["masking.rate=0.3", "seed=1"])
    assert changed_key(one.model_dump(), one.model_dump()) is None
    assert changed_key(one.model_dump(), other.model_dump()) == "masking.rate was 0.15 and is 0.3"
