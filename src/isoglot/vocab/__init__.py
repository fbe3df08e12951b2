"""Subword vocabularies with controlled sharing between languages, token shards, and the anchor report."""

from isoglot.vocab.anchors import anchor_report
from isoglot.vocab.extend import extend_vocabulary
from isoglot.vocab.shard_build import build_shards
from isoglot.vocab.shards import Shards
from isoglot.vocab.sharing import Grading
from isoglot.vocab.train import train_vocabulary
from isoglot.vocab.vocabulary import Vocabulary

__all__ = ["Grading", "Shards", "Vocabulary", "anchor_report", "build_shards", "extend_vocabulary", "train_vocabulary"]
