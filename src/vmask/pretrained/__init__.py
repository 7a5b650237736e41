"""What comes from outside with weights: word vectors, encoders, and vectors distilled from them."""
