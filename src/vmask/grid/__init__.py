"""A grid of trainings over datasets, models and methods, with a result file each."""
