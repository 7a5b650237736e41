"""From a text to ids and back to offsets: words, vocabularies, word pieces, batches."""
