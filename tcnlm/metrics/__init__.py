"""5. What is measured of a model on a split of its data."""
