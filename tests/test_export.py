"""The SavedModel: the same numbers, from a process that has nothing but TensorFlow."""

import json
import os
import subprocess
import sys
from unicodedata import normalize

import numpy as np
import pytest
import tensorflow as tf
import tiny

from tcnlm.common.errors import InputError
from tcnlm.generation import decoding
from tcnlm.generation.decoding import Decoding, SentenceDecoder
from tcnlm.generation.graph_texts import Texts
from tcnlm.generation.saved_model import (
    WARM_UP,
    Program,
    export,
    in_pieces,
    is_export_of,
)
from tcnlm.metrics.base import both
from tcnlm.models import MODELS, model_class
from tcnlm.models.topics import top_words
from tcnlm.preprocessing.languages import languages
from tcnlm.preprocessing.phrases import Phrases
from tcnlm.preprocessing.text import tokenize
from tcnlm.preprocessing.vocabulary import EOS, SPECIALS, UNK, Vocabulary
from tcnlm.programs import export as export_command

AWKWARD = [
    "",
    " \t\r\n ",
    "The ship doesn't sail, Mr. Smith's cook said.",
    'He said: "I can\'t!" (really?) -- \u201cwon\u2019t\u201d \u2026 and so on...',
    "U.S. prices: $1,000.50/kg at 10:30 a.m., i.e. 5% [sic] {e.g.}",
    "e-mail me@example.com or http://a.b/c?d=e; and/or R&B o'clock 'tis 20th",
    "na\u00efve caf\u00e9 \u00c9T\u00c9 \u00dcber stra\u00dfe \u0130stanbul",
    "\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03a3 \u0420\u0443\u0441\u0441\u043a",
    "\u4e2d\u6587\u3002 \u65e5\u672c\u8a9e \U0001f600 emoji\ufe0f\u200d",
    "no\u00a0break\u2009thin\u3000wide\u2028line\x85next\x1funit\x00nul\x7fdel",
    "zero\u200bwidth soft\u00adhyphen fa\u0308cade",
    "<br /> &amp; &lt;tag&gt; ** ?? !!! ' '' `` ` ;-) :)",
    "the end of the u.s.",
    "mr. cook's bread . . . the 'bread' cannot gonna",
]
SENTENCES = [
    "The ship of the sea.",
    "",
    "A judge doesn't cook xylophones, Mr. Judge.",
    " ".join(["the sea of"] * 29),  # 87 words: three sequences, the last one short
    " ".join(["sail"] * 29),  # one full sequence
    " ".join(["sail"] * 30),  # and one more for <eos>
    "Na\u00efve bread",
]
CONTEXTS = [
    "A court. The trial of a judge!",
    "Bread and ships.",
    "",
    "The oven, the Cook; bread",
    "sea " * 400 + "judge " * 400,  # content words beyond the first 300 do not count
    "the of a",
    "Na\u00efve ship",
]
WITHOUT_TOPIC_WORDS = [2, 5]
BEAMS = {"method": "beam", "allow_unknown": True}
TOPICS = np.float32([[1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25], [0, 0.3, 0, 0.7]])

CLIENT = """
import json, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"tcnlm", "tensorflow_addons",
                                  "gensim", "nltk"}:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
import numpy as np
import tensorflow as tf


def answered(folder, calls):
    model = tf.saved_model.load(folder)
    answers = {"signatures": sorted(model.signatures)}
    for name, inputs in calls.items():
        specs = model.signatures[name].structured_input_signature[1]
        inputs = {key: tf.constant(inputs[key], specs[key].dtype) for key in inputs}
        outputs = model.signatures[name](**inputs)
        answers[name] = {
            key: [v.decode() for v in value.numpy().ravel()]
            if value.dtype == tf.string else value.numpy().tolist()
            for key, value in outputs.items()
        }
    return answers

json.dump([answered(*each) for each in json.load(sys.stdin)], sys.stdout)
"""


@pytest.fixture(scope="module")
def model():
    return tiny.make_model()


@pytest.fixture(scope="module")
def lstm():
    return tiny.make_model("lstm")


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    """The SavedModel of a TCNLM."""
    folder = tmp_path_factory.mktemp("export") / "saved_model"
    export(model, folder)
    return folder


