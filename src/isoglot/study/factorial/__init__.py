"""The factorial study: sharing, anchors, word order and domain crossed on English and its twins."""
