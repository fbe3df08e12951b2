"""The cases of golden numbers: a command for every verb, at nano size.

In a command ``@NAME`` is the folder that the case of that name wrote, ``@out`` the case's own, ``@files`` the folder of
``FILES``. All of them read the text, bitext, dictionaries and tasks of one ``languages export``, and most the encoder
of one ``pretrain``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.golden.numbers_kept import Tolerance

TRAINED = Tolerance(relative=1e-3, absolute=1e-5)
"""For what a verb has trained, where differences of rounding grow from step to step."""


@dataclass(frozen=True)
class Case:
    """A command whose numbers are held."""

    command: str
    """its arguments, without ``isoglot``, ``--json`` and ``--quiet``"""
    tolerance: Tolerance = field(default_factory=Tolerance)
    """how far floats may be off"""
    tensors: str = ""
    """pattern of the .safetensors and .vec files it writes whose sums are held too"""
    without: tuple[str, ...] = ()
    """names in its output that say something about the machine"""
    rough: tuple[str, ...] = ()
    """names of shares of few items near chance, where a last digit decides about an item: they may be off by 0.15"""
    after: tuple[str, ...] = ()
    """cases whose files it reads though its command does not name them"""
    needs: str = ""
    """a library without which it is skipped"""

    def is_of(self, verb: str) -> bool:
        """Whether it runs this verb."""
        return f"{self.command} ".startswith(f"{verb} ")


FILES = {
    "words.txt": "cat\ndog\nhouse\nzebra\n",
    "declared.txt": "The cat sleeps.\n",
    "ner.zh.tsv": "北\tB-LOC\n京\tI-LOC\n大\tO\n",
    "spaced.txt": "The  cat sleeps here. The dog isn't here.\nThe  cat sleeps here. The dog isn't here.\n\nThe cat.\n",
    "grid.toml": 'sentences = 20\n[[columns]]\nlanguages = ["en", "fr"]\nbilingual = "../pretrain"\n'
    'monolingual = ["../pretrain-en", "../pretrain-fr"]\n',
    "dump.xml": (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n<siteinfo><sitename>'
        "Wikipedia</sitename><dbname>enwiki</dbname><namespaces><namespace key='0' /></namespaces></siteinfo>\n<page>"
        "<title>Iron</title><ns>0</ns><id>1</id><revision><id>2</id><text bytes='9' xml:space='preserve'>'''Iron''' is "
        "a [[chemical element|element]]. Dr. Smith likes it. It was known early.</text></revision></page>\n</mediawiki>\n"
    ),
    "gold.tsv": "Eva\tB-PER\nMay\tI-PER\nlives\tO\nin\tO\nBonn\tB-LOC\n\nIt\tO\nrains\tO\n\nAnn\tB-PER\nsleeps\tO\n",
    "predicted.tsv": "Eva\tB-PER\nMay\tO\nlives\tO\nin\tO\nBonn\tB-LOC\n\nIt\tO\nrains\tB-LOC\n\nAnn\tB-PER\nsleeps\tO\n",
    "mood.tsv": "The cat sleeps.\tcalm\nThe dog barks!\tloud\n" * 5,
    "mood.py": """
from isoglot.text.formats.lines import read_lines
from isoglot.transfer import Data, Passage, register
from isoglot.transfer.tasks.classification import Classification


class Mood(Classification):
    name = "mood"
    title = "mood of a text"

    def read(self, path, language):
        rows = (line.split("\\t") for _, line in read_lines(path))
        return Data([Passage((text,), mood) for text, mood in rows], str(path))


