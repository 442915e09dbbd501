"""The floor against what TensorFlow really runs, and the rows of the benchmark."""

import re
import sys

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import op_callbacks
from tiny import WORDS, make_model, make_run

from benchmarks import bench, cost, floor, gpu, serving, train_step, usage
from benchmarks.memory import Peak
from benchmarks.synthetic import Corpus, write_data
from benchmarks.systems import Products, fastest
from tcnlm.data.dataset import Dataset
from tcnlm.data.sequences import Sequences
from tcnlm.generation.saved_model import Program
from tcnlm.layers.optimization import GroupedAdam
from tcnlm.preprocessing.vocabulary import PAD
from tcnlm.run import Run
from tcnlm.serving.tensors import json_of, tensors_of

pytestmark = pytest.mark.slow

SHARED = {"embedding_size": 6, "cutoffs": (20, 60), "encoder_units": (7, 7)}
TOY = bench.Scale(
    Corpus(sentences=600, words=200, topic_words=50, stop_words=20),
    small={"units": 8, "num_topics": 5, **SHARED},
    table_6={"units": 4, "num_topics": 3, **SHARED},
    sentences=8,
    words=5,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("synthetic") / "DATA", TOY.corpus)


def multiplied(function):
    """Return the operations of all matrix products that an eager function runs."""
    flops = []

    def count(op_type, inputs, attrs, outputs, *_, **__):
        if op_type in ("MatMul", "BatchMatMulV2"):
            attrs = dict(zip(attrs[::2], attrs[1::2]))
            transposed = attrs.get("transpose_a") or attrs.get("adj_x")
            inner = inputs[0].shape[-2 if transposed else -1]
            flops.append(2 * int(np.prod(outputs[0].shape)) * inner)

    op_callbacks.add_op_callback(count)
    try:
        function()
    finally:
        op_callbacks.clear_op_callbacks()
    return sum(flops)


BATCH = {
    "inputs": np.array([[1, 4, 9, 15], [1, 16, 0, 0], [1, 8, 5, 0]], np.int32),
    "targets": np.array([[4, 9, 15, 2], [16, 2, 0, 0], [8, 5, 17, 0]], np.int32),
    "context": np.array([[0, 3, -1], [2, 2, 5], [-1, -1, -1]], np.int32),
}


def test_step_multiplies_what_the_floor_says():
    model = make_model()
    optimizer = GroupedAdam(model.param_groups(), clip_norm=5.0)
    run = multiplied(lambda: model.train_step(BATCH, optimizer))
    sizes = floor.Sizes.of(model.config, model.vocabulary)
    step = floor.training_step(sizes, floor.Load.of(BATCH, sizes))
    assert run == floor.total(floor.products(step))


def test_generated_word_multiplies_what_the_floor_says():
    model, rows = make_model(), 50
    token, context = tf.fill([rows], 4), model.for_steps(tf.fill([rows, 4], 0.25))
    written = []

    def write():
        state = model.initial_state(rows)
        word, _ = model.next_word(token, state, context, [PAD])
        written.append(word.draw([1, 2])[0].numpy())

    run = multiplied(write)
    sizes = floor.Sizes.of(model.config, model.vocabulary)
    load = floor.Load.of({"targets": written[0][:, None]}, sizes)
    word = floor.generated_word(sizes, load)
    assert run == floor.total(floor.products(word))


def test_floor_counts_every_weight():
    model = make_model()
    sizes = floor.Sizes.of(model.config, model.vocabulary)
    assert sizes.weights == sum(tf.size(w) for w in model.trainable_variables)


def test_floor_of_small_by_hand():
    full = floor.Load(sequences=64, steps=30, targets=1920, in_tails=(200, 100))
    parts = {part.name: part for part in floor.training_step(floor.Sizes(), full)}
    by_step = 2 * 1920 * (600 * 2400 + 4 * 600 * 600)
    once = 2 * 64 * 100 * 2400
    assert floor.total(parts["recurrence"].forward) == by_step + once
    assert floor.total(parts["recurrence"].backward) == 2 * (by_step + once)
    assert floor.total(parts["softmax head"].forward) == 2 * 1920 * 600 * 2002
    tails = 200 * 150 * (600 + 8000) + 100 * 37 * (600 + 24256)
    assert floor.total(parts["softmax tails"].forward) == 2 * tails
    factors = 4 * 600 * (300 + 2 * 100 + 3 * 600)  # the paper's 4 F (E + 2 K + 3 H)
    assert factors == 5_520_000
    assert floor.Sizes().weights > factors + 34256 * 300


def test_bytes_of_a_product():
    product = floor.Product(rows=2, inner=3, columns=5, gates=4, steps=7)
    assert product.flops == 28 * 2 * 30
    assert product.bytes == 28 * 4 * (6 + 15 + 10)
    assert product.right_gradient == floor.Product(3, 14, 5, gates=4)
    assert product.right_gradient.flops == product.left_gradient.flops == product.flops


def test_synthetic_text_is_as_long_as_reviews(data):
    split = Dataset(data).split("train")
    # 18.0 on IMDB; 600 sentences are few.
    assert split.num_targets / len(Sequences().rows(split)) == pytest.approx(
        18.0, abs=1.0
    )
    assert split.tokens.min() == 4
    assert split.tokens.max() < TOY.corpus.words


def test_products_are_timed_by_shape():
    products = [floor.Product(2, 3, 5, gates=4), floor.Product(2, 3, 5, steps=6)]
    system = Products(products)
    assert system.times == {(2, 3, 5): 10}
    assert 0 < system() < 100 * fastest((64, 64, 64))


