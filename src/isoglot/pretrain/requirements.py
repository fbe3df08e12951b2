"""What an arm of a comparison needs of its vocabulary, its plan and its text; anything else is refused.

Two arms may differ in nothing but the vocabulary or the domain of the text, so a recipe declares what it is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from isoglot.core.config import Config
from isoglot.core.errors import ConfigError
from isoglot.model.plan import SharingPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoglot.pretrain.config import PretrainConfig
    from isoglot.vocab import Shards, Vocabulary

_SHORT = 0.98  # of the size asked for: a vocabulary with fewer pieces ran out of text


class RequiresConfig(Config):
    """What the run needs of its vocabulary, its plan and its text."""

    vocabulary: Literal["any", "joint", "union", "disjoint"] = "any"
    """how the languages share ids, as --mode of isoglot vocab train; a monolingual run takes any"""
    vocabulary_size: int | Literal["any"] = Field("any", union_mode="left_to_right")
    """the vocabulary's size, as --size of isoglot vocab train: of the whole if joint, of each language otherwise"""
    count: Literal["any", "subwords", "merges"] = "any"
    """what that size counts, as --count of isoglot vocab train"""
    plan: str = "any"
    """the sharing plan"""
    domains: Literal["any", "same", "different"] = "any"
    """whether the shards' texts are from one domain or from several, as --domain of isoglot shards build"""


def check_requirements(config: PretrainConfig, shards: Mapping[str, Shards], vocabulary: Vocabulary) -> None:
    """Refuse a run that is not what its recipe says.

    Raises:
        ConfigError: The vocabulary, its size, the plan or the domains are others.
    """
    needs = config.requires
    if needs.plan != "any" and SharingPlan.parse(needs.plan).text != config.sharing.text:
        raise _mismatch("plan", f"sharing plan {SharingPlan.parse(needs.plan).name}", config.sharing.name)
    if needs.vocabulary not in ("any", vocabulary.mode) and len(shards) > 1:
        raise _mismatch("vocabulary", f"a {needs.vocabulary} vocabulary", f"a {vocabulary.mode} one")
    if needs.vocabulary_size != "any":
        _check_size(needs.vocabulary_size, vocabulary)
    counted = str(vocabulary.about.get("count", "subwords"))
    if needs.count not in ("any", counted):
        raise _mismatch("count", f"a vocabulary whose size counts {needs.count}", f"one that counts {counted}")
    _check_domains(needs.domains, shards)


def _check_size(size: int, vocabulary: Vocabulary) -> None:
    """The size that was asked for in training, and that there was enough text to reach it."""
    each = "" if vocabulary.mode in ("joint", "given") else " for each language"
    asked = int(vocabulary.about.get("size", len(vocabulary)))
    if asked != size:
        raise _mismatch("vocabulary_size", f"a vocabulary of {size:,} subwords{each}", f"one of {asked:,}")
    found = {code: len(vocabulary.ids_of(code)) for code in vocabulary.languages} if each else {"": len(vocabulary)}
    code, fewest = min(found.items(), key=lambda item: item[1])
    if fewest < _SHORT * size:
        of = f" of {code}" if code else ""
        raise _mismatch(
            "vocabulary_size", f"a vocabulary of {size:,} subwords{each}", f"{fewest:,}{of}: its text was too short"
        )


def _check_domains(needed: str, shards: Mapping[str, Shards]) -> None:
    domains = {code: one.domain for code, one in shards.items()}
    named = {domain for domain in domains.values() if domain is not None}
    told = ", ".join(f"{code} {domain or 'not declared'}" for code, domain in domains.items())
    if needed == "same" and len(named) > 1:
        raise _mismatch("domains", "text of one domain", told)
    if needed == "different" and len(shards) > 1 and (None in domains.values() or len(named) < 2):
        raise _mismatch("domains", "text of different domains", f"{told} (declare: isoglot shards build --domain NAME)")


def _mismatch(key: str, expected: str, found: str) -> ConfigError:
    return ConfigError(
        f"the recipe requires {expected}, found {found}",
        remedy=f"use what it requires, take the recipe of another arm, or override it: --set requires.{key}=any",
        code="config.requirement",
    )