@pytest.fixture(scope="module")
def answers(saved, lstm, tmp_path_factory):
    """What SavedModels of a TCNLM and an LSTM say where none of our packages is."""
    plain = tmp_path_factory.mktemp("export") / "saved_model"
    export(lstm, plain)
    topics, texts = {"topics": TOPICS.tolist()}, {"sentences": SENTENCES}
    texts["contexts"] = CONTEXTS
    of_topics = {
        "infer_topics": {"documents": CONTEXTS},
        "topic_words": {"number": 3},
        "score": texts,
        "generate": {**topics, "seed": 2**40 + 7, "temperature": 1.5},
        "generate_known": {**topics, "seed": 7, "temperature": 1.5},
        "beam_search": {**topics, "width": 4},
    }
    of_none = {
        "score": texts,
        "generate": {"number": 5, "seed": 7, "temperature": 1.0},
        "beam_search": {"width": 3},
    }
    calls = json.dumps([[str(saved), of_topics], [str(plain), of_none]])
    how = {"input": calls, "capture_output": True, "text": True, "cwd": "/"}
    result = subprocess.run([sys.executable, "-I", "-c", CLIENT], **how)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def loaded(saved):
    """Signatures as a user loads them, who can give a tensor of any shape."""
    return tf.saved_model.load(str(saved)).signatures


def content(text):
    ids = [tiny.TOPIC_WORDS.index(w) for w in tokenize(text) if w in tiny.TOPIC_WORDS]
    return [[*ids[:300], -1]]


def infer(model, text):
    return model.infer(tf.constant(content(text)))


def expected_log_prob(model, sentence, context):
    """Return log p by hand: each 30 targets from the zero state, as in training."""
    ids, total = [1, *model.vocabulary.ids(tokenize(sentence)), EOS], 0.0
    for start in range(0, len(ids) - 1, 30):
        piece = tf.constant([ids[start : start + 31]])
        batch = {"inputs": piece[:, :-1], "targets": piece[:, 1:]}
        total += float(tf.reduce_sum(model(batch, context=context)))
    return total


def assert_scores(answer, model, contexts):
    expected = [expected_log_prob(model, *pair) for pair in zip(SENTENCES, contexts)]
    targets = [len(tokenize(sentence)) + 1 for sentence in SENTENCES]
    assert answer["targets"] == targets
    np.testing.assert_allclose(answer["log_probability"], expected, rtol=1e-5)
    perplexity = np.exp(-np.array(expected) / targets)
    np.testing.assert_allclose(answer["perplexity"], perplexity, rtol=1e-5)


WRITING = ["beam_search", "generate", "generate_known"]


def test_each_kind_of_model_has_its_signatures(answers):
    of_topics, of_none = (each["signatures"] for each in answers)
    assert of_topics == [*WRITING, "infer_topics", "score", "topic_words"]
    assert of_none == [*WRITING, "score"]


def test_topics_are_the_models_and_of_no_word_nan(answers, model):
    expected = np.array([infer(model, text)[0] for text in CONTEXTS])
    assert np.ptp(expected, axis=0).max() > 0.01
    expected[WITHOUT_TOPIC_WORDS] = np.nan
    found = answers[0]["infer_topics"]
    np.testing.assert_allclose(found["topics"], expected, atol=1e-6)
    words = found["topic_words"]
    assert [i for i, number in enumerate(words) if not number] == WITHOUT_TOPIC_WORDS
    assert words[4] == 300
    assert answers[0]["topic_words"]["words"] == sum(top_words(model, 3), [])


def test_scores_are_the_models_with_topics_and_without(answers, model, lstm):
    contexts = [infer(model, text) for text in CONTEXTS]
    assert_scores(answers[0]["score"], model, contexts)
    assert_scores(answers[1]["score"], lstm, [()] * len(SENTENCES))


