"""Load datasets and tables of texts and labels, from a name, a file or a stream, and split them."""
