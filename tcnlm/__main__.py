"""`python -m tcnlm COMMAND`: see tcnlm/programs/launch.py."""

from tcnlm.programs.launch import main

main()
