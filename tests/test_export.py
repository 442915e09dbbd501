"""The SavedModel: the same numbers, from a process that has nothing but TensorFlow."""

import json
import subprocess
import sys
from unicodedata import normalize

import numpy as np
import pytest
import tensorflow as tf
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from tcnlm.common.errors import InputError
from tcnlm.generation import decoding
from tcnlm.generation.decoding import Decoding, SentenceDecoder
from tcnlm.generation.graph_texts import Texts
from tcnlm.generation.saved_model import (
    ROWS,
    Program,
    export,
    in_pieces,
    is_export_of,
)
from tcnlm.models import MODELS, model_class
from tcnlm.models.topics import top_words
from tcnlm.preprocessing.languages import languages
from tcnlm.preprocessing.phrases import Phrases
from tcnlm.preprocessing.text import tokenize
from tcnlm.preprocessing.vocabulary import EOS, SPECIALS, UNK, Vocabulary
from tcnlm.programs.export import main

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


def ask(*calls):
    """Call signatures of SavedModels in a process that cannot import our packages.

    calls: a folder and the inputs of its signatures by name, each.
    """
    result = subprocess.run(
        [sys.executable, "-I", "-c", CLIENT],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def model():
    return tiny.make_model()


@pytest.fixture(scope="module")
def lstm():
    return tiny.make_model("lstm")


@pytest.fixture(scope="module")
def topics():
    """A model that is exported in little time."""
    return tiny.make_model("neural_topics")


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    """The SavedModel of a TCNLM."""
    folder = tmp_path_factory.mktemp("export") / "saved_model"
    export(model, folder)
    return folder


@pytest.fixture(scope="module")
def said(saved, lstm, tmp_path_factory):
    """Everything that SavedModels of a TCNLM and an LSTM say, from a fresh process."""
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
    return ask([str(saved), of_topics], [str(plain), of_none])


@pytest.fixture(scope="module")
def answers(said):
    return said[0]


@pytest.fixture(scope="module")
def lstm_answers(said):
    return said[1]


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


def test_a_topic_model_has_six_signatures(answers):
    expected = [*WRITING, "infer_topics", "score", "topic_words"]
    assert answers["signatures"] == expected


def test_a_model_without_topics_has_four(lstm_answers):
    assert lstm_answers["signatures"] == [*WRITING, "score"]


def test_topics_are_the_models(answers, model):
    expected = np.array([infer(model, text)[0] for text in CONTEXTS])
    assert np.ptp(expected, axis=0).max() > 0.01
    expected[WITHOUT_TOPIC_WORDS] = np.nan
    np.testing.assert_allclose(answers["infer_topics"]["topics"], expected, atol=1e-6)


def test_topics_say_how_many_words_they_were_inferred_from(answers, model):
    texts = (CONTEXTS[none] for none in WITHOUT_TOPIC_WORDS)
    ids = [model.vocabulary.ids(text.lower().split()) for text in texts]
    expected = [int((model.vocabulary.topic_ids[row] >= 0).sum()) for row in ids]
    found = answers["infer_topics"]["topic_words"]
    assert [found[none] for none in WITHOUT_TOPIC_WORDS] == expected == [0, 0]
    assert found[4] == 300
    assert (np.array(found)[[0, 1, 3, 6]] > 0).all()


def test_topic_words_are_the_models(answers, model):
    assert answers["topic_words"]["words"] == sum(top_words(model, 3), [])


def test_scores_are_the_models(answers, model):
    assert_scores(answers["score"], model, [infer(model, text) for text in CONTEXTS])


def test_scores_without_topics_are_the_models(lstm_answers, lstm):
    assert_scores(lstm_answers["score"], lstm, [()] * len(SENTENCES))


def test_sentences_and_their_log_probabilities_are_the_decoders(answers, model):
    """The SavedModel draws what decoding.py draws from the same seed."""
    write = SentenceDecoder(model, Decoding(temperature=1.5, allow_unknown=True))
    expected = [group[0] for group in write(TOPICS, 3, seed=2**40 + 7)]
    assert len({len(sentence.words) for sentence in expected}) > 1
    written = answers["generate"]
    assert written["sentences"] == [str(sentence) for sentence in expected]
    np.testing.assert_allclose(
        written["log_probability"], [s.log_probability for s in expected], rtol=1e-5
    )


def test_sentences_without_unknown_words_are_the_decoders(answers, model):
    write = SentenceDecoder(model, Decoding(temperature=1.5, allow_unknown=False))
    expected = [str(group[0]) for group in write(TOPICS, 3, seed=7)]
    assert answers["generate_known"]["sentences"] == expected
    write = SentenceDecoder(model, Decoding(temperature=1.5, allow_unknown=True))
    allowed = write(TOPICS, 3, seed=7)
    assert any("<unk>" in sentence.words for [sentence] in allowed)


def test_sentences_without_topics_are_the_decoders(lstm_answers, lstm):
    as_it_is = Decoding(**tiny.AS_IT_IS)
    [expected] = SentenceDecoder(lstm, as_it_is)((), 1, number=5, seed=7)
    written = lstm_answers["generate"]
    assert written["sentences"] == [str(sentence) for sentence in expected]


def assert_beams(answer, groups):
    found = [sentence for group in groups for sentence in group]
    assert answer["sentences"] == [str(sentence) for sentence in found]
    expected = [[s.log_probability for s in group] for group in groups]
    np.testing.assert_allclose(answer["log_probability"], expected, rtol=1e-5)


def test_the_beams_of_every_topic_are_the_decoders(answers, model):
    beams = Decoding(method="beam", beam_width=4, allow_unknown=True)
    write = SentenceDecoder(model, beams)
    assert_beams(answers["beam_search"], write(TOPICS, 3, number=4))


def test_the_beams_without_topics_are_the_decoders(lstm_answers, lstm):
    beams = Decoding(method="beam", beam_width=3, allow_unknown=True)
    write = SentenceDecoder(lstm, beams)
    assert_beams(lstm_answers["beam_search"], write((), 1, number=3))


def test_the_beams_of_many_topics_are_those_of_few(model, loaded, monkeypatch):
    alone = loaded["beam_search"](topics=tf.constant(TOPICS), width=tf.constant(3))
    monkeypatch.setattr(decoding, "SENTENCES", 7)  # two topics at a time
    many = tf.constant(np.repeat(TOPICS, 3, axis=0)), tf.constant(3)
    together = Program(model, 30, 300).beam_search(*many)
    expected = np.repeat(alone["sentences"], 3, axis=0)
    np.testing.assert_array_equal(together["sentences"], expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in sorted(MODELS)
        if model_class(name).offers("step") and model_class(name).offers("topics")
    ],
)
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


