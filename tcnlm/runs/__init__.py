"""A RUN folder: how it is begun, read, gone on with and written."""
