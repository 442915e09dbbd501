"""Measure a RUN: perplexity, topics, coherence; evaluation.json and report.html."""

from tcnlm.programs.launch import evaluate

if __name__ == "__main__":
    evaluate()
