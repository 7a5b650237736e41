"""From texts and labels to a trained predictor."""
