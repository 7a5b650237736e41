"""Pretrained weights: word vectors, encoders, and word vectors distilled from encoders."""
