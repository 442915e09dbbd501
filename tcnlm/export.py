"""`python -m tcnlm.export`: see tcnlm/programs/export.py."""

from tcnlm.programs.launch import export

if __name__ == "__main__":
    export()