@settings(max_examples=150, deadline=None)
@given(
    st.text(
        alphabet=st.sampled_from("aBtn's .,!?-\"()&/@0149$`\u2019\u2026"), max_size=40
    )
)
def test_any_punctuation_has_the_same_tokens_as_in_preprocessing(text):
    assert graph_tokens([text]) == [tokenize(text)]


def test_ids_are_the_vocabularys(model):
    found = GRAPH.ids(tf.constant(AWKWARD)).to_list()
    assert found == [model.vocabulary.ids(tokenize(text)) for text in AWKWARD]


def test_known_words_and_phrases_are_read_in_nfd_too():
    words = [*SPECIALS, "s\xe3o_paulo", "\u1ebfm", "office"]
    phrases = Phrases({"s\xe3o paulo": 1.0})
    known = Vocabulary(words, [1] * len(words), words[4:], phrases=phrases)
    texts = ["S\xe3o Paulo \u1ebfm", "o\ufb03ce \xe3"]
    texts += [normalize("NFD", text) for text in texts]
    found = Texts(known, context_words=300).ids(tf.constant(texts)).to_list()
    assert found == [[4, 5], [6, UNK]] * 2
    assert [known.ids(known.beginning(text)) for text in texts] == found


def test_a_saved_model_is_replaced_whole(topics, tmp_path):
    folder = tmp_path / "saved_model"
    export(tiny.make_model("docnade"), folder)
    export(topics, folder)
    assert "infer_topics" in tf.saved_model.load(str(folder)).signatures
    assert [path.name for path in tmp_path.iterdir()] == ["saved_model"]


def test_a_failed_export_leaves_what_was_there(model, tmp_path, monkeypatch):
    folder = tmp_path / "saved_model"
    folder.mkdir()
    (folder / "saved_model.pb").write_text("old")
    monkeypatch.setattr(tf.saved_model, "save", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export(model, folder)
    assert (folder / "saved_model.pb").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["saved_model"]


def test_what_an_interrupted_removal_left_is_replaced(topics, tmp_path):
    folder = tmp_path / "saved_model"
    export(topics, folder)
    (folder / "saved_model.pb").unlink()
    export(topics, folder)
    assert "infer_topics" in tf.saved_model.load(str(folder)).signatures


def test_a_saved_model_knows_what_it_was_made_of(topics, tmp_path):
    folder = tmp_path / "saved_model"
    assert not is_export_of(folder, "ab12")
    export(topics, folder, source="ab12")
    assert is_export_of(folder, "ab12")
    assert not is_export_of(folder, "ab13")
    (folder / "saved_model.pb").unlink()
    assert not is_export_of(folder, "ab12")


def test_a_folder_with_other_contents_is_not_overwritten(model, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="exists and is no SavedModel"):
        export(model, tmp_path)
    assert (tmp_path / "thesis.tex").exists()


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 7])
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


