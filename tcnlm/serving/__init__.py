"""A small server of a SavedModel, for trying: TensorFlow Serving's REST, and a page."""
