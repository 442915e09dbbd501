"""Write sentences with the model of a RUN: from topics, a document, or a beginning."""

from tcnlm.programs.launch import generate

if __name__ == "__main__":
    generate()
