"""Study recipes and scales: which arms are trained, what is measured, and how large everything is.

A recipe is a TOML file in ``recipes/``, or one of the user's own; a scale is a table in ``scales.toml``.
"""

from __future__ import annotations

import tomllib
from contextlib import suppress
from importlib import resources
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from isoglot.core.config import Config, Recipe, build_config, load_recipe, recipe_names
from isoglot.core.errors import ConfigError, check_name
from isoglot.model.config import SharingPlan
from isoglot.pretrain.schedule import parse_budget

ArmMeasure = Literal["nli", "ner", "parsing", "retrieval", "similarity", "emergence", "twins"]
"""nli, ner, parsing: a task learned in the first language and tested in the second; retrieval: translations found;
similarity: CKA; emergence: the last two over training; twins: twins of English sentences found, over training."""
PairMeasure = Literal["figure4a", "figure4b", "figure5", "figure6", "figure7", "factorial", "factorial-text"]
"""Measures that compare encoders of several arms: figures of Wu et al. (2020); factorial has arms of its own, on twins
of English."""
MultilingualMeasure = Literal["data-size", "steering", "shift"]
"""Measures of an encoder of all languages. data-size: word retrieval and NLI beside static vectors, by size of
the text and length of the input; steering: token translation by a shift; shift: NLI with a shift."""


class TwinConfig(Config):
    """A twin of built-in English, in a script of its own."""

    code: str
    """its language code, such as en-x-shift"""
    order: Literal["same", "verb-last", "mirrored"] = "same"
    """its word order"""
    anchors: float = Field(0.0, ge=0, le=1)
    """share of words that are written as in English"""


class ArmConfig(Config):
    """An encoder that a study pretrains."""

    title: str = ""
    """how tables and figures call it; empty: its name"""
    meaning: str = ""
    """what it shares, in a sentence"""
    twin: TwinConfig | None = None
    """trained on English and this twin, not on the languages of the study"""
    vocabulary: Literal["joint", "union", "disjoint"] = "joint"
    """how the languages share ids, as --mode of isoglot vocab train"""
    plan: str = "default"
    """what each language has to itself: default, sep-emb, sep-l1-3 …"""
    languages: Literal["both", "first", "second", "twice", "all"] = "both"
    """which languages it reads: both of the pair, one for a monolingual encoder, twice (the first one under two names),
    or all there is text of"""
    text: Literal["same", "other", "cut"] = "same"
    """text of the second language: same (the main text), other (the other domain's), or cut (the main text, cut to the
    size of the other domain's)"""
    sentences: int | None = Field(None, ge=1)
    """the first N sentences of each language are read; None: all. The vocabulary is that of all text"""
    window: int | None = Field(None, ge=4)
    """longest input in tokens, with as many tokens a step; None: as the pretraining recipe says"""
    tokens: int | None = Field(None, ge=1)
    """tokens that it reads; None: as the study and the scale say"""
    code_switching: bool = False
    """whether its text is code-switched with the training dictionary"""
    recipe: str | None = None
    """the pretraining recipe of this arm; None: that of the study"""
    settings: dict[str, Any] = Field({})
    """changes to the pretraining recipe, as its tables"""
    init_seed: int | None = None
    """seed of the initial weights, if another than the arm's"""
    seed_offset: int = 0
    """added to the seed: a second encoder that differs by its seed alone"""

    @model_validator(mode="after")
    def _plan_is_known(self) -> Self:
        SharingPlan.parse(self.plan)
        return self


class StudyRecipe(Config):
    """Arms and measures of a study."""

    title: str
    """what the study shows"""
    paper: Literal["wu2020", "liu2020"] | None = None
    """the paper it reproduces"""
    claims: tuple[str, ...] = ()
    """claims of the paper that its numbers decide"""
    includes: tuple[str, ...] = ()
    """recipes that are run as well; steps that they have in common are run once"""
    arms: dict[str, ArmConfig] = Field({})
    """encoders by name"""
    measures: tuple[Literal[ArmMeasure, PairMeasure, MultilingualMeasure], ...] = ()
    """what is measured"""
    baseline: str = "default"
    """the arm that others are compared with"""
    untrained: bool = False
    """whether each arm is measured untrained as well: its floor"""
    frozen: dict[str, str] = Field({})
    """variants of the baseline with parts frozen in fine-tuning, by name: the parts, written as a sharing plan"""
    seeds: int = Field(1, ge=1, le=100)
    """encoders of each arm"""
    settings: dict[str, Any] = Field({})
    """changes to the pretraining recipe of all arms, as its tables"""
    budget: str | None = None
    """tokens of each arm, such as 500Mtokens; None: as the scale says"""
    recipe: str | None = None
    """the pretraining recipe; None: the scale's"""
    scale: str | None = None
    """the default scale"""
    pairs: tuple[str, ...] = ()
    """pairs of languages; empty: the first language with every other that there is text of"""
    data: dict[str, Any] | str = Field({})
    """files as data.toml has them, or the path of such a file; relative to the recipe"""

    @property
    def is_multilingual(self) -> bool:
        """Whether its encoders read all languages, and not one pair after another."""
        return any(arm.languages == "all" for arm in self.arms.values())

    @model_validator(mode="after")
    def _arms_exist(self) -> Self:
        if set(self.measures) - {"factorial", "factorial-text"} and not self.arms:
            raise ValueError("has measures and no arms")
        named = self.frozen or "baseline" in self.model_fields_set
        if self.arms and named and self.baseline not in self.arms:
            raise ValueError(f"the baseline {self.baseline!r} is no arm of it")
        for parts in self.frozen.values():
            SharingPlan.parse(parts)
        return self

    @field_validator("budget")
    @classmethod
    def _budget_is_of_tokens(cls, budget: str | None) -> str | None:
        with suppress(ConfigError):
            if budget is None or ((found := parse_budget(budget)).kind == "tokens" and found.amount):
                return budget
        raise ValueError("should be a number of tokens, such as 500Mtokens, so that all arms read as much")


