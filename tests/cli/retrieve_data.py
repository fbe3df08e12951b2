"""What the tests of ``isoglot retrieve`` retrieve among."""

from __future__ import annotations

EN = ["the cat sleeps", "the dog eats", "a cat eats", "a dog sleeps", "the dog sleeps", "a cat sleeps"]
FR = ["le chat dort", "le chien mange", "un chat mange", "un chien dort", "le chien dort", "un chat dort"]
WORDS = {"the": "le", "cat": "chat", "dog": "chien", "sleeps": "dort", "eats": "mange", "a": "un"}
QUICK = ("--device", "cpu", "--resamples", "20")
ALIGNED = ("--model", "model", "--parallel", "en=a.txt", "--parallel", "fr=b.txt")
VECTORS = ("--source", "x.vec", "--target", "y.vec", "--dictionary", "w.txt")


def seen(source: list[str], target: list[str]) -> dict[str, object]:
    """A dictionary as models, vocabularies and shards keep it."""
    names = {"source": "en", "target": "fr", "file": "d.txt", "sha256": "0"}
    return {**names, "source_words": source, "target_words": target}
