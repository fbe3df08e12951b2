"""Shell commands that act on the findings of a check-up."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.diagnose.findings import FEWEST_TO_TRAIN, FIX_SETTINGS
from isoglot.diagnose.repair.folder import POOLINGS
from isoglot.text.formats.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoglot.diagnose.findings import Action
    from isoglot.model import EncoderLike


def commands_of(
    encoder: EncoderLike,
    model: str,
    parallel: Sequence[str] = (),
    langs: str | None = None,
    sentences: int | None = None,
    pool: str | None = None,
) -> Callable[[Action], str | None]:
    """Return a function that names the command of an action, or None where one of its inputs is not known.

    Args:
        encoder: The encoder.
        model: Its name or folder.
        parallel: Values of ``--parallel``.
        langs: Value of ``--langs``.
        sentences: Value of ``--sentences``.
        pool: Value of ``--pool``.
    """
    texts = dict(value.split("=", 1) for value in parallel if "=" in value and not Path(value).expanduser().exists())
    given = [word for value in parallel for word in ("--parallel", value)]
    given += [] if langs is None else ["--langs", langs]
    count = [] if sentences is None else ["--sentences", str(sentences)]
    pooled = [] if pool is None else ["--pool", pool]
    can_be_fixed = encoder.depth > 0 and not encoder.has_private_parts

    def words(action: Action) -> list[str] | None:
        remedy, value = action
        if remedy == "csls":
            search = ["--layers", str(value), "--method", "csls"]
            return ["retrieve", "sentences", model, *given, *count, *pooled, *search]
        if remedy == "more":
            return ["diagnose", model, *given, "--sentences", str(value), *pooled]
        if remedy == "add-language":
            if value not in texts or value in encoder.languages or encoder.config is None:
                return None
            if sum(1 for _ in read_lines(texts[str(value)])) < FEWEST_TO_TRAIN:
                return None
            train = ["pretrain", "--add-language", str(value), "--model", model]
            return [*train, "--text", f"{value}={texts[value]}", "--out", f"with-{value}"]
        set_to = [word for each in FIX_SETTINGS[remedy] for word in ("--set", each)]
        own = pooled if pool in POOLINGS else []
        return ["fix", model, *given, *count, *own, *set_to, "--out", "fixed"] if can_be_fixed else None

    def command(action: Action) -> str | None:
        found = words(action)
        return None if found is None else shlex.join(["isoglot", *found])

    return command