class TaskScale(Config):
    """Settings of a task at a scale."""

    recipe: str = "default"
    """recipe of isoglot transfer"""
    settings: dict[str, Any] = Field({})
    """changes to it"""
    examples: int | None = Field(None, ge=1)
    """the first N training examples; None: all"""
    test_examples: int | None = Field(None, ge=1)
    """the first N test examples of each language; None: all"""
    builtin: dict[str, int] = Field({"train": 2000, "test": 400})
    """built-in examples to train on and to test on, where no files are given"""


class ScaleConfig(Config):
    """Size of a study."""

    meaning: str
    """what it is for"""
    recipe: str
    """pretraining recipe"""
    tokens: int = Field(ge=1)
    """tokens that each arm reads"""
    settings: dict[str, Any] = Field({})
    """changes to the pretraining recipe, as its tables"""
    threads: int | None = Field(None, ge=1, le=1024)
    """CPU threads of a worker; None: as many as there are cores for it. Results may differ in their last bits"""
    moments: int = Field(10, ge=1)
    """evaluations over training, at which curves are measured"""
    vocabulary_size: int = Field(ge=300)
    """subwords of each language; a joint vocabulary has twice as many"""
    vocabulary_sentences: int | None = Field(None, ge=1)
    """lines of each language that vocabularies are trained on; None: all"""
    builtin_sentences: int = Field(40_000, ge=100)
    """sentences of built-in text a language, where no text is given"""
    dev_share: float = Field(0.01, gt=0, lt=1)
    """share of the documents that perplexity is measured on"""
    pairs: int = Field(1000, ge=20)
    """test pairs of sentences, at most"""
    map_pairs: int = Field(10_000, ge=20)
    """pairs that maps are fitted on, at most"""
    sizes: tuple[int, ...] = Field((50_000, 200_000, 450_000), min_length=1)
    """sentences of each language, where encoders and static vectors are compared by size of the text"""
    short_window: int = Field(20, ge=4)
    """length of short inputs in tokens, which are compared with long ones there"""
    static: dict[str, dict[str, Any]] = Field({"word2vec": {}, "glove": {}})
    """static vectors that are trained there, with changes to their settings"""
    static_workers: int = Field(1, ge=1, le=256)
    """threads of Word2Vec and fastText; several are faster, but do not give the same numbers in every run"""
    context_sentences: int = Field(20_000, ge=1)
    """lines of a language that contexts of words are taken from, at most"""
    contexts: int = Field(20, ge=1)
    """sentences of a word that its vector is averaged over, at most"""
    mean_sentences: int = Field(10_000, ge=1)
    """lines that the mean of a language is estimated on"""
    token_sentences: int = Field(200_000, ge=1)
    """lines in which its tokens are counted, for its token set"""
    alphas: tuple[float, ...] = (-1.0, 1.0, 2.0, 3.0)
    """factors of the shift from language to language"""
    fasttext: dict[str, Any] = Field({})
    """changes to the settings of fastText, which words of encoders are compared with"""
    words: int = Field(50_000, ge=20)
    """candidate translations of a language, at most, in addition to the dictionary's words"""
    word_sentences: int = Field(500_000, ge=20)
    """lines of text that words are averaged over"""
    map_transfer: dict[str, Any] = Field({})
    """changes to the recipe map of isoglot transfer, for tasks that are read through maps"""
    tasks: dict[str, TaskScale] = Field({})
    """fine-tuning by task: nli, ner and parse; nli-static for static vectors, and nli-liu2020 for studies of Liu et al.
    where that differs from nli"""


def study_names() -> list[str]:
    """Names of the built-in recipes."""
    return recipe_names("study")


def load_study(name: str) -> tuple[Recipe, StudyRecipe]:
    """A study recipe by name, or by the path of a ``.toml`` file.

    Raises:
        ConfigError: No such recipe, or something in it is invalid.
        StorageError: The file cannot be read.
    """
    recipe = load_recipe(name, room="study")
    return recipe, build_config(StudyRecipe, recipe=recipe)


def scale_names() -> list[str]:
    """Names of the scales, smallest first."""
    return list(_scales())


def load_scale(name: str, settings: tuple[str, ...] = ()) -> ScaleConfig:
    """A scale by name, with ``key=value`` settings laid over it.

    Raises:
        ConfigError: No such scale or setting.
    """
    known = _scales()
    check_name("scale", name, known)
    return build_config(ScaleConfig, values=known[name], settings=settings)


def _scales() -> dict[str, dict[str, Any]]:
    text = (resources.files("isoglot.study") / "scales.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
