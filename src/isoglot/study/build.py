"""From a recipe, a scale and data to the steps of a study.

Arms differ in what the recipe says and in nothing else: the same text, the same number of tokens, the same tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, reduce
from typing import TYPE_CHECKING, Any

from isoglot.core.config import build_config, laid_over, load_recipe
from isoglot.core.errors import ConfigError, check_name
from isoglot.languages import LANGUAGES
from isoglot.study.data import TASKS as TABLES_OF_TASKS
from isoglot.study.data import StudyData, check_data, pair_name
from isoglot.study.kinds.pretrain import ENCODER, MOMENTS, training_settings
from isoglot.study.kinds.text import SHARDS
from isoglot.study.recipe import ArmConfig, ScaleConfig, StudyRecipe, TaskScale, load_scale, load_study
from isoglot.study.steps import SourceFile, Step, ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from isoglot.pretrain.config import PretrainConfig
    from isoglot.study.numbers import Coordinate

BUILTIN_SEED = 0
Inputs = dict[str, Step | SourceFile]
TASKS = {"nli": "nli", "ner": "ner", "parsing": "parse"}
"""The task of each measure."""


@dataclass(frozen=True)
class Measurement:
    """A step whose numbers belong to a study, and the coordinates that they get there."""

    step: Step
    at: Mapping[str, Coordinate]

    @property
    def place(self) -> tuple[str, tuple[tuple[str, Coordinate], ...]]:
        """Key of the step and coordinates, which tell measurements apart."""
        return self.step.key, tuple(sorted(self.at.items()))


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """Options of a user beside the recipe.

    Attributes:
        scale: Name of the scale; None: the recipe's, or ``hour`` with text and ``nano`` without.
        scale_settings: ``key=value`` settings of the scale.
        pairs: Pairs of languages; empty: English with every other language there is text of.
        seeds: Encoders of each arm; None: as the recipe says.
        first_seed: Seed of the first encoder of each arm.
        arms: Names of the arms to run; empty: all.
        keep_test_sentences: Whether test sentences stay in the training text.
        segmentation: How text is segmented into words, by language.
        model: A released encoder that is measured instead of pretraining one: a folder, ``isoglot-mini``, or a name on
            the Hugging Face hub.
    """

    scale: str | None = None
    scale_settings: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    seeds: int | None = None
    first_seed: int = 0
    arms: tuple[str, ...] = ()
    keep_test_sentences: bool = False
    segmentation: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None


@dataclass
class BuiltStudy:
    """The measurements of a study, in the order in which they are run, and what had to be left out."""

    names: tuple[str, ...]
    recipes: tuple[StudyRecipe, ...]
    scale_name: str
    scale: ScaleConfig
    pairs: tuple[str, ...]
    seeds: int
    measurements: list[Measurement] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    data: StudyData = field(default_factory=StudyData)
    options: StudyOptions = field(default_factory=StudyOptions)

    @property
    def steps(self) -> list[Step]:
        """All steps, inputs first."""
        return ordered([one.step for one in self.measurements])


def build_study(name: str, data: StudyData, options: StudyOptions | None = None) -> BuiltStudy:
    """The steps of a study.

    Args:
        name: A recipe's name, or the path of a ``.toml`` file.
        data: The user's files; without any text, the built-in languages.
        options: What the user asks for beside the recipe.

    Raises:
        ConfigError: The recipe, the scale, an arm or a pair does not exist, or a file is missing.
        StorageError: A file cannot be read.
    """
    options = options or StudyOptions()
    names, recipes = _with_included(name)
    arms = [arm for recipe in recipes for arm in recipe.arms]
    for one in options.arms if arms else ():
        check_name("arm", one, arms)
    scale_name = options.scale or recipes[0].scale or ("nano" if data.is_builtin else "hour")
    scale = load_scale(scale_name, options.scale_settings)
    if options.model is not None and not all(recipe.is_multilingual for recipe in recipes if recipe.measures):
        raise ConfigError(
            f"{name} pretrains its encoders", "run a recipe of liu2020 with a released model", "conflicting-options"
        )
    _check_used(name, recipes, data, options)
    pairs = _pairs(recipes, data, options)
    check_data(data, pairs, scale.tokens, options.segmentation)
    seeds = options.seeds or max(one.seeds for one in recipes)
    built = BuiltStudy(names, recipes, scale_name, scale, pairs, seeds, data=data, options=options)
    left_out: dict[str, None] = {}
    moments = any("emergence" in recipe.measures for recipe in recipes)  # else one arm of two recipes is trained twice
    for seed in range(options.first_seed, options.first_seed + built.seeds):
        for builder in _builders(recipes, scale, data, pairs, options):
            builder.keeps_moments = builder.keeps_moments or moments
            known = {one.place for one in built.measurements}
            built.measurements += [one for one in builder.measurements(seed) if one.place not in known]
            left_out |= dict.fromkeys(builder.left_out)
    built.left_out = list(left_out)
    trained_alone = all(one.step.kind in ("pretrain", "shards") for one in built.measurements)
    if trained_alone and any(recipe.measures for recipe in recipes):
        problem = f"{name} has nothing to measure" + (f": {built.left_out[0]}" if built.left_out else "")
        raise ConfigError(problem, "give it the data that it needs", "missing-data")
    return built


_OF_TWINS = {"twins", "factorial", "factorial-text"}
"""Measures of encoders of a language and a twin of it."""


def _is_of_twins(recipes: tuple[StudyRecipe, ...]) -> bool:
    """Whether all encoders read a language and a twin of it."""
    return set().union(*(recipe.measures for recipe in recipes)) <= _OF_TWINS


def _pairs(recipes: tuple[StudyRecipe, ...], data: StudyData, options: StudyOptions) -> tuple[str, ...]:
    if _is_of_twins(recipes):
        return (f"{next(iter(data.text), 'en')}-twin",)
    multilingual = any(recipe.is_multilingual for recipe in recipes)
    named = tuple(map(pair_name, recipes[0].pairs))
    pairs = options.pairs or named or _default_pairs(data, LANGUAGES if multilingual else ("en", "de"))
    for pair in pairs:
        _check_pair(pair, data)
    return pairs


def _check_used(name: str, recipes: tuple[StudyRecipe, ...], data: StudyData, options: StudyOptions) -> None:
    """Refuse data and pairs that the study would not look at."""
    given = [table for table, files in vars(data).items() if files]
    if any("factorial-text" in recipe.measures for recipe in recipes):
        if given != ["text"] or len(data.text) != 1 or options.pairs:
            problem = f"{name} makes twins of the text of one language, and takes nothing else"
            raise ConfigError(problem, "give it one text: --text de=FILE", "conflicting-options")
    elif _is_of_twins(recipes) and (given or options.pairs):
        problem = f"{name} is about built-in English and its twins"
        raise ConfigError(problem, "run it without data and pairs of languages", "conflicting-options")
    if given and data.is_builtin:
        problem = f"there are files ({', '.join(given).replace('_', '-')}), but no text to train on"
        remedy = "give text as well: --text en=FILE; built-in languages are studied with built-in examples alone"
        raise ConfigError(problem, remedy, "missing-data")


def _builders(
    recipes: tuple[StudyRecipe, ...], scale: ScaleConfig, data: StudyData, pairs: tuple[str, ...], options: StudyOptions
) -> Iterator[StudyBuilder]:
    """A builder for each pair and bilingual recipe, then one for each multilingual recipe."""
    from isoglot.study.multilingual import MultilingualBuilder

    for pair in pairs:
        for recipe in recipes:
            if not recipe.is_multilingual:
                yield StudyBuilder(recipe, scale, data, tuple(pair.split("-")), options)
    languages = tuple(dict.fromkeys(code for pair in pairs for code in pair.split("-")))
    for recipe in recipes:
        if recipe.is_multilingual:
            yield MultilingualBuilder(recipe, scale, data, languages, options)


def _with_included(name: str) -> tuple[tuple[str, ...], tuple[StudyRecipe, ...]]:
    found: dict[str, StudyRecipe] = {}

    def visit(one: str) -> None:
        if one not in found:
            _, found[one] = load_study(one)
            for other in found[one].includes:
                visit(other)

    visit(name)
    return tuple(found), tuple(found.values())


def _default_pairs(data: StudyData, builtin: tuple[str, ...]) -> tuple[str, ...]:
    languages = list(data.text) if data.text else list(builtin)
    first = "en" if "en" in languages else languages[0]
    pairs = tuple(f"{first}-{code}" for code in languages if code != first)
    if not pairs:
        raise ConfigError(f"only {first} has text", "give text of another language: --text de=FILE", "missing-data")
    return pairs


def _check_pair(pair: str, data: StudyData) -> None:
    for code in pair.split("-"):
        if data.text and code not in data.text:
            raise ConfigError(f"no text of {code} for the pair {pair}", f"give it: --text {code}=FILE", "missing-data")
        if not data.text and code not in LANGUAGES:
            problem = f"{code} is not a built-in language"
            remedy = f"give text: --text {code}=FILE, or name another --pair"
            raise ConfigError(problem, remedy, "built-in-language")


class StudyBuilder:
    """The steps of one recipe for one pair of languages.

    Args:
        recipe: What is trained and measured.
        scale: How large.
        data: The user's files.
        languages: Two languages; tasks are learned in the first.
        options: What the user asks for.
    """

    def __init__(
        self,
        recipe: StudyRecipe,
        scale: ScaleConfig,
        data: StudyData,
        languages: tuple[str, ...],
        options: StudyOptions,
    ) -> None:
        self.recipe, self.scale, self.data, self.options = recipe, scale, data, options
        self.languages = languages
        self.pair = "-".join(languages)
        self.left_out: list[str] = []
        self.keeps_moments = "emergence" in recipe.measures
        self.every: int | None = None  # training steps between evaluations, if not as the scale says

    @property
    def arms(self) -> dict[str, ArmConfig]:
        """The arms of the recipe that the user wants."""
        wanted = self.options.arms or tuple(self.recipe.arms)
        return {name: arm for name, arm in self.recipe.arms.items() if name in wanted}

    # --- what is measured ---

    def measurements(self, seed: int) -> Iterator[Measurement]:
        """All measurements: arm by arm, then those that compare arms."""
        from isoglot.study.twin_steps import TwinBuilder

        for name, arm in self.arms.items():
            if arm.twin is not None:
                yield from TwinBuilder(self, arm.twin, seed).arm_steps(name, arm)
            elif missing := self._missing(arm):
                self.left_out.append(f"{self.pair}, arm {name}: {missing}")
            else:
                yield from self._arm(name, arm, seed)
        for measure in self.recipe.measures:
            if measure in pair_measures():
                yield from pair_measures()[measure](self, seed)

    def _missing(self, arm: ArmConfig) -> str | None:
        """Name the data that an arm needs and the study does not have; None if nothing is missing."""
        if arm.text != "same" and not self.data.is_builtin and self.languages[1] not in self.data.other_text:
            return f"no text of {self.languages[1]} from another domain (--other-text)"
        if arm.code_switching and not self.data.is_builtin and "train" not in self.data.dictionary.get(self.pair, {}):
            return f"no training dictionary of {self.pair} (--dictionary {self.pair}.train=FILE)"
        if arm.languages == "twice" and self.paraphrases() is None:
            one = self.languages[0]
            return f"no paraphrases of {one} (--parallel {one}-{second_name(one)}=TABLE)"
        return None

    def _arm(self, name: str, arm: ArmConfig, seed: int) -> Iterator[Measurement]:
        at: dict[str, Coordinate] = {"arm": name, "pair": self.pair, "seed": seed}
        pretraining, *shards = self.encoder_and_shards(name, arm, at, seed)
        yield from (pretraining, *shards)
        encoder = pretraining.step
        yield from self._measured(encoder, arm, at, seed)
        for variant, parts in self.recipe.frozen.items() if name == self.recipe.baseline else ():
            for measure in self.recipe.measures:
                step = self.transfer(measure, encoder, seed, frozen=parts) if measure in TASKS else None
                if step is not None:
                    yield Measurement(step, {**at, "variant": variant})
        if self.recipe.untrained and not seed:  # a floor needs no second seed
            floor = self.encoder(name, arm, seed, trained=False)
            yield Measurement(floor, {**at, "variant": "untrained"})
            yield from self._measured(floor, arm, {**at, "variant": "untrained"}, seed)

    def encoder_and_shards(
        self, name: str, arm: ArmConfig, at: Mapping[str, Coordinate], seed: int
    ) -> Iterator[Measurement]:
        """The encoder of an arm, then its shards."""
        yield Measurement(self.encoder(name, arm, seed), at)
        for code, shards in self.shards(arm).items():
            yield Measurement(shards, {**at, "language": code})

    def _measured(
        self, encoder: Step, arm: ArmConfig, at: Mapping[str, Coordinate], seed: int
    ) -> Iterator[Measurement]:
        """Every measure of the recipe, on an encoder of both languages."""
        for measure in self.recipe.measures if arm.languages == "both" else ():
            if measure in TASKS:
                steps = [self.transfer(measure, encoder, seed)]
            elif measure == "emergence":  # untrained: retrieval and CKA are measured anyway, the probe is not
                steps = [self.sentences(one, encoder) for one in _OVER_TRAINING if encoder.tokens or one != measure]
            elif measure in SENTENCE_KINDS:
                steps = [self.sentences(measure, encoder)]
            else:
                continue
            yield from (Measurement(step, at) for step in steps if step is not None)
            if None in steps:
                self.left_out.append(f"{self.pair}, {measure}: {self._unmeasured(measure)}")

    def _unmeasured(self, measure: str) -> str:
        """Reason that there is no step for a measure."""
        if measure not in TASKS:
            return f"no parallel sentences of {self.pair} (--parallel {self.pair}=FILE)"
        if TASKS[measure] not in self.scale.tasks:
            return "the scale does not have it"
        option = next(table for table, task in TABLES_OF_TASKS.items() if task == TASKS[measure])
        files, (one, other) = self.data.tasks.get(TASKS[measure], {}), self.languages[:2]
        wanted = [(one, "train"), (one, "dev"), (other, "test")]
        missing = [f"{code}.{split}" for code, split in wanted if split not in files.get(code, {})]
        return f"no {missing[0]} (--{option} {missing[0]}=FILE)"

    # --- text, vocabulary, shards ---

    def text(self, language: str, *, domain: str = "same") -> Step:
        """Text of a language without test sentences, of either domain, or cut to the size of the other domain's."""
        if self.data.is_builtin:
            register = {"same": None, "cut": None, "other": "conversational"}[domain]
            share = 3 if domain in ("cut", "other") else 1
            settings = {
                "language": language,
                "sentences": self.scale.builtin_sentences // share,
                "seed": BUILTIN_SEED + self.languages.index(language),
                "register": register,
            }
            return Step("builtin-text", settings, title=f"text {language}")
        files = self.data.other_text[language] if domain == "other" else self.data.text[language]
        tests = {} if self.options.keep_test_sentences else self.data.tests(language)
        inputs: Inputs = {f"text.{number}": file for number, file in enumerate(files)}
        inputs |= {f"test.{name}": file for name, file in tests.items()}
        settings = {"language": language}
        if domain == "cut":
            settings["bytes"] = sum(_file_size(file.path, file.sha256) for file in self.data.other_text[language])
        words = {"same": "", "other": ", other domain", "cut": ", cut"}[domain]
        return Step("cut-text", settings, inputs, title=f"text {language}{words}", heavy=("text.txt",))

    def _texts(self, arm: ArmConfig) -> dict[str, Step]:
        """The text of each language that an arm reads, before it is cut to a number of sentences."""
        if arm.languages == "all":
            return {code: self.text(code) for code in self.languages}
        one, other = self.languages
        both = {one: self.text(one), other: self.text(other, domain=arm.text)}
        return {
            "both": both,
            "first": {one: both[one]},
            "second": {other: both[other]},
            "twice": {one: both[one], second_name(one): both[one]},
        }[arm.languages]

    def _cut(self, text: Step, language: str, sentences: int | None) -> Step:
        """The first N sentences of a text."""
        if sentences is None:
            return text
        settings = {"language": language, "sentences": sentences}
        title = f"{text.title}, {sentences:,} sentences"
        return Step("first-sentences", settings, {"text": text}, title=title, heavy=("text.txt",))

    def _method(self, language: str) -> str | None:
        """How text of a language is segmented; that of its second name (en-x-two) as its own."""
        methods = self.options.segmentation
        return methods.get(language) or methods.get(language.removesuffix(_SECOND))

    def _segmented(self, text: Step, language: str) -> Step:
        """A text segmented into words: once, for all vocabularies and their shards."""
        method = self._method(language)
        if method is None:
            return text
        settings = {"language": text.settings["language"], "method": method}
        title = f"{text.title}, segmented by {method}"
        return Step("segmented-text", settings, {"text": text}, title=title, heavy=("text.txt",))

    def vocabulary(self, arm: ArmConfig) -> Step:
        """The vocabulary of an arm; a joint one is as large as one for each language together."""
        texts = self._texts(arm)
        mode = arm.vocabulary if len(texts) > 1 else "joint"
        settings = {
            "mode": mode,
            "size": self.scale.vocabulary_size * (len(texts) if mode == "joint" else 1),
            "sentences": self.scale.vocabulary_sentences,
            "segmentation": {code: method for code in texts if (method := self._method(code))} or None,
        }
        inputs = {f"text.{code}": self._segmented(text, code) for code, text in texts.items()}
        return Step("vocabulary", settings, inputs, title=f"vocabulary {'-'.join(texts)}, {mode}")

    def shards(self, arm: ArmConfig) -> dict[str, Step]:
        """The encoded text of each language."""
        vocabulary, found = self.vocabulary(arm), {}
        for code, whole in self._texts(arm).items():
            text = self._cut(whole, code, arm.sentences)
            segmented = self._segmented(text, code)
            settings = {
                "language": code,
                "domain": "other" if arm.text == "other" and code == self.languages[1] else "main",
                "dev_share": self._dev_share(arm.sentences),
            }
            inputs: Inputs = {"text": segmented, "vocabulary": vocabulary}
            if segmented is not text:
                inputs["as-written"] = text
            title = f"shards {code} for {vocabulary.title}"
            found[code] = Step("shards", settings, inputs, title=title, heavy=(SHARDS,))
        return found

    def _dev_share(self, sentences: int | None) -> float:
        """Share of documents held out for perplexity; larger for little text, of which it might be none."""
        if sentences is None:
            return self.scale.dev_share
        return max(self.scale.dev_share, min(0.2, 300 / sentences))

    def static_workers(self, method: str) -> dict[str, int]:
        """Threads of static vectors where they change the numbers: several, but of GloVe."""
        several = self.scale.static_workers > 1 and method != "glove"
        return {"workers": self.scale.static_workers} if several else {}

    # --- encoders ---

    def config(self, arm: ArmConfig, seed: int, *, trained: bool = True) -> PretrainConfig:
        """The pretraining config of an arm."""
        from isoglot.pretrain.config import PretrainConfig

        base = load_recipe(arm.recipe or self.recipe.recipe or self.scale.recipe, room="pretrain")
        required = ("vocabulary_size", "count", "domains", "vocabulary", "plan")
        layers = [base.values, self.scale.settings, self.recipe.settings, arm.settings]
        layers.append({"requires": dict.fromkeys(required, "any"), "model": {"plan": arm.plan}})
        if arm.plan != "default":
            layers.append({"masking": {"random_from": "language"}})
        whole = reduce(laid_over, layers)
        tokens = f"{arm.tokens or self.scale.tokens}tokens"
        budget = tokens if arm.tokens else self.recipe.budget or tokens
        whole |= {"seed": seed + arm.seed_offset, "budget": budget}
        if arm.init_seed is not None:
            whole["init_seed"] = arm.init_seed
        whole.pop("extends", None)
        config = build_config(PretrainConfig, values=whole)
        if arm.window is not None:
            whole = laid_over(whole, {"batch": _short_inputs(config, arm.window)})
            config = build_config(PretrainConfig, values=whole)
        every = self.every or max(1, _steps(config) // self.scale.moments)
        changes: dict[str, Any] = {"budget": "0steps"}
        if trained:  # a checkpoint takes seconds, in which a GPU waits; a killed run loses at most a quarter
            saved = min(config.checkpoints.every, max(every, _steps(config) // 4))
            changes = {"evaluation": {"every": every}, "checkpoints": {"every": saved}}
        return build_config(PretrainConfig, values=laid_over(whole, changes))

    def encoder(self, name: str, arm: ArmConfig, seed: int, *, trained: bool = True) -> Step:
        """The pretraining of an arm, or its initial weights."""
        config = self.config(arm, seed, trained=trained)
        settings, execution = training_settings(config)
        shards = self.shards(arm)
        inputs: Inputs = {"vocabulary": self.vocabulary(arm)}
        inputs |= {f"shards.{code}": one for code, one in shards.items()}
        if arm.code_switching:
            builtin = Step("builtin-dictionary", dict(zip(("source", "target"), self.languages, strict=True)))
            train = builtin if self.data.is_builtin else self.data.dictionary[self.pair]["train"]
            inputs[f"dictionary.{self.pair}"] = train
        moments = trained and self.keeps_moments and arm.languages == "both"
        if "device" not in execution and self.scale.recipe == "fast-paper":
            execution = {**execution, "compile": "auto"}
        return Step(
            "pretrain",
            {"config": settings, "moments": True if moments else None},
            inputs,
            execution=execution,
            title=f"pretrain {self.pair} {name}, seed {seed}" if trained else f"untrained {self.pair} {name}",
            heavy=(ENCODER, MOMENTS),
            tokens=_steps(config) * tokens_per_step(config) if trained else 0,
        )

    # --- measurements of an encoder ---

    def transfer(self, measure: str, encoder: Step, seed: int, *, frozen: str | None = None) -> Step | None:
        """A task learned in the first language and tested in both; None where there are no examples."""
        task = TASKS[measure]
        scale = self.scale.tasks.get(task)
        if scale is None:
            return None
        changes = {"seed": seed} | ({} if frozen is None else {"frozen": frozen})
        words = "" if frozen is None else f", {frozen} frozen"
        return self.task_step(task, scale, encoder, changes, title=f"{measure} on {encoder.title}{words}")

    def task_step(
        self, task: str, scale: TaskScale, encoder: Step | SourceFile, changes: Mapping[str, Any], *, title: str
    ) -> Step | None:
        """A task learned in the first language and tested in all that have a test set; None where no other has one."""
        from isoglot.transfer.tuning.config import TuneConfig

        one, *others = self.languages
        values = {**load_recipe(scale.recipe, room="transfer").values, **scale.settings, **changes}
        config = build_config(TuneConfig, values=values).model_dump(mode="json", exclude_defaults=True)
        settings: dict[str, Any] = {"task": task, "config": config, "source": one}
        settings |= {"examples": scale.examples, "test_examples": scale.test_examples}
        inputs: Inputs = {"encoder": encoder}
        if self.data.is_builtin:
            return Step("transfer", {**settings, "targets": others, "builtin": scale.builtin}, inputs, title=title)
        files = self.data.tasks.get(task, {})
        targets = [code for code in others if "test" in files.get(code, {})]
        if not {"train", "dev"} <= set(files.get(one, {})) or not targets:
            return None
        for code in (one, *targets):
            splits = ("train", "dev", "test") if code == one else ("dev", "test")
            inputs |= {f"{split}.{code}": files[code][split] for split in splits if split in files[code]}
        return Step("transfer", {**settings, "targets": targets}, inputs, title=title)

    def sentences(self, measure: str, encoder: Step, other: Step | None = None, **settings: object) -> Step | None:
        """Retrieval, CKA, both over training, or a language probe over training; None without parallel sentences."""
        found = self.pair_inputs("pairs", self.data.parallel, self.scale.pairs)
        if found is None:
            return None
        pairs, files = found
        inputs: Inputs = {"encoder": encoder, **({} if other is None else {"other": other}), **files}
        asked: dict[str, Any] = {"languages": list(self.languages), **pairs, **settings}
        if measure in ("retrieval", "emergence"):
            asked.setdefault("center", "mean")
        if measure in _OVER_TRAINING:
            asked["tokens_per_step"] = self.tokens_per_step(encoder)
        return Step(SENTENCE_KINDS[measure], asked, inputs, title=f"{measure} of {encoder.title}")

    def tokens_per_step(self, encoder: Step) -> int:
        """Tokens that a pretraining step of a study reads in a training step."""
        return encoder.tokens // max(1, _steps(pretrain_config(encoder)))

    def pair_inputs(
        self,
        name: str,
        table: Mapping[str, Mapping[str, SourceFile]],
        count: int,
        *,
        languages: tuple[str, ...] = (),
        seed: int = BUILTIN_SEED,
    ) -> tuple[dict[str, Any], Inputs] | None:
        """Settings and inputs for parallel sentences; None where there are none.

        Args:
            name: Name of the inputs.
            table: Files of each pair, in either direction.
            count: The most sentences.
            languages: Two languages; default: those of the builder.
            seed: Of built-in sentences.
        """
        if self.data.is_builtin:
            return {"count": count, "builtin": seed}, {}
        one, other = languages or self.languages
        files = table.get(f"{one}-{other}") or table.get(f"{other}-{one}")
        return None if files is None else ({"count": count}, {f"{name}.{code}": file for code, file in files.items()})

    def paraphrases(self) -> tuple[dict[str, Any], Inputs] | None:
        """Settings and inputs for paraphrases of the first language; None where there are none."""
        one, count = self.languages[0], self.scale.pairs
        files = self.data.parallel.get(f"{one}-{second_name(one)}")
        if files is not None:
            return {"count": count}, {f"pairs.{code}": file for code, file in files.items()}
        return ({"count": count, "builtin": BUILTIN_SEED}, {}) if one in LANGUAGES else None

    def arm_encoder(self, name: str, seed: int, *, trained: bool = True) -> Step:
        """The encoder of an arm by name."""
        return self.encoder(name, self.recipe.arms[name], seed, trained=trained)


_SECOND = "-x-two"


def second_name(language: str) -> str:
    """A language under a second name.

    >>> second_name("en")
    'en-x-two'
    """
    return language + _SECOND


SENTENCE_KINDS = {
    "retrieval": "sentence-retrieval",
    "similarity": "similarity",
    "emergence": "emergence",
    "language probe": "language-probe",
}
_OVER_TRAINING = ("emergence", "language probe")


def pair_measures() -> dict[str, Callable[[StudyBuilder, int], Iterator[Measurement]]]:
    """Measures that compare encoders of several arms, by name."""
    from isoglot.study.figures import FIGURES
    from isoglot.study.twin_steps import cell_measurements, text_cell_measurements

    return {**FIGURES, "factorial": cell_measurements, "factorial-text": text_cell_measurements}


# --- sizes ---


def pretrain_config(step: Step) -> PretrainConfig:
    """The config of a pretraining step."""
    from isoglot.pretrain.config import PretrainConfig

    return build_config(PretrainConfig, values=dict(step.settings["config"]))


def input_length(config: PretrainConfig) -> int:
    """Tokens of an input in training."""
    from isoglot.model.config import SIZES

    return config.batch.sequence_length or config.model.max_length or SIZES[config.model.size]["max_length"]


def tokens_per_step(config: PretrainConfig) -> int:
    """Tokens of text in a training step."""
    return config.batch.size * (input_length(config) - 2)  # a row begins and ends with a special token


def _short_inputs(config: PretrainConfig, window: int) -> dict[str, int]:
    """Settings of a batch with shorter rows and about as many tokens."""
    parts = config.batch.gradient_accumulation
    rows = round(tokens_per_step(config) / (window - 2) / parts) * parts
    return {"sequence_length": window, "size": max(parts, rows)}


def _steps(config: PretrainConfig) -> int:
    return config.spending.steps(tokens_per_step(config)) or 1


@cache
def _file_size(path: str, sha256: str) -> int:  # noqa: ARG001 - part of the key of the cache
    """Bytes of a text, decompressed; ``sha256`` tells versions of a file apart."""
    from isoglot.text.formats.lines import read_lines

    return sum(len(line.encode()) + 1 for _, line in read_lines(path))
