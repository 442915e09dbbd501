"""`python -m tcnlm.gains`: see tcnlm/programs/gains.py."""

from tcnlm.programs.launch import gains

if __name__ == "__main__":
    gains()
