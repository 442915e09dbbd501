"""`python -m tcnlm.coherence`: see tcnlm/programs/coherence.py."""

from tcnlm.programs.launch import coherence

if __name__ == "__main__":
    coherence()
