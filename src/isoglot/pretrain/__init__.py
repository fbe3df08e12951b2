"""Pretraining: rows of ids, masking, language sampling and the loop. Import what you need from its modules."""
