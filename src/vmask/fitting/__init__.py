"""From texts and labels to a trained predictor. `words.py` and `pieces.py` are the two ways texts become numbers."""

from vmask.fitting.train import prepare_data, train_plan

__all__ = ["prepare_data", "train_plan"]
