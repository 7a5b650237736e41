"""The report after a training: what was trained, how good it is, which words it uses, on one page."""
