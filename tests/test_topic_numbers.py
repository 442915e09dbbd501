"""train.py --try-topics: a training a number, then a table and a recommendation."""

import subprocess
import sys

import pytest
import toy

from tcnlm.programs.train import commands, options_of
from tcnlm.report.topic_numbers import as_text, quality, recommended, table


def options(line):
    return options_of(f"data --out runs --set epochs=2 {line}".split())


def test_each_number_and_seed_is_one_training():
    several = commands(options("--try-topics 5 9 --seeds 1 2 --threads 1"))
    asked = [options_of(command) for command in several]
    assert [each.out for each in asked] == [
        f"runs/topics-{number}/seed-{seed}" for number in (5, 9) for seed in (1, 2)
    ]
    assert [each.seed for each in asked] == [1, 2, 1, 2]
    assert asked[-1].set == ["epochs=2", "num_topics=9"]
    assert not any(commands(each) for each in asked)
    (alone,) = commands(options("--try-topics 5 --seed 7"))
    assert (options_of(alone).out, options_of(alone).seed) == ("runs/topics-5", 7)


@pytest.mark.parametrize(
    "wrong", ["--try-topics 5 5", "--try-topics 0", "--try-topics 5 --set num_topics=3"]
)
def test_numbers_that_say_two_things_are_refused(wrong, capsys):
    with pytest.raises(SystemExit) as ended:
        options(wrong)
    assert ended.value.code == 2
    assert "--try-topics" in capsys.readouterr().err


def table_of(runs):
    """Return the table of perplexities, NPMI and diversity, by numbers of topics."""
    return table(
        [
            (number, seed, {"npmi": npmi, "diversity": diversity, **more})
            for number, seeds in runs.items()
            for seed, (npmi, diversity, more) in enumerate(seeds)
        ]
    )


def test_the_highest_coherence_times_diversity_is_recommended():
    terms = {"elbo": {"reconstruction": 50.0, "kl": 2.5, "nll": 4.5}}
    found = table_of(
        {
            10: [(0.09, 0.9, {"perplexity": 99.0, **terms})],
            40: [(0.10, 0.5, {"perplexity": 90.0, **terms})],
        }
    )
    number, reason = recommended(found)
    assert number == 10
    assert "of one seed, which chance may have put ahead" in reason
    assert reason.endswith("the lowest perplexity is that of 40")
    titles, ten, forty = as_text(found).split("\n")
    assert "minus the topics' bound" in titles
    assert ten.split() == ["10", "99.00", "52.500", "0.090", "0.90", "0.081"]
    assert forty.split()[0] == "40"
    assert quality({"npmi": -0.1, "diversity": 0.2}) == -0.1  # repetition is no help


def test_of_several_seeds_the_fewest_topics_within_a_deviation_are_recommended():
    def runs(*values):
        return [(value, 1.0, {}) for value in values]

    near = table_of({5: runs(0.01, 0.02), 10: runs(0.10, 0.12), 20: runs(0.11, 0.13)})
    number, reason = recommended(near)
    assert number == 10
    assert reason.startswith("fewest topics within one standard deviation")
    assert "of one seed" not in reason
    assert "0.110 ± 0.014" in as_text(near)
    apart = table_of({10: runs(0.10, 0.12), 20: runs(0.31, 0.32)})
    assert recommended(apart)[0] == 20


@pytest.mark.slow
def test_all_numbers_are_trained_measured_and_compared(toy_data, tmp_path):
    out = tmp_path / "numbers"
    words = [str(toy_data), "--out", str(out), "--model", "lda", "--threads", "1"]
    command = [sys.executable, str(toy.ROOT / "train.py"), *words]
    command += ["--recipe", "lda-gensim", "--try-topics", "3", "5"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "recommended: " in result.stdout
    rows = toy.read_csv(out / "topic_numbers.csv")
    assert [row["topics"] for row in rows] == ["3", "5"]
    assert {"loss", "npmi", "diversity", "topics_in_use", "quality"} <= rows[0].keys()
    assert (out / "topic_numbers.png").stat().st_size > 0
    assert (out / "report.valid.html").is_file()
    assert (out / "topics-5" / "evaluation.valid.json").is_file()
    assert not (out / "topics-5" / "evaluation.json").exists()
