"""`python -m preprocessing SOURCE --out DATA`: raw text to the DATA folder."""

from tcnlm.programs.launch import preprocess

preprocess()
