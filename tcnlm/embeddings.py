"""`python -m tcnlm.embeddings`: see tcnlm/programs/embeddings.py."""

from tcnlm.programs.launch import embeddings

if __name__ == "__main__":
    embeddings()
