"""2. DATA to batches: what a row is, and the context that it comes with."""