@pytest.mark.parametrize(
    "name", ["tcnlm", "keras of Table 6", "writer", "writer, every tail", "loop"]
)
def test_system_takes_its_turns(data, tmp_path, name):
    measured = bench.Bench(data, TOY, 5, tmp_path)
    measured.measure([name])
    assert len(measured.seconds[name]) == 2
    assert min(measured.seconds[name]) > 0


class Instant:
    """A system that takes no time."""

    targets = 100

    def __call__(self):
        return 0.5


def test_every_row_is_printed(data, tmp_path, monkeypatch, capsys):
    instant = {name: lambda _: Instant() for name in bench.SYSTEMS}
    monkeypatch.setattr(bench, "SYSTEMS", instant)
    monkeypatch.setattr(bench, "peak_memory", lambda *_: Peak(100.0, 900.0))
    monkeypatch.setattr(train_step, "INSTALLED", True)
    train_step.run(bench.Bench(data, TOY, 1, tmp_path), train_step.ROWS)
    printed = capsys.readouterr().out
    for row in train_step.ROWS.values():
        cells = re.escape(row.measure), r"[^|]*\d[^|]*", re.escape(row.goal)
        assert re.search(r"\| {} \| {} \| {} \|".format(*cells), printed)
    step = floor.training_step(floor.Sizes(), floor.Load(1, 1, 1, (1, 1)))
    for part in step:
        assert re.search(f"^{part.name} ", printed, re.MULTILINE)


def test_without_pytorch_its_row_is_left_out_and_the_line_says_so(
    data, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(train_step, "INSTALLED", False)
    train_step.run(bench.Bench(data, TOY, 1, tmp_path), ["torch", "padding"])
    printed = capsys.readouterr().out
    assert "without PyTorch's row: pip install torch" in printed
    assert train_step.ROWS["torch"].measure not in printed


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors:UserWarning")
def test_the_lstm_of_pytorch_has_the_sizes_of_ours_and_takes_steps(data, tmp_path):
    pytest.importorskip("torch")
    made = bench.Bench(data, TOY, 1, tmp_path)
    theirs, ours = made.torch(TOY.small), made.ours("lstm", TOY.small)
    before = [weight.detach().clone() for weight in theirs.weights]
    assert theirs.targets == ours.targets
    assert theirs() > 0
    pairs = zip(before, theirs.weights)
    assert not any((a == b).all() for a, b in pairs if a.numel())


# --- A GPU ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", gpu.MODELS)
def test_a_trainers_steps_are_timed_beside_how_busy_the_device_was(
    name, data, tmp_path, monkeypatch
):
    monkeypatch.setattr(usage, "ASK", "yes 50")
    monkeypatch.setattr(gpu, "SMALL", {"units": 4, "num_topics": 3, **SHARED})
    trainer = gpu.trainer_of(name, Dataset(data), tmp_path, 8, "bfloat16")
    speed = gpu.measure(trainer, steps=2, seconds=0.2, trace=tmp_path / "trace")
    assert len(list((tmp_path / "trace").rglob("*.xplane.pb"))) == 1
    assert speed.busy == 0.5
    assert 0 < speed.step < speed.first
    assert 0 < speed.tokens < 8 * 31 / speed.step


def test_without_a_gpu_its_benchmark_says_so_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["benchmark", "DATA"])
    with pytest.raises(SystemExit, match="nvidia-smi: not found; .* NVIDIA GPU"):
        gpu.main()
    assert not list(tmp_path.iterdir())


def test_what_is_served_is_compared_with_the_same_answers_from_python(tmp_path):
    make_run(tmp_path / "RUN")
    run = Run(tmp_path / "RUN")
    signatures = Program(run.model, 30, 300).signatures()
    requests = serving.requests_of(run, serving.RandomTexts(WORDS[-9:]), size=2)
    asked = {request.signature for request in requests}
    assert asked == set(signatures) - {"generate_known"}  # costs what generate does
    for request in requests:
        call, python = signatures[request.signature], request.python()
        given = tensors_of(request.inputs, {s.name: s for s in call.input_signature})
        found = json_of(call(**given))
        if request.signature in ("topic_words", "generate", "beam_search"):
            assert python in found.values()
        else:
            name = {"score": "perplexity", "infer_topics": "topics"}[request.signature]
            np.testing.assert_allclose(found[name], python, rtol=1e-4)


def test_cost_says_the_slope_and_the_largest_distance_from_the_line():
    sizes = cost.along("documents", [1000, 2000, 3000])
    taken = {size: size.documents / 500 + 1 for size in sizes}
    costs = {
        size: {name: cost.Cost(seconds, 100 * seconds) for name in cost.PROGRAMS}
        for size, seconds in taken.items()
    }
    shown = cost.table("documents", sizes, costs)
    assert shown.count("| +2.00 s, +200.0 MB; off by 0% ") == len(cost.PROGRAMS)
    assert "| 2,000 | 5.0 s, 500 MB |" in shown


def test_cost_measures_the_process_that_it_starts():
    busy = "import time\nwhile time.process_time() < 1: pass"
    assert 1 <= cost.cost([sys.executable, "-c", busy]).seconds < 3
    with pytest.raises(SystemExit, match="status 3"):
        cost.cost([sys.executable, "-c", "raise SystemExit(3)"])


def test_the_made_texts_have_so_many_documents_of_known_words(tmp_path):
    size = cost.Size(documents=20, words=500)
    cost.write_texts(tmp_path / "texts", size)
    lines = (tmp_path / "texts").read_text().lower().splitlines()
    known = {cost.word(rank) for rank in range(size.words)}
    assert len(known) == size.words
    assert len(lines) == size.documents
    words = [line.replace(".", "").split() for line in lines]
    assert {len(each) for each in words} == {cost.SENTENCES * cost.LENGTH}
    assert {word for each in words for word in each} <= known
