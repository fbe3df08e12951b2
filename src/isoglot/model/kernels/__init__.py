"""Fast paths of the encoder: attention over short rows, and dropout."""