@pytest.mark.parametrize(
    ("signature", "options", "seed"),
    [
        ("generate", {"temperature": 1.5, "allow_unknown": True}, 2**40 + 7),
        ("generate_known", {"temperature": 1.5}, 7),
        ("beam_search", {**BEAMS, "beam_width": 4}, 0),
    ],
)
def test_sentences_of_topics_are_the_decoders(signature, options, seed, answers, model):
    """The SavedModel writes what decoding.py writes from the same seed."""
    options = Decoding(**options)
    number = options.beam_width if options.method == "beam" else 1
    expected = SentenceDecoder(model, options)(TOPICS, 3, number, (), seed)
    assert_sentences(answers[0][signature], expected)


def test_sentences_without_topics_are_the_decoders(answers, lstm):
    write = SentenceDecoder(lstm, Decoding(**tiny.AS_IT_IS))
    assert_sentences(answers[1]["generate"], write((), 1, number=5, seed=7))
    write = SentenceDecoder(lstm, Decoding(**BEAMS, beam_width=3))
    assert_sentences(answers[1]["beam_search"], write((), 1, number=3))


def assert_sentences(answer, groups):
    expected = sum(groups, [])
    assert answer["sentences"] == [str(sentence) for sentence in expected]
    assert len(set(answer["sentences"])) > 1
    log_probs = [sentence.log_probability for sentence in expected]
    found = np.ravel(answer["log_probability"])
    np.testing.assert_allclose(found, log_probs, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in sorted(MODELS) if both(model_class(n))])
def test_a_language_model_with_topics_has_its_own_numbers(name, tmp_path):
    model = tiny.make_model(name)
    export(model, tmp_path / "saved_model")
    offered = tf.saved_model.load(str(tmp_path / "saved_model")).signatures
    texts = {"sentences": tf.constant(SENTENCES), "contexts": tf.constant(CONTEXTS)}
    score = {k: v.numpy().tolist() for k, v in offered["score"](**texts).items()}
    contexts = [tf.constant(content(text)) for text in CONTEXTS]
    assert_scores(score, model, [model.context({"context": c}) for c in contexts])
    found = offered["infer_topics"](documents=texts["contexts"])["topics"]
    expected = np.array([model.infer(c)[0] for c in contexts])
    expected[WITHOUT_TOPIC_WORDS] = np.nan
    np.testing.assert_allclose(found, expected, atol=1e-5)
    given = {"seed": tf.constant(7, tf.int64), "temperature": tf.constant(1.0)}
    written = offered["generate"](topics=tf.constant(TOPICS), **given)["sentences"]
    assert len(set(written.numpy())) == 3


# Of Unicode 14 (2021): Python 3.11 lower-cases them, TensorFlow does not know them.
NEW_CAPITALS = {0x2C2F, 0xA7C0, 0xA7D0, 0xA7D6, 0xA7D8, *range(0x10570, 0x10596)}


def graph_tokens(texts, graph=None):
    rows = (graph or GRAPH).tokens(tf.constant(texts)).to_list()
    return [[token.decode() for token in row] for row in rows]


GRAPH = Texts(tiny.VOCABULARY, context_words=300)


def test_awkward_text_has_the_same_tokens_as_in_preprocessing():
    assert graph_tokens(AWKWARD) == [tokenize(text) for text in AWKWARD]


OTHER_LANGUAGES = [
    "L’homme qu'il a vu, c'est l'ami d'Anne.",
    "Er kam am 3. Oktober z.B. zu Dr. Müller, u.a. zur Ö. Bahn, usw.",
    "Işık İstanbul'un IĞDIR ilinde",
    "А. С. Пушкин в 1799 г. и т.д.",
    "كيف حالك؟ نعم،",
    "यह वाक्य है।",
    "He doesn't; cannot. I'm gonna",
]


@pytest.mark.parametrize("language", languages())
def test_every_language_has_the_same_tokens_as_in_preprocessing(language):
    known = tiny.VOCABULARY
    words = known.words, known.counts, known.topic_words
    graph = Texts(Vocabulary(*words, language), context_words=300)
    expected = [tokenize(text, language) for text in OTHER_LANGUAGES]
    assert graph_tokens(OTHER_LANGUAGES, graph) == expected


