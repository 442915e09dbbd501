"""Adding a model touches its file and one line of the registry."""

import subprocess
import sys

import toy

import tcnlm.models

SOURCE = """
from dataclasses import dataclass

from tcnlm.models.lstm import LSTM
from tcnlm.common.settings import setting
from tcnlm.models import lstm


@dataclass(frozen=True)
class Config(lstm.Config):
    temperature: float = setting(1.0, "of the states", above=0)


class Cooled(LSTM):
    Config = Config

    def fuse(self, hidden, context):
        return hidden / self.config.temperature
"""

PROGRAM = """
import runpy, sys
from tcnlm.models import MODELS
MODELS["cooled"] = "cooled:Cooled"  # the line of the registry
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_a_model_needs_its_file_and_one_line_of_the_registry(toy_data, tmp_path):
    (tmp_path / "cooled.py").write_text(SOURCE)
    (tmp_path / "program.py").write_text(PROGRAM)
    run = tmp_path / "RUN"
    _, *command = toy.train_command(
        toy_data, run, model="cooled", settings=["temperature=0.5"]
    )
    environment = {"PYTHONPATH": f"{tmp_path}:{toy.ROOT}", "TF_CPP_MIN_LOG_LEVEL": "3"}
    for words in (
        command,
        [str(toy.ROOT / "evaluate.py"), str(run)],
        [str(toy.ROOT / "generate.py"), str(run), "--number", "2"],
    ):
        result = subprocess.run(
            [sys.executable, str(tmp_path / "program.py"), *words],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 2
    assert (run / "saved_model" / "saved_model.pb").exists()
    assert "cooled" not in tcnlm.models.MODELS
