"""Fine-tuning: batches, heads, training loop, saved models."""
