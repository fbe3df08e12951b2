"""Word alignment of bitext, and dictionaries induced from it."""
