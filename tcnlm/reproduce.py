"""`python -m tcnlm.reproduce`: see tcnlm/programs/reproduce.py."""

from tcnlm.programs.launch import reproduce

if __name__ == "__main__":
    reproduce()
