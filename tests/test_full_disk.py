"""What cannot be written: one clear line that names it, and nothing half-written."""

import pytest
import tiny
from damage import contents, room_for
from trained import make_trainer, train_toy

from tcnlm.common.errors import InputError
from tcnlm.generation.saved_model import export
from tcnlm.runs.weights import WEIGHTS, save_weights

pytestmark = pytest.mark.slow


@pytest.fixture
def trainer(toy_data, tmp_path):
    trainer = make_trainer(toy_data, tmp_path / "RUN", "lstm", epochs=1)
    trainer.train()
    return trainer


@pytest.mark.parametrize("size", [0, 100, 5000])
def test_a_checkpoint_without_room_is_named_and_the_last_one_kept(size, trainer):
    before = contents(trainer.run)
    with room_for(size), pytest.raises(InputError) as refused:
        trainer.checkpoints.save(99, {"epoch": 1})
    assert "checkpoints/00000099: cannot be written: " in str(refused.value)
    assert "{{" not in str(refused.value)
    assert contents(trainer.run) == before


@pytest.mark.parametrize("size", [0, 100, 5000])
def test_weights_without_room_are_named_and_the_last_ones_kept(size, trainer):
    before = (trainer.run / WEIGHTS).read_bytes()
    refused = pytest.raises(InputError, match=f"{WEIGHTS}: cannot be written")
    with room_for(size), refused:
        save_weights(trainer.model, trainer.run)
    assert (trainer.run / WEIGHTS).read_bytes() == before


@pytest.mark.parametrize(
    ("size", "name"), [(0, "history.csv"), (100, "history.csv"), (800, "tensorboard")]
)
def test_a_history_without_room_is_named(size, name, trainer):
    refused = pytest.raises(InputError, match=f"{name}: cannot be written: File too")
    with room_for(size), refused:
        trainer.log.evaluation(trainer.state.history)


@pytest.mark.parametrize("size", [0, 100, 20_000])
def test_a_saved_model_without_room_is_named_and_leaves_nothing(size, tmp_path):
    model = tiny.make_model("lstm")
    refused = pytest.raises(InputError, match="saved_model: cannot be written")
    with room_for(size), refused:
        export(model, tmp_path / "saved_model")
    assert list(tmp_path.iterdir()) == []


def test_a_run_below_a_file_is_refused_before_training(toy_data, tmp_path):
    (tmp_path / "file").write_text("")
    result = train_toy(toy_data, tmp_path / "file" / "RUN", model="lstm")
    assert result.returncode == 2
    [line] = result.stderr.splitlines()
    assert "file/RUN: cannot be written: " in line
