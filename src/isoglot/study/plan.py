"""What a study will take, before anything runs: steps, tokens, time, disk."""

from __future__ import annotations
