"""One module for all languages, or one for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast

from torch import nn

from isoglot.core.errors import ConfigError, nearest_name, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHARED = "shared"
PartT = TypeVar("PartT", bound=nn.Module)


class PerLanguage(nn.ModuleDict, Generic[PartT]):
    """A part of an encoder, under the name ``shared`` or under each language's.

    Args:
        languages: Who has one to itself; none: all share one.
        build: Makes the part of a language, or of ``shared``.
    """

    def __init__(self, languages: Sequence[str], build: Callable[[str], PartT]) -> None:
        super().__init__({name: build(name) for name in languages or (SHARED,)})

    def of(self, language: str | None) -> PartT:
        """The part that a language uses.

        Raises:
            ConfigError: Each language has its own, and this one has none, or none is named.
        """
        if SHARED in self:
            return cast("PartT", self[SHARED])
        if language is None:
            raise ConfigError(
                "the encoder has parts for each language and none is named",
                remedy=f"choose one of {', '.join(self)}: --lang {next(iter(self))}",
            )
        if language not in self:
            raise ConfigError(
                f"the encoder has no language {shown(language)}",
                remedy=nearest_name(language, self),
                code="config.unknown-language",
            )
        return cast("PartT", self[language])
