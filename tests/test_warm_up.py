"""Requests of tensorflow-serving-api's messages, from bytes to answers of a SavedModel.

What needs that package is skipped where it is missing (pip install '.[serving]').
"""

import sys
from importlib.util import find_spec

import numpy as np
import pytest
import tensorflow as tf
import tiny

from tcnlm.common.errors import InputError
from tcnlm.generation.saved_model import WARM_UP
from tcnlm.programs import export

INPUTS = {
    "infer_topics": {"documents": ["The ship.", "Naïve bread"]},
    "topic_words": {"number": np.int32(3)},
    "score": {"sentences": ["a judge", ""], "contexts": ["The sea", "the court"]},
    "generate": {
        "topics": np.eye(4, dtype=np.float32)[:3],
        "seed": np.int64(2**40),
        "temperature": np.float32(1.5),
    },
    "beam_search": {"topics": np.eye(4, dtype=np.float32)[:3], "width": np.int32(2)},
}
INPUTS["generate_known"] = INPUTS["generate"]
WRITING = {"generate", "generate_known", "beam_search"}


def test_without_the_package_it_says_what_to_install(tmp_path, monkeypatch):
    tiny.make_run(tmp_path / "RUN")
    monkeypatch.setitem(sys.modules, "tensorflow_serving.apis", None)
    with pytest.raises(InputError, match=r"pip install '/path/to/tcnlm\[serving\]'"):
        export.main([str(tmp_path / "RUN"), "--warm-up"])
    assert not (tmp_path / "RUN" / "saved_model").exists()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    tiny.make_run(folder / "RUN")
    asked = ["--warm-up"] if find_spec("tensorflow_serving") else []
    export.main([str(folder / "RUN"), "--out", str(folder / "1"), *asked])
    return folder


@pytest.fixture(scope="module")
def signatures(folder):
    return tf.saved_model.load(str(folder / "1")).signatures


@pytest.fixture
def apis():
    return pytest.importorskip("tensorflow_serving.apis", exc_type=ImportError)


def asked(signatures, request):
    """Run a PredictRequest as a server does; return the outputs."""
    given = {name: tf.make_ndarray(proto) for name, proto in request.inputs.items()}
    call = signatures[request.model_spec.signature_name]
    specs = call.structured_input_signature[1]
    return call(**{k: tf.constant(v, specs[k].dtype) for k, v in given.items()})


def test_the_file_has_a_request_of_every_signature_that_is_answered(
    folder, signatures, apis
):
    from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

    records = tf.data.TFRecordDataset(str(folder / "1" / WARM_UP)).as_numpy_iterator()
    logs = [PredictionLog.FromString(record) for record in records]
    requests = [log.predict_log.request for log in logs]
    names = [request.model_spec.signature_name for request in requests]
    assert sorted(names) == sorted(signatures)
    for request in requests:
        assert all(tf.size(v) > 0 for v in asked(signatures, request).values())


@pytest.mark.parametrize("name", INPUTS)
def test_request_and_response_come_through_their_bytes(name, signatures, apis):
    from tensorflow_serving.apis import predict_pb2

    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "stories", name
    for key, value in INPUTS[name].items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    expected = signatures[name](**{k: tf.constant(v) for k, v in INPUTS[name].items()})
    parsed = predict_pb2.PredictRequest.FromString(request.SerializeToString())
    response = predict_pb2.PredictResponse()
    for key, value in asked(signatures, parsed).items():
        response.outputs[key].CopyFrom(tf.make_tensor_proto(value))
    answered = predict_pb2.PredictResponse.FromString(response.SerializeToString())
    assert set(answered.outputs) == set(expected)
    for key, value in expected.items():
        found = tf.make_ndarray(answered.outputs[key])
        np.testing.assert_array_equal(found, value.numpy())


def test_what_reads_texts_has_one_batch_dimension_of_inputs_and_outputs(
    folder, signatures
):
    tiny.make_run(folder / "docnade", "docnade")
    export.main([str(folder / "docnade")])
    assert not (folder / "docnade" / "saved_model" / WARM_UP).exists()
    of_documents = tf.saved_model.load(str(folder / "docnade" / "saved_model"))
    offered = {**signatures, **of_documents.signatures}
    batched = {"infer_topics", "score", "features", "score_document"}
    assert set(offered) == {*batched, *WRITING, "topic_words"}
    for name in batched:
        inputs = offered[name].structured_input_signature[1]
        specs = [*inputs.values(), *offered[name].structured_outputs.values()]
        assert {spec.shape[0] for spec in specs} == {None}
        texts = {key: tf.constant(["The ship", "bread of a cook"]) for key in inputs}
        together = offered[name](**texts)
        for row in range(2):
            one = {key: value[row : row + 1] for key, value in texts.items()}
            for key, value in offered[name](**one).items():
                np.testing.assert_allclose(together[key][row], value[0], rtol=1e-5)
