"""The live explorer: a local page on which an encoder is steered, looked into and compared."""
