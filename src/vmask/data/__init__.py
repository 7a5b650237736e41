"""Datasets, files of texts, words and vocabularies: everything up to the first tensor (`batches`)."""
