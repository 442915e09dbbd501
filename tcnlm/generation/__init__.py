"""6. Sentences from a model: decoding, requests, the SavedModel."""