def test_a_unicode_character_has_the_same_tokens_as_in_preprocessing():
    """Every one of the planes with letters and signs, between letters."""
    points = [p for p in range(0x20000) if not 0xD800 <= p < 0xE000]
    points += range(0xE0000, 0xE0200)
    texts = [f"a{chr(point)}b c{chr(point)}" for point in points]
    found = zip(points, graph_tokens(texts), map(tokenize, texts))
    differ = {point for point, ours, theirs in found if ours != theirs}
    assert differ <= NEW_CAPITALS


def test_known_words_and_phrases_are_read_in_nfd_too():
    words = [*SPECIALS, "s\xe3o_paulo", "\u1ebfm", "office"]
    phrases = Phrases({"s\xe3o paulo": 1.0})
    known = Vocabulary(words, [1] * len(words), words[4:], phrases=phrases)
    texts = ["S\xe3o Paulo \u1ebfm", "o\ufb03ce \xe3"]
    texts += [normalize("NFD", text) for text in texts]
    found = Texts(known, context_words=300).ids(tf.constant(texts)).to_list()
    assert found == [[4, 5], [6, UNK]] * 2
    assert [known.ids(known.beginning(text)) for text in texts] == found


def test_a_saved_model_is_replaced_whole_and_knows_what_it_was_made_of(tmp_path):
    model, folder = tiny.make_model("neural_topics"), tmp_path / "saved_model"
    assert not is_export_of(folder, "ab12")
    export(tiny.make_model("docnade"), folder)
    export(model, folder, source="ab12")
    assert is_export_of(folder, "ab12")
    assert not is_export_of(folder, "ab13")
    (folder / "saved_model.pb").unlink()  # as an interrupted removal leaves it
    assert not is_export_of(folder, "ab12")
    export(model, folder)
    assert "infer_topics" in tf.saved_model.load(str(folder)).signatures
    assert [path.name for path in tmp_path.iterdir()] == ["saved_model"]


def test_a_folder_with_other_contents_is_not_overwritten(model, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="exists and is not a SavedModel"):
        export(model, tmp_path)
    (tmp_path / "saved_model.pb").touch()  # one to which a user has added
    with pytest.raises(InputError, match="exists and is not a SavedModel alone"):
        export(model, tmp_path)
    assert (tmp_path / "thesis.tex").exists()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: exists and is not a SavedModel"):
        export(model, tmp_path / "pipe")


@pytest.mark.parametrize("number", [0, 3, 7])
def test_pieces_are_joined_in_order(number):
    rows = np.arange(2 * number, dtype=np.float32).reshape(number, 2)
    specs = [tf.TensorSpec([None, 2]), tf.TensorSpec([None], tf.string)]

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def twice(rows):
        def piece(first, last):
            part = rows[first:last]
            return 2 * part, tf.strings.as_string(part[:, 0], 0)

        return in_pieces(piece, tf.shape(rows)[0], specs, size=3)

    doubled, texts = twice(rows)
    assert doubled.shape == rows.shape
    np.testing.assert_array_equal(doubled, 2 * rows)
    assert texts.numpy().tolist() == [b"%d" % row[0] for row in rows]


def test_many_sentences_are_the_decoders_and_differ(model, monkeypatch):
    monkeypatch.setattr(decoding, "SENTENCES", 4)
    topics = np.repeat(TOPICS, 3, axis=0)  # the rows that differ lie 4 apart
    generate = Program(model, 30, 300).signatures()["generate"]
    written = generate(topics, tf.constant(7, tf.int64), tf.constant(1.0))
    write = SentenceDecoder(model, Decoding(**tiny.AS_IT_IS))
    expected = [str(s) for [s] in write(topics, 9, seed=7)]
    assert [s.decode() for s in written["sentences"].numpy()] == expected
    [same] = write(TOPICS[:1], 1, number=12, seed=7)
    assert len({tuple(map(str, same[i : i + 4])) for i in (0, 4, 8)}) == 3


