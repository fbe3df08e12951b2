"""The options that the verbs of ``isoglot steer`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Means = Annotated[
    Path | None,
    typer.Option("--means", metavar="DIR", help="What isoglot steer fit wrote. Left out: the model's own."),
]
DictionaryFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--dictionary",
        metavar="FROM-TO=FILE",
        help="Word translations that switched tokens are judged by; or the word builtin. May be repeated.",
    ),
]
Directions = Annotated[
    Literal["both", "there"],
    typer.Option("--directions", help="From the first language to the others and back, or there alone."),
]
Alphas = Annotated[
    list[float] | None,
    typer.Option("--alpha", metavar="NUMBER", help="How far; 1 is from mean to mean, -1 away. May be repeated."),
]
Layer = Annotated[
    int | None,
    typer.Option(
        "--layer",
        metavar="L",
        help="Where; 0 is the embeddings, -1 the last. Default: as measured with the means, else -2, the last but one.",
    ),
]
TranslateAlphas = Annotated[
    list[float] | None,
    typer.Option(
        "--alpha",
        metavar="NUMBER",
        help="How far; 1 is from mean to mean, -1 away. May be repeated. Default: as measured with the means, else 1 "
        "and 2.",
    ),
]
PresetOption = Annotated[
    Literal["default", "paper"],
    typer.Option("--preset", help="paper: defaults as in Liu et al. 2020, as far as it tells (docs/STEERING.md)."),
]
InputOption = Annotated[
    Literal["sentences", "pairs"] | None,
    typer.Option(
        "--input", help="A line is a sentence, or a pair with a tab between, read together. [default: preset]"
    ),
]
SpecialOption = Annotated[
    Literal["exclude", "include"] | None,
    typer.Option("--special", help="Whether [CLS] and [SEP] are decoded and may be an answer. [default: preset]"),
]
MeansSpecial = Annotated[
    Literal["exclude", "include"] | None,
    typer.Option("--special", help="Whether [CLS] and [SEP] count as tokens of a language. [default: preset]"),
]
BleuTokensOption = Annotated[
    Literal["standard", "whitespace", "words", "subword"] | None,
    typer.Option(
        "--bleu-tokens",
        help="What BLEU-1 counts: sacrebleu's tokens, what stands between blanks, the same without punctuation (where "
        "there are no blanks, characters), or the encoder's subwords. [default: preset]",
    ),
]
SaveChoice = Annotated[
    bool,
    typer.Option(
        "--save-choice", help="Keep the best layer and alpha of each way with --means; translate takes them by default."
    ),
]
ShiftKind = Annotated[
    Literal["mean", "norm-matched", "transport"],
    typer.Option(
        "--kind",
        help="mean: alpha times the difference of the means is added; norm-matched: and tokens keep their length; "
        "transport: covariances move too.",
    ),
]
SharedAlpha = Annotated[
    float | None,
    typer.Option("--shared-alpha", metavar="NUMBER", help="Another alpha for tokens that both languages have."),
]
Where = Annotated[
    Literal["all", "tokens"],
    typer.Option("--positions", help="all positions move, as in the paper, or tokens alone, not [CLS] and [SEP]."),
]
Threshold = Annotated[
    int | None,
    typer.Option(
        "--threshold", metavar="N", min=1, help="How often a language's text must have a token; else by its size."
    ),
]
LearnFrom = Annotated[
    int | None,
    typer.Option(
        "--learn-from",
        metavar="N",
        min=1,
        help="Learn means from N built-in sentences; left out: from 2,000, where the model has none with it.",
    ),
]
Sentences = Annotated[int | None, typer.Option("--sentences", metavar="N", min=1, help="The first N; left out: all.")]
BUILTIN_SWEPT = 25  # by all layers and alphas, isoglot-mini's languages there and back: a minute on one core
Texts = Annotated[
    list[str] | None,
    typer.Option(
        "--text", metavar="LANG=FILE", help="Text of each language, a sentence a line. Left out: built-in text."
    ),
]
FitCount = Annotated[
    int | None,
    typer.Option(
        "--sentences",
        metavar="N",
        min=1,
        help="The first N of each language; left out: 2,000 built-in ones, or 10,000 of files.",
    ),
]
SweepCount = Annotated[
    int | None,
    typer.Option(
        "--sentences",
        metavar="N",
        min=1,
        help=f"The first N of each language; left out: 500 of files, {BUILTIN_SWEPT} built-in ones, for a first look.",
    ),
]
Count = Annotated[int, typer.Option("--sentences", metavar="N", min=1, help="The first N of each language.")]
SavedEraser = Annotated[
    Literal["best", "mean-removal", "lir", "lsar", "leace"],
    typer.Option(
        "--eraser",
        help="Which to save: the one with the best harmonic mean, on a tie the least change; or a named one.",
    ),
]
Pivot = Annotated[
    str | None,
    typer.Option("--pivot", metavar="LANG", help="The language that shifts bring the others to; else the first."),
]
Folds = Annotated[
    int,
    typer.Option("--folds", metavar="N", min=2, max=1000, help="Folds of the cross-validation."),
]
