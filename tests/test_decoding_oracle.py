"""The decoder beside those of tensorflow_addons: same words, same log p."""

import numpy as np
import pytest
import tensorflow as tf
import tiny
from second_order import SIZE, SecondOrderModel

from tcnlm.generation.decoding import Decoding, Sentence, SentenceDecoder, draw
from tcnlm.preprocessing.vocabulary import EOS, GO, PAD

tfa = pytest.importorskip("tensorflow_addons")

ROWS, SEED = 3, 2**40 + 5
METHODS = {
    "greedy": {"method": "greedy"},
    "sampling": {"temperature": 1.3},  # at 1 tails have draws of their own
    "top-k and top-p": {"temperature": 1.7, "top_k": 6, "top_p": 0.8},
    "beam search": {"method": "beam", "beam_width": 6},
    "a wide beam": {"method": "beam", "beam_width": 50, "max_length": 4},
    "a beam without <unk>": {"method": "beam", "allow_unknown": False},
}


class Cell(tf.keras.layers.Layer):
    """A model's `step` as the RNN cell that tfa's decoders drive."""

    def __init__(self, model, options, context, rows):
        super().__init__()
        # Keras would wrap nests among a layer's attributes, which tfa does not take.
        self.start = model.initial_state(context, rows).__iter__
        self.model_step, self.never = model.step, options.forbidden
        self.output_size = tf.TensorShape([len(model.vocabulary.words)])
        self.state_size = [x.shape[1:] for x in self.get_initial_state()]

    def get_initial_state(self, **_):
        return tf.nest.flatten(tuple(self.start()))

    def call(self, token, flat):
        state, context = tf.nest.pack_sequence_as(tuple(self.start()), flat)
        word, state = self.model_step(token, state, context)
        log_probs = word.log_probs()
        never = np.isin(np.arange(self.output_size[0]), self.never)
        log_probs = tf.where(never, -np.inf, log_probs)
        return log_probs, tf.nest.flatten((state, context))


class Sampler(tfa.seq2seq.SampleEmbeddingSampler):
    """tfa's sampler, its words drawn by `draw` from the seed of each step."""

    def __init__(self, options):
        super().__init__(tf.identity)
        self.options = options.temperature, options.top_k, options.top_p

    def sample(self, time, outputs, state):
        seeds = tf.constant([SEED, 0], tf.int64)
        seed = tf.random.experimental.stateless_fold_in(seeds, time)
        return draw(outputs, seed, *self.options)


def decoded(decoder, cell, options, rows):
    outputs, state, _ = tfa.seq2seq.dynamic_decode(
        decoder,
        maximum_iterations=options.max_length,
        decoder_init_kwargs={
            "start_tokens": tf.fill([rows], GO),
            "end_token": EOS,
            "initial_state": cell.get_initial_state(),
        },
    )
    return outputs, state


def oracle(model, options, context):
    """Return the sentences of every row of a context."""
    width = options.beam_width if options.method == "beam" else 1
    context = tf.nest.map_structure(lambda x: tf.repeat(x, width, axis=0), context)
    cell = Cell(model, options, context, ROWS * width)
    if options.method == "beam":
        decoder = tfa.seq2seq.BeamSearchDecoder(cell, width, embedding_fn=tf.identity)
        outputs, state = decoded(decoder, cell, options, ROWS)
        ids, log_probs = tf.transpose(outputs.predicted_ids, [0, 2, 1]), state.log_probs
    else:
        greedy = tfa.seq2seq.GreedyEmbeddingSampler(tf.identity)
        sampler = greedy if options.method == "greedy" else Sampler(options)
        decoder = tfa.seq2seq.BasicDecoder(cell, sampler)
        outputs, _ = decoded(decoder, cell, options, ROWS)
        ids = outputs.sample_id
        before = tf.cumsum(tf.cast(ids == EOS, tf.int32), axis=1, exclusive=True)
        chosen = tf.gather(outputs.rnn_output, ids, batch_dims=2)
        log_probs = tf.reduce_sum(tf.where(before == 0, chosen, 0.0), axis=1)[:, None]
        ids = tf.where(before == 0, ids, PAD)[:, None]
    return [
        [sentence(model, *pair) for pair in zip(*group)]
        for group in zip(ids.numpy(), log_probs.numpy())
    ]


def sentence(model, ids, log_prob):
    words = [model.vocabulary.words[i] for i in ids if i > EOS]
    return Sentence(words, float(log_prob), bool((ids == EOS).any()))


def second_order():
    rng = np.random.default_rng(5)
    scores = rng.normal(scale=1.5, size=(SIZE, SIZE, SIZE))
    contexts = rng.normal(scale=0.7, size=(ROWS, SIZE))
    return SecondOrderModel(scores), tf.constant(contexts, tf.float32)


def composed():
    model = tiny.make_model()
    return model, tf.one_hot(range(ROWS), model.config.num_topics)


@pytest.mark.parametrize("made", [second_order, composed])
@pytest.mark.parametrize("method", METHODS)
def test_sentences_are_those_of_tensorflow_addons(made, method):
    model, context = made()
    options = Decoding(**METHODS[method])
    number = options.copies(1)
    groups = SentenceDecoder(model, options)(context, ROWS, number, seed=SEED)
    found, expected = sum(groups, []), sum(oracle(model, options, context), [])
    assert [(s.words, s.ended) for s in found] == [(s.words, s.ended) for s in expected]
    log_probs = [[s.log_probability for s in each] for each in (found, expected)]
    np.testing.assert_allclose(*log_probs, rtol=1e-5)
    assert len(set(map(str, found))) > 1