REFUSED = [  # a signature, what is wrong of its inputs, and what is said of it
    *(
        ("generate", {"temperature": value}, "temperature: must be a finite number")
        for value in (0.0, np.nan, np.inf, 1e-45)
    ),
    *(
        ("generate", {"topics": [[1, 0, 0, 0], row]}, "topics: every row must be 4")
        for row in ([0] * 4, [-1, 2, 0, 0], [1, 1, 0, 0], [np.nan] * 4)
    ),
    ("generate", {"topics": np.eye(3)}, "topics: every row must be 4 shares"),
    ("score", {"contexts": [""] * 3}, "contexts: give as many as sentences"),
    ("beam_search", {"width": 0}, "width: must be 1 or more"),
    ("topic_words", {"number": -3}, "number: must be 1 or more"),
]


@pytest.mark.parametrize(("signature", "wrong", "message"), REFUSED)
def test_what_makes_no_sense_is_refused_by_name(signature, wrong, message, loaded):
    given = {"topics": TOPICS, "seed": 1, "temperature": 1.0, "width": 2, "number": 1}
    given |= {"sentences": SENTENCES[:2], "contexts": CONTEXTS[:2], **wrong}
    specs = loaded[signature].structured_input_signature[1]
    inputs = {name: tf.constant(given[name], specs[name].dtype) for name in specs}
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        loaded[signature](**inputs)


def test_the_command_exports_a_run(tmp_path, capsys):
    model = tiny.make_run(tmp_path / "RUN", "neural_topics")
    export_command.main([str(tmp_path / "RUN")])
    folder = tmp_path / "RUN" / "saved_model"
    call = tf.saved_model.load(str(folder)).signatures["infer_topics"]
    found = call(documents=tf.constant(["the sea"]))["topics"]
    np.testing.assert_allclose(found, infer(model, "the sea"), atol=1e-6)
    assert str(folder) in capsys.readouterr().out
    assert not (folder / WARM_UP).exists()


# For TensorFlow Serving. What needs tensorflow-serving-api is skipped without it
# (pip install '.[serving]').


def test_without_its_package_a_warm_up_says_what_to_install(tmp_path, monkeypatch):
    tiny.make_run(tmp_path / "RUN", "neural_topics")
    monkeypatch.setitem(sys.modules, "tensorflow_serving.apis", None)
    with pytest.raises(InputError, match=r"pip install '/path/to/tcnlm\[serving\]'"):
        export_command.main([str(tmp_path / "RUN"), "--warm-up"])
    assert not (tmp_path / "RUN" / "saved_model").exists()


def answered(signatures, request):
    """Run a PredictRequest as a server does; return the outputs."""
    given = {name: tf.make_ndarray(proto) for name, proto in request.inputs.items()}
    call = signatures[request.model_spec.signature_name]
    specs = call.structured_input_signature[1]
    return call(**{k: tf.constant(v, specs[k].dtype) for k, v in given.items()})


def test_the_requests_of_a_warm_up_and_answers_come_through_their_bytes(tmp_path):
    """One of every signature, that is answered."""
    pytest.importorskip("tensorflow_serving.apis", exc_type=ImportError)
    from tensorflow_serving.apis import predict_pb2
    from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

    tiny.make_run(tmp_path / "RUN")
    folder = tmp_path / "1"
    export_command.main([str(tmp_path / "RUN"), "--out", str(folder), "--warm-up"])
    signatures = tf.saved_model.load(str(folder)).signatures
    records = tf.data.TFRecordDataset(str(folder / WARM_UP)).as_numpy_iterator()
    requests = [PredictionLog.FromString(r).predict_log.request for r in records]
    names = [request.model_spec.signature_name for request in requests]
    assert sorted(names) == sorted(signatures)
    for request in requests:
        response = predict_pb2.PredictResponse()
        expected = answered(signatures, request)
        assert all(tf.size(value) > 0 for value in expected.values())
        for key, value in expected.items():
            response.outputs[key].CopyFrom(tf.make_tensor_proto(value))
        parsed = predict_pb2.PredictResponse.FromString(response.SerializeToString())
        for key, value in expected.items():
            found = tf.make_ndarray(parsed.outputs[key])
            np.testing.assert_array_equal(found, value.numpy())


def test_what_reads_texts_has_one_batch_dimension_of_inputs_and_outputs(
    loaded, tmp_path
):
    export(tiny.make_model("docnade"), tmp_path / "1")
    offered = {**loaded, **tf.saved_model.load(str(tmp_path / "1")).signatures}
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
