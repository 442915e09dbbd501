"""4. The training loop, its settings, checkpoints and RUN folders."""
