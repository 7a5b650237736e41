"""Tokenization: words, vocabularies, word pieces with offsets into the text, batches."""
