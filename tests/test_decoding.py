"""Decoding over a dummy model small enough to enumerate all its sentences."""

import functools

import numpy as np
import pytest
import tensorflow as tf
import tiny
from helpers import randomise
from scipy.special import log_softmax
from scipy.stats import chisquare
from second_order import SIZE, WORDS, SecondOrderModel

from tcnlm.generation.decoding import Decoding, SentenceDecoder, draw
from tcnlm.preprocessing.vocabulary import EOS, GO, PAD, UNK


@pytest.fixture
def model(rng):
    """A random model that hardly ever wants <pad> or <go>."""
    scores = rng.normal(scale=1.5, size=(SIZE, SIZE, SIZE))
    scores[..., [PAD, GO]] = -30
    return SecondOrderModel(scores)


@pytest.fixture
def contexts(rng):
    return rng.normal(scale=0.7, size=(3, SIZE)).astype(np.float32)


def ids_of(sentence):
    return (*map(WORDS.index, sentence.words), *[EOS] * sentence.ended)


decoder_of = functools.cache(SentenceDecoder)  # its graph takes a second to build


def write(model, contexts, number=1, prompt=(), seed=0, **options):
    decoder = decoder_of(model, Decoding(**{**tiny.AS_IT_IS, **options}))
    return decoder(contexts, len(contexts), number, prompt, seed)


def test_greedy_takes_the_most_probable_word_at_every_step(model, contexts):
    written = write(model, contexts, method="greedy", max_length=8)
    for context, [sentence] in zip(contexts, written):
        ids = ids_of(sentence)
        for i, word in enumerate(ids):
            options = [model.log_prob((*ids[:i], w), context) for w in range(2, SIZE)]
            assert word == 2 + np.argmax(options)


@pytest.mark.parametrize("allow_unknown", [True, False])
def test_an_exhaustive_beam_ranks_all_sentences_as_brute_force_does(
    model, contexts, allow_unknown
):
    how = {"max_length": 3, "allow_unknown": allow_unknown}
    options = Decoding("beam", beam_width=125, **how)
    found = SentenceDecoder(model, options)(contexts, len(contexts), 125)
    for context, sentences in zip(contexts, found):
        every = list(model.sentences(3, options.forbidden))
        every.sort(key=lambda ids: -allowed_log_prob(model, ids, context, options))
        assert [ids_of(sentence) for sentence in sentences] == every


def allowed_log_prob(model, ids, context, options):
    """Return log p(ids) where forbidden words have no share of any step."""
    total = 0.0
    allowed = [w for w in range(SIZE) if w not in options.forbidden]
    for i, word in enumerate(ids):
        steps = [model.log_prob((*ids[:i], w), context) for w in allowed]
        total += log_softmax(steps)[allowed.index(word)]
    return total


def test_sampled_sentences_have_the_frequencies_of_their_probabilities(model, contexts):
    written = write(model, contexts[:1], number=4000, max_length=2, seed=1)[0]
    every = list(model.sentences(2, [PAD, GO]))
    counts = [0] * len(every)
    for sentence in written:
        counts[every.index(ids_of(sentence))] += 1
    p = np.exp(np.float64([model.log_prob(ids, contexts[0]) for ids in every]))
    assert chisquare(counts, p / p.sum() * len(written)).pvalue > 0.01


@pytest.mark.parametrize("cutoffs", [(8, 14), (2, 9)], ids=["in head", "in tail"])
@pytest.mark.parametrize("temperature", [1.0, 1.3])
@pytest.mark.parametrize("allow_unknown", [True, False])
def test_an_adaptive_softmax_s_words_have_the_law_of_all_its_log_probs(
    rng, cutoffs, temperature, allow_unknown
):
    """Of all words but the forbidden ones, which lie in the head or in a tail."""
    model = randomise(tiny.untrained("lstm", cutoffs=cutoffs), rng, 0.8)
    how = {"allow_unknown": allow_unknown, "max_length": 1}
    options = Decoding(temperature=temperature, **how)
    [written] = SentenceDecoder(model, options)((), 1, number=5000, seed=3)
    word, _ = model.step(tf.constant([GO]), *model.initial_state((), 1))
    log_p = word.log_probs()[0].numpy()
    names = model.vocabulary.words
    words = [names.index(s.words[0]) if s.words else EOS for s in written]
    told = [sentence.log_probability for sentence in written]
    np.testing.assert_allclose(told, log_p[words], rtol=1e-5)
    allowed = np.setdiff1d(range(len(names)), options.forbidden)
    expected = np.exp(log_softmax(np.float64(log_p[allowed]) / temperature)) * 5000
    counts = np.bincount(words, minlength=len(names))[allowed]
    assert chisquare(counts, expected).pvalue > 0.001


