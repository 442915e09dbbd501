"""Raw text to the DATA directory: sentences, tokens, vocabularies, arrays.

Nothing here imports TensorFlow.
"""
