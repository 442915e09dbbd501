"""Train a model on a DATA folder into a RUN folder; started again, it goes on."""

from tcnlm.programs.launch import train

if __name__ == "__main__":
    train()
