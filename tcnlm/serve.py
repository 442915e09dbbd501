"""`python -m tcnlm.serve`: see tcnlm/programs/serve.py."""

from tcnlm.programs.launch import serve

if __name__ == "__main__":
    serve()
