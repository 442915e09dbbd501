"""`python -m tcnlm.infer`: see tcnlm/programs/infer.py."""

from tcnlm.programs.launch import infer

if __name__ == "__main__":
    infer()
