"""What the tests of ``isoglot retrieve`` retrieve among."""

from __future__ import annotations

EN = ["the cat sleeps", "the dog eats", "a cat eats", "a dog sleeps", "the dog sleeps", "a cat sleeps"]
FR = ["le chat dort", "le chien mange", "un chat mange", "un chien dort", "le chien dort", "un chat dort"]
WORDS = {"the": "le", "cat": "chat", "dog": "chien", "sleeps": "dort", "eats": "mange", "a": "un"}
QUICK = ("--device", "cpu", "--resamples", "20")
ALIGNED = ("model", "--parallel", "en=a.txt", "--parallel", "fr=b.txt")
VECTORS = ("--source", "x.vec", "--target", "y.vec", "--dictionary", "w.txt")
