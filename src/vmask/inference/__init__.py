"""Trained models as predictors: probabilities, perturbed texts, gradients at the seam, folded masks."""
