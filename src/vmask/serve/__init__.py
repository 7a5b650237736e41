"""A web server and its page: predictions, explanations and words of trained models. Needs the extra `serve`."""
