"""Shell commands that act on the findings of a check-up."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.core.errors import ConfigError
from isoglot.diagnose.findings import FEWEST_TO_TRAIN, FIX_SETTINGS
from isoglot.diagnose.repair.folder import fixed_pool
from isoglot.text.formats.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoglot.diagnose.findings import Action
    from isoglot.model import EncoderLike
    from isoglot.represent.extraction import Pool


def commands_of(
    encoder: EncoderLike,
    model: str,
    parallel: Sequence[str] = (),
    langs: str | None = None,
    sentences: int | None = None,
    pool: Pool | None = None,
    means_from: Sequence[str] = (),
    *,
    has_more: bool = True,
) -> Callable[[Action], str | None]:
    """Return a function that names the command of an action, or None where one of its inputs is not known.

    Args:
        encoder: The encoder.
        model: Its name or folder.
        parallel: Values of ``--parallel``.
        langs: Value of ``--langs``.
        sentences: Value of ``--sentences``.
        pool: Value of ``--pool``.
        means_from: Values of ``--means-from`` that name text.
        has_more: Whether there are more sentences than were read.
    """
    texts = dict(value.split("=", 1) for value in parallel if "=" in value and not Path(value).expanduser().exists())
    given = [word for value in parallel for word in ("--parallel", value)]
    given += [] if langs is None else ["--langs", langs]
    count = [] if sentences is None else ["--sentences", str(sentences)]
    pooled = [] if pool is None else ["--pool", pool]
    deployed = pooled
    try:
        fixed_pool(encoder, pool)
    except ConfigError:
        deployed = []
    can_be_fixed = encoder.depth > 0 and not encoder.has_private_parts

    def words(action: Action) -> list[str] | None:
        remedy, value = action
        if remedy == "csls":
            search = ["--layers", str(value), "--method", "csls"]
            return ["retrieve", "sentences", model, *given, *count, *pooled, *search]
        if remedy == "more":
            return ["diagnose", model, *given, "--sentences", str(value), *pooled] if has_more else None
        if remedy == "add-language":
            if value not in texts or value in encoder.languages or encoder.config is None:
                return None
            if sum(1 for _ in read_lines(texts[str(value)])) < FEWEST_TO_TRAIN:
                return None
            train = ["pretrain", "--add-language", str(value), "--model", model]
            return [*train, "--text", f"{value}={texts[value]}", "--out", f"with-{value}"]
        if not can_be_fixed:
            return None
        options = [word for value in means_from for word in ("--means-from", value)]
        options += [word for each in FIX_SETTINGS[remedy] for word in ("--set", each)]
        return ["fix", model, *given, *count, *deployed, *options, "--out", "fixed"]

    def command(action: Action) -> str | None:
        found = words(action)
        return None if found is None else shlex.join(["isoglot", *found])

    return command