register(Mood())
""",
}
"""Small inputs that no verb makes, by name."""


def _settings(text: str) -> str:
    return " ".join(f"--set {setting}" for setting in text.split())


_SMALL = _settings("parallel=80 dictionary=800 treebank=40 ner=40 nli=40 held_out=20")
_TEXT = "--text en=@languages-export/text/en.train.txt --text fr=@languages-export/text/fr.train.txt"
_BITEXT = "--parallel @languages-export/parallel/train.tsv"
_LINES = "--parallel @languages-export/parallel/test.tsv"
_LINED = "--parallel en=@align-links/en.txt --parallel fr=@align-links/fr.txt"
_DICTIONARY = "--dictionary en-fr=@languages-export/dictionary/en-fr.train.txt"
_TEST = "--test en-fr=@languages-export/dictionary/en-fr.test.txt"
_CPU = "--device cpu"
_NANO = _settings(
    "model.size=nano model.max_length=32 batch.size=8 batch.sequence_length=32 evaluation.every=6 "
    "evaluation.sequences=8 log.every=6 log.peak=off checkpoints.every=6"
)
_ANY = _settings("requires.vocabulary_size=any requires.count=any")
_FAST = "--set optimizer.learning_rate=2e-3"  # with the papers' rates, twelve steps hardly move a weight


def _pretrain(
    recipe: str,
    vocabulary: str = "joint",
    more: str = "",
    *,
    languages: str = "en fr",
    tensors: str = "last/*.safetensors",
) -> Case:
    """Twelve steps of a recipe."""
    shards = " ".join(f"--shards {code}=@shards-build-{vocabulary}/{code}" for code in languages.split())
    command = f"pretrain {recipe} {shards} --vocab @vocab-train-{vocabulary} {_NANO} {more} --budget 12steps {_CPU}"
    return Case(f"{command} --out @out", TRAINED, tensors=tensors)


def _table1(arm: str, vocabulary: str = "joint", more: str = "") -> Case:
    return _pretrain(f"table1/{arm}", vocabulary, f"{_ANY} {_FAST} {more}")


def _static(method: str, more: str = "", *, needs: str = "numba") -> Case:
    """Three epochs of static vectors."""
    shards = "--shards en=@shards-build-joint/en --shards fr=@shards-build-joint/fr --vocab @vocab-train-joint"
    size = "--dimensions 16 --epochs 3 --window 5 --set min_count=2 --workers 1"
    return Case(
        f"static train {method} {shards} {size} {more} --out @out", TRAINED, tensors="*.safetensors", needs=needs
    )


_DEEP = "--set model.layers=7"
_TUNE = f"--recipe micro {_settings('epochs=1 batch_size=8')} {_CPU}"


def _transfer(task: str, folder: str, ending: str, more: str = "") -> Case:
    """An epoch of a task in English, tested in French."""
    at = f"@languages-export/{folder}"
    sets = f"--train en={at}/en.train.{ending} --dev en={at}/en.dev.{ending} --test fr={at}/fr.test.{ending}"
    return Case(f"transfer {task} @pretrain {sets} {_TUNE} {more} --out @out", TRAINED, tensors="*/*/head.safetensors")


CASES = {
    "languages-list": Case("languages list"),
    "languages-sample": Case("languages sample --count 2 --seed 7"),
    "languages-export": Case(f"languages export --langs en,fr --sentences 600 {_SMALL} --out @out"),
    "languages-twin": Case(
        "languages twin --text en=@languages-export/text/en.train.txt --kind shift --kept 0.2 --out @out"
    ),
    "text-clean": Case("text clean --text en=@files/spaced.txt --out @out"),
    "text-sentences": Case("text sentences --text en=@files/spaced.txt --out @out"),
    "text-segment": Case(f"text segment {_TEXT} --out @out"),
    "text-switch": Case(f"text switch {_TEXT} {_DICTIONARY} --out @out"),
    "text-overlap": Case(
        "text overlap --text en=@languages-export/text/en.train.txt --test en=@languages-export/text/en.train.txt "
        "--remove --out @out"
    ),
    "text-realign-ner": Case("text realign-ner --text zh=@files/ner.zh.tsv --segment characters --out @out"),
    "text-wikipedia": Case("text wikipedia @files/dump.xml --min-words 3 --out @out/en.txt"),
    "text-declare": Case("text declare --text en=@files/declared.txt"),
    "vocab-train-joint": Case(f"vocab train {_TEXT} --mode joint --size 1500 --out @out"),
    "vocab-train-union": Case(f"vocab train {_TEXT} --mode union --size 400 --out @out"),
    "vocab-train-disjoint": Case(f"vocab train {_TEXT} --mode disjoint --size 400 --out @out"),
    "vocab-train-graded": Case(f"vocab train {_TEXT} --mode graded --size 400 --keep band --band 1-100 --out @out"),
    "vocab-inspect": Case("vocab inspect @vocab-train-joint --encode 'The cat sleeps.' --lang en"),
    "shards-build-joint": Case(f"shards build {_TEXT} --vocab @vocab-train-joint --dev-share 0.2 --out @out"),
    "shards-build-union": Case(f"shards build {_TEXT} --vocab @vocab-train-union --dev-share 0.2 --out @out"),
    "shards-build-disjoint": Case(f"shards build {_TEXT} --vocab @vocab-train-disjoint --dev-share 0.2 --out @out"),
    "shards-check": Case("shards check @shards-build-joint/en @shards-build-joint/fr --vocab @vocab-train-joint"),
    "shards-stats": Case("shards stats @shards-build-joint/en @shards-build-joint/fr"),
    "anchors": Case(
        "anchors --vocab @vocab-train-joint --shards en=@shards-build-joint/en --shards fr=@shards-build-joint/fr "
        f"{_DICTIONARY} --out @out"
    ),
    # Weights after twelve steps of every arm of Table 1 and of every other recipe: a safety net for refactoring.
    "pretrain-default": _table1("default"),
    "pretrain-no-anchors": _table1("no-anchors", "disjoint"),
    "pretrain-default-anchors": _table1("default-anchors", "union"),
    "pretrain-extra-anchors": _table1("extra-anchors", "joint", _DICTIONARY),
    "pretrain-sep-emb": _table1("sep-emb", "disjoint"),
    "pretrain-sep-l1-3": _table1("sep-l1-3", "union", _DEEP),
    "pretrain-sep-l1-6": _table1("sep-l1-6", "union", _DEEP),
    "pretrain-sep-emb+l1-3": _table1("sep-emb+l1-3", "disjoint", _DEEP),
    "pretrain-sep-emb+l1-6": _table1("sep-emb+l1-6", "disjoint", _DEEP),
    "pretrain-mini": _pretrain("mini"),
    "pretrain-fast-paper": _pretrain("fast-paper"),
    "pretrain-isoglot-mini": _pretrain("isoglot-mini", "joint", f"--set compile=off {_LINED} {_DICTIONARY}"),
    "pretrain-second": _pretrain("second/200k", "joint", _FAST),
    "pretrain-second-window20": _pretrain("second/200k-window20", "joint", f"{_FAST} --set batch.sequence_length=20"),
    "pretrain-add-language": Case(
        "pretrain --add-language en-x-shift --model @pretrain --text en-x-shift=@languages-twin/en-x-shift.txt "
        "--held-out fr=@languages-export/text/fr.train.txt "
        + _settings("language.subwords=400 batch.size=8 evaluation.every=6 evaluation.sequences=8 log.peak=off")
        + f" --budget 12steps {_CPU} --out @out",
        TRAINED,
        tensors="last/*.safetensors",
        needs="numba",
    ),
    # The encoder that the other verbs open.
    "pretrain": _pretrain("micro", "joint", _settings("checkpoints.keep=100")),
    "pretrain-en": _pretrain("micro", languages="en", tensors=""),
    "pretrain-fr": _pretrain("micro", languages="fr", tensors=""),
    "encode": Case(
        f"encode @pretrain --text @align-links/en.txt --lang en {_CPU} --out @out/v.safetensors",
        TRAINED,
        tensors="*.safetensors",
    ),
    "encode-words": Case(
        f"encode @pretrain --text @align-links/en.txt --pool types --words @files/words.txt --lang en --layers -1 {_CPU} "
        "--out @out/v.vec",
        TRAINED,
        tensors="v.vec",
    ),
    "export": Case("export @pretrain @out --lang fr", TRAINED, tensors="*.safetensors"),
    "export-packed": Case("export @pretrain @out --format packed", TRAINED, without=("size",), tensors="*.safetensors"),
    "diagnose": Case(
        f"diagnose @pretrain {_BITEXT} --layers 1 {_settings('resamples=20 draws=20 examples=2')} {_CPU} --out @out",
        TRAINED,
        rough=("spread",),
    ),
    "rank": Case(f"rank @pretrain @pretrain-mini {_BITEXT} --layer -1 --set resamples=50 {_CPU} --out @out", TRAINED),
    "fix": Case(
        f"fix @pretrain {_BITEXT} {_settings('resamples=20 copies=20')} {_CPU} --out @out",
        TRAINED,
        rough=("value", "low", "high"),
    ),
    "doctor": Case(f"doctor {_CPU} --out @out", without=("devices", "device", "parts", "peak")),
    "static-train-glove": _static("glove"),
    "static-train-word2vec": _static("word2vec", needs="gensim"),
    "static-train-fasttext": _static("fasttext", "--set buckets=500", needs="gensim"),
    "static-vectors": Case(
        "static vectors @static-train-glove --words @files/words.txt --lang en --out @out/words.vec",
        TRAINED,
        tensors="*.vec",
        needs="numba",
    ),
    "align-links": Case(f"align links {_BITEXT} --out @out"),
    "align-links-model": Case(f"align links {_BITEXT} --model @pretrain --layer 1 {_CPU} --out @out", TRAINED),
    "align-dictionary": Case(f"align dictionary {_BITEXT} --out @out"),
    "align-words": Case(
        f"align words @pretrain-en @pretrain-fr {_BITEXT} --set resamples=10 {_CPU} --out @out",
        TRAINED,
    ),
    "align-embeddings": Case(
        f"align embeddings @pretrain {_DICTIONARY} {_TEST} --set resamples=10 {_CPU} --out @out", TRAINED
    ),
    "align-types": Case(
        f"align types @pretrain {_TEXT} {_DICTIONARY} {_TEST} --set resamples=10 {_CPU} --out @out", TRAINED
    ),
    "align-sentences": Case(f"align sentences @pretrain {_BITEXT} --set resamples=10 {_CPU} --out @out", TRAINED),
    "align-apply": Case(
        "align apply --map @align-sentences/layer-1.safetensors --vectors @encode/v.safetensors --layer 1 "
        "--out @out/y.safetensors",
        TRAINED,
        tensors="*.safetensors",
    ),
    "align-migrate": Case(
        f"align migrate @encode/v.safetensors --column layer.1 --to @pretrain-en --text @align-links/en.txt {_CPU} "
        f"--format npy {_settings('resamples=10 smallest=20')} --out @out",
        TRAINED,  # without sums of the map, which its few documents do not determine: processors differ
        rough=("value", "low", "high", "recall", "tried"),
    ),
    "compare-models": Case(f"compare models @pretrain @pretrain-mini {_LINES} --draws 20 {_CPU} --out @out", TRAINED),
    "compare-grid": Case(
        f"compare grid @files/grid.toml {_CPU} --out @out", TRAINED, after=("pretrain", "pretrain-en", "pretrain-fr")
    ),
    "compare-emergence": Case(f"compare emergence @pretrain {_LINES} {_CPU} --out @out", TRAINED),
    "retrieve-sentences": Case(
        f"retrieve sentences @pretrain {_LINES} --method csls --resamples 20 {_CPU} --out @out", TRAINED
    ),
    "retrieve-sentences-mixed": Case(
        f"retrieve sentences @pretrain {_LINES} --candidates mixed --layers 1 --resamples 20 {_CPU} --out @out", TRAINED
    ),
    "retrieve-words": Case(f"retrieve words @pretrain {_DICTIONARY} {_TEXT} --resamples 20 {_CPU} --out @out", TRAINED),
    "steer-fit": Case(f"steer fit @pretrain {_TEXT} {_CPU} --out @out", TRAINED, tensors="*.safetensors"),
    "steer-translate": Case(
        f"steer translate 'The cat sleeps.' --from en --to fr --model @pretrain --means @steer-fit {_CPU} --out @out",
        TRAINED,
    ),
    "steer-sweep": Case(
        f"steer sweep @pretrain {_LINES} --means @steer-fit {_DICTIONARY} --alpha 1 --alpha 2 {_CPU} --out @out",
        TRAINED,
    ),
    "steer-erase": Case(
        f"steer erase @pretrain {_BITEXT} {_CPU} --out @out", TRAINED, rough=("spread", "probe", "control", "harmonic")
    ),
    "transfer-nli": _transfer("nli", "nli", "tsv"),
    "transfer-ner": _transfer("ner", "ner", "tsv"),
    "transfer-ner-head": _transfer("ner", "ner", "tsv", "--set tune=head"),
    "transfer-parse": _transfer("parse", "treebank", "conllu"),
    "transfer-pos": _transfer("pos", "treebank", "conllu"),
    "transfer-topic": Case(
        f"transfer topic @pretrain --langs en,fr --sentences 30 {_TUNE} --set unseen_labels=count --out @out",
        TRAINED,
    ),
    "transfer-own": Case(
        "transfer own @pretrain --task @files/mood.py --train en=@files/mood.tsv --dev en=@files/mood.tsv "
        f"--test fr=@files/mood.tsv --allow-leak {_TUNE} --out @out",
        TRAINED,
    ),
    "transfer-compare": Case("transfer compare @transfer-ner @transfer-ner-head", TRAINED),
    "transfer-map": Case(
        "transfer map @pretrain-en ner --other fr=@pretrain-fr --bilingual @pretrain --pairs 60 --layers 1 "
        f"--sentences 30 --set new_layers=1 {_TUNE} --out @out",
        TRAINED,
    ),
    "transfer-shift": Case(
        "transfer shift @transfer-ner --test fr=@languages-export/ner/fr.test.tsv --alpha 0.5,1 --layers all "
        f"{_TEXT} --learn-from 50 {_CPU} --out @out",
        TRAINED,
    ),
    "transfer-predict": Case("transfer predict @transfer-ner 'Eva lives in Paris.' --lang en --device cpu", TRAINED),
    "transfer-score": Case("transfer score ner @files/gold.tsv @files/predicted.tsv --lang en"),
    "demo": Case(
        f"demo {_settings('budget=10steps sentences=1000 test_sentences=40 vocabulary_size=600')} "
        f"--set \"arms=['anchors']\" {_CPU} --out @out",
        TRAINED,
    ),
    "study-list": Case("study list"),
    "study-plan": Case(f"study plan table1 --scale nano {_CPU}"),
    "study-run": Case(
        "study run figure7 --scale nano --pair en-de --set tokens=2000 --set moments=1 --set builtin_sentences=600 "
        f"--set settings.model.layers=2 --set pairs=20 {_CPU} --out @out",
        TRAINED,
    ),
    "study-status": Case("study status @study-run", TRAINED),
    "study-verify": Case("study verify @study-run", TRAINED),
    "study-expected": Case("study expected @study-run", TRAINED),
    "study-figures": Case("study figures @study-run", TRAINED),
    "study-merge": Case("study merge @study-run --out @out", TRAINED),
    "report": Case("report @study-run --out @out", TRAINED),
}
"""Every case by its name, in the order of data."""

LEFT_OUT = {
    "explore": "It serves a page until it is stopped; its numbers are those of tests/explore.",
    "study resume": "It computes steps as study run does.",
    "study step": "It takes the hash of a step, which a table of commands cannot name; study run computes all of them.",
}
"""Verbs without a case, with the reason."""