@pytest.mark.parametrize(
    ("options", "support"),
    [
        ({"top_k": 1}, {4}),
        ({"top_k": 2}, {4, 3}),
        ({"top_k": 99}, {0, 1, 2, 3, 4}),
        ({"top_p": 0.39}, {4}),
        ({"top_p": 0.41}, {4, 3}),
        ({"top_p": 0.71}, {4, 3, 2}),
        ({"top_k": 2, "top_p": 0.5}, {4}),  # of two words, 4 has 4/7 of the mass
        ({"top_p": 1.0}, {0, 1, 2, 3, 4}),
    ],
)
def test_top_k_and_top_p_keep_exactly_the_most_probable_words(options, support):
    log_probs = np.log(np.tile(np.float32([0.05, 0.05, 0.2, 0.3, 0.4]), [2000, 1]))
    assert set(draw(tf.constant(log_probs), [3, 4], **options).numpy()) == support


@pytest.mark.parametrize("method", ["greedy", "sample", "beam"])
def test_a_sentence_continues_its_prompt(model, contexts, method):
    """The words after a prompt are those of a model that has read it."""
    options = {"prompt": [4, 6, 5], "method": method, "max_length": 2}
    for context, [sentence] in zip(contexts, write(model, contexts, **options)):
        ids = ids_of(sentence)
        assert ids[:3] == (4, 6, 5)
        assert len(ids) <= 5
        expected = model.log_prob(ids, context)
        assert sentence.log_probability == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("method", ["greedy", "sample", "beam"])
@pytest.mark.parametrize("allow_unknown", [True, False])
def test_forbidden_words_never_come_out(model, contexts, method, allow_unknown):
    model.scores[..., [PAD, GO, UNK]] = 5
    options = Decoding(method=method, allow_unknown=allow_unknown, max_length=10)
    number = options.copies(50) if method == "sample" else 1
    forbidden = {WORDS[i] for i in options.forbidden}
    written = SentenceDecoder(model, options)(contexts, len(contexts), number)
    words = [word for group in written for s in group for word in s.words]
    assert words
    assert not forbidden.intersection(words)
    assert ("<unk>" in words) == allow_unknown


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_a_sentence_does_not_depend_on_its_batch(model, contexts, method):
    """Finished sentences run along with unfinished ones and disturb nothing."""
    together = write(model, contexts, method=method)
    alone = [write(model, c[None], method=method)[0] for c in contexts]
    assert len({len(group[0].words) for group in together}) > 1
    for [sentence], [other] in zip(together, alone):
        assert (sentence.words, sentence.ended) == (other.words, other.ended)
        assert sentence.log_probability == pytest.approx(other.log_probability)


def test_the_maximum_length_cuts_a_sentence_and_says_so(model, contexts):
    model.scores[..., EOS] = -30
    for method in ("greedy", "sample", "beam"):
        for [sentence] in write(model, contexts, method=method, max_length=7):
            assert len(sentence.words) == 7
            assert not sentence.ended


def test_a_seed_gives_the_same_sentences_again(model, contexts):
    decoder = SentenceDecoder(model, Decoding(**tiny.AS_IT_IS, max_length=10))
    first = decoder(contexts, 3, 20, seed=7)
    assert decoder(contexts, 3, 20, seed=7) == first
    assert decoder(contexts, 3, 20, seed=8) != first
    assert write(model, contexts, number=20, seed=7, max_length=10) == first
    assert all(len(set(map(str, group))) > 10 for group in first)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("method", "best"),
        ("temperature", 1e-40),
        ("top_k", 0),
        ("top_p", 1.5),
        ("beam_width", 0),
        ("max_length", 0),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value):
    with pytest.raises(ValueError, match=setting):
        Decoding(**{setting: value})