def test_many_texts_have_the_numbers_of_few(model):
    program = Program(model, 30, 300)
    few = tf.constant(SENTENCES), tf.constant(CONTEXTS)
    times = ROWS // len(SENTENCES) + 1
    many = [tf.tile(texts, [times]) for texts in few]
    for name, value in program.score(*few).items():
        found = program.score(*many)[name]
        np.testing.assert_allclose(found, np.tile(value, times), rtol=1e-5)
    topics = program.infer_topics(few[1])["topics"]
    found = program.infer_topics(many[1])["topics"]
    np.testing.assert_allclose(found, np.tile(topics, [times, 1]), atol=1e-6)


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


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, 1e-45])
def test_a_temperature_that_is_none_is_refused_by_name(value, loaded):
    given = {"topics": tf.constant(TOPICS), "seed": tf.constant(1, tf.int64)}
    refused = pytest.raises(tf.errors.InvalidArgumentError, match="temperature: must")
    with refused:
        loaded["generate"](**given, temperature=tf.constant(value, tf.float32))


@pytest.mark.parametrize(
    "row", [[0, 0, 0, 0], [-1, 2, 0, 0], [1, 1, 0, 0], [np.nan] * 4, [np.inf, 0, 0, 0]]
)
def test_topics_that_are_no_mixture_are_refused_by_name(row, loaded):
    topics = tf.constant([TOPICS[0], row], tf.float32)
    given = {"seed": tf.constant(1, tf.int64), "temperature": tf.constant(1.0)}
    with pytest.raises(tf.errors.InvalidArgumentError, match="topics: every row must"):
        loaded["generate"](topics=topics, **given)


@pytest.mark.parametrize("width", [1, 3, 8])
def test_mixtures_of_another_number_of_topics_are_refused_by_name(width, loaded):
    topics = tf.one_hot([0, 0], width)
    given = {"seed": tf.constant(1, tf.int64), "temperature": tf.constant(1.0)}
    with pytest.raises(tf.errors.InvalidArgumentError, match="row must be 4 shares"):
        loaded["generate"](topics=topics, **given)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_other_than_one_context_a_sentence_is_refused_by_name(number, loaded):
    texts = tf.constant(SENTENCES[:2]), tf.constant(CONTEXTS[:number], tf.string)
    refused = pytest.raises(tf.errors.InvalidArgumentError, match="contexts: give as")
    with refused:
        loaded["score"](sentences=texts[0], contexts=texts[1])


@pytest.mark.parametrize("width", [0, -3])
def test_no_beams_are_refused_by_name(width, loaded):
    with pytest.raises(tf.errors.InvalidArgumentError, match="width: must be 1"):
        loaded["beam_search"](topics=tf.constant(TOPICS), width=tf.constant(width))


@pytest.mark.parametrize("number", [0, -3])
def test_no_topic_words_or_sentences_are_refused_by_name(number, loaded, lstm):
    refused = pytest.raises(tf.errors.InvalidArgumentError, match="number: must be 1")
    with refused:
        loaded["topic_words"](number=tf.constant(number))
    given = {"seed": tf.constant(1, tf.int64), "temperature": tf.constant(1.0)}
    with refused:
        Program(lstm, 30, 300).generate(tf.constant(number), **given)


def test_the_command_exports_a_run(tmp_path, monkeypatch, capsys):
    model = tiny.make_run(tmp_path / "RUN", "neural_topics")
    monkeypatch.setattr("sys.argv", ["export", str(tmp_path / "RUN")])
    main()
    loaded = tf.saved_model.load(str(tmp_path / "RUN" / "saved_model"))
    found = loaded.signatures["infer_topics"](documents=tf.constant(["the sea"]))
    np.testing.assert_allclose(found["topics"], infer(model, "the sea"), atol=1e-6)
    assert str(tmp_path / "RUN" / "saved_model") in capsys.readouterr().out
