"""Import from and export to Hugging Face and sentence-transformers."""
