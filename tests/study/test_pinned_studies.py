"""Keys of real studies, and the defaults that are no part of a key, do not change: results would be orphaned or mixed.

Where a change is meant, raise the version of the kinds in :data:`isoglot.study.steps.KINDS` that compute something else
and write the file anew: ``python -m tests.study.test_pinned_studies``.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from isoglot.pretrain.config import PretrainConfig
from isoglot.static.config import FastTextConfig, GloveConfig, Word2VecConfig
from isoglot.study.build import StudyOptions, build_study
from isoglot.study.data import StudyData
from isoglot.study.kinds.pretrain import EXECUTION
from isoglot.transfer.map_protocol import MapTransferConfig
from isoglot.transfer.tuning.config import TuneConfig

FILE = Path(__file__).with_name("pinned_studies.json")
STUDIES = ("table1", "liu2020-steer")
CONFIGS: tuple[type[BaseModel], ...] = (
    PretrainConfig,
    TuneConfig,
    MapTransferConfig,
    FastTextConfig,
    Word2VecConfig,
    GloveConfig,
)
"""Configs of which a key has the values that are not the default."""


def keys_of(name: str) -> dict[str, str]:
    """Keys of a study on built-in languages by title; steps of one title have one hash of all keys."""
    found: dict[str, list[str]] = {}
    for step in build_study(name, StudyData(), StudyOptions(scale="nano")).steps:
        found.setdefault(step.title or step.kind, []).append(step.key)
    return {
        title: keys[0] if len(keys) == 1 else hashlib.sha256("".join(sorted(keys)).encode()).hexdigest()[:20]
        for title, keys in found.items()
    }


def defaults_of(config: type[BaseModel], prefix: str = "") -> dict[str, Any]:
    """Default of every setting of a config and of the configs in it; required ones have none."""
    found: dict[str, Any] = {}
    for name, field in config.model_fields.items():
        if field.is_required() or (not prefix and config is PretrainConfig and name in EXECUTION):
            continue
        default = field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            found |= defaults_of(type(default), f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = json.loads(json.dumps(default, default=str))
    return found


@pytest.fixture(scope="module")
def pinned() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", STUDIES)
def test_steps_of_a_real_study_keep_their_keys(name: str, pinned: dict[str, Any]) -> None:
    """A new step is fine."""
    now, before = keys_of(name), pinned["keys"][name]
    assert {title: now.get(title, "gone") for title in before} == before


@pytest.mark.parametrize("config", CONFIGS)
def test_defaults_that_are_no_part_of_a_key_stay(config: type[BaseModel], pinned: dict[str, Any]) -> None:
    """A new setting is fine, if its default is what was done before."""
    now, before = defaults_of(config), pinned["defaults"][config.__name__]
    assert {name: now.get(name, "gone") for name in before} == before


if __name__ == "__main__":
    content = {
        "keys": {name: keys_of(name) for name in STUDIES},
        "defaults": {config.__name__: defaults_of(config) for config in CONFIGS},
    }
    FILE.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
