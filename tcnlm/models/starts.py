"""What is set before the first joint step: embeddings, topics, a topic model's lead."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain, count
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.process import progress_bar
from tcnlm.common.settings import as_text
from tcnlm.data import word_vectors
from tcnlm.data.dataset import Dataset, Split
from tcnlm.data.rows import DocumentContexts
from tcnlm.data.word_vectors import WordVectors, starting_vectors
from tcnlm.layers.noise import Noise
from tcnlm.layers.optimization import GroupedAdam, decay, weights_of
from tcnlm.layers.tf_function import graph
from tcnlm.models import lda
from tcnlm.models.nmf import nmf_topics
from tcnlm.models.seeds import check_seeds, seeded_start
from tcnlm.models.topics import describe_topics, top_words
from tcnlm.preprocessing.vocabulary import SPECIALS
from tcnlm.preprocessing.warnings import warn

FITTED_SHARE = 0.7  # of a fit's topics where beta starts; the frequencies have the rest
SMALLEST = 1e-30  # probability that a topic starts with
CLUSTER_SCALE = 2.0  # logits a deviation of the similarity; 1 to 3 are much alike
TOPIC_PRETRAIN_BATCH = 64  # contexts
TOPIC_PRETRAIN_CLIP = 5.0


def check_starts(model: Any) -> None:
    """Raise InputError, before anything is written, for what cannot be started from."""
    config, words = model.config, len(model.vocabulary.topic_words)
    if hasattr(config, "embeddings"):
        known = model.vocabulary.words[len(SPECIALS) :]
        word_vectors.check_source(config.embeddings, config.embedding_size, known)
        unread = hasattr(config, "topic_start") and not hasattr(model, "embedding")
        if unread and config.embeddings != "train" and config.topic_start != "vectors":
            raise InputError(
                f"embeddings={config.embeddings}: only topic_start=vectors reads them; "
                "set that too, or leave it out"
            )
    if getattr(config, "topic_start", "") == "vectors" and config.num_topics > words:
        raise InputError(
            f"num_topics={config.num_topics}: topic_start=vectors makes as many "
            f"clusters of the {words} topic words; lower it"
        )
    for setting in ("fit=gibbs", "topic_start=lda"):
        name, _, value = setting.partition("=")
        if getattr(config, name, "") == value:
            lda.tomotopy(setting)
    warn(check_seeds(config, model.vocabulary))


def start_embeddings(model: Any, dataset: Dataset) -> WordVectors:
    """Put in the vectors to start from and return them; none: random ones stay."""
    source, size = model.config.embeddings, model.config.embedding_size
    if source == "random":
        return {}
    vectors = starting_vectors(source, dataset, size, model.initial_seed)
    table = model.embedding.embeddings
    table.assign(word_vectors.fill(table.numpy(), vectors))
    return vectors


def start_topics(model: Any, dataset: Dataset, vectors: WordVectors) -> None:
    """Start beta where `topic_start` says, by vectors if any; print how good it is."""
    config, vocabulary = model.config, model.vocabulary
    frequencies = np.log(np.maximum(vocabulary.topic_counts, 1.0))
    if config.topic_start == "frequencies":
        # Topics that start as noise alone race for the common words, and the first to
        # have them wins every document.
        model.decoder.start_from(model.decoder.logits + frequencies)
    elif config.topic_start == "vectors":
        size = config.embedding_size
        if not vectors:
            source = "train" if config.embeddings == "random" else config.embeddings
            vectors = starting_vectors(source, dataset, size, model.initial_seed)
        ids, none = vocabulary.ids(vocabulary.topic_words), np.zeros(size)
        table = np.stack([vectors.get(word, none) for word in ids])
        near = word_vectors.similarities(table, config.num_topics, model.initial_seed)
        model.decoder.start_from(frequencies + CLUSTER_SCALE * near)
    elif config.topic_start in ("nmf", "lda"):
        topics = _fitted(model, dataset.split("train"))
        shares = np.exp(frequencies) / np.exp(frequencies).sum()
        mixed = FITTED_SHARE * topics + (1 - FITTED_SHARE) * shares
        model.decoder.start_from(np.log(mixed))
    if model.seeds is not None:
        started = seeded_start(np.maximum(model.topics(), SMALLEST), model.seeds)
        model.decoder.start_from(np.log(started))
    print(f"topics where they start: {describe_topics(model, dataset)}")


def _fitted(model: Any, split: Split) -> np.ndarray:
    words, K = model.vocabulary.topic_words, model.config.num_topics
    seed = model.initial_seed
    if model.config.topic_start == "nmf":
        return nmf_topics(split.contexts.counts(len(words)), K, seed)[0]
    weights = lda.gibbs(split, words, lda.Config(num_topics=K), seed)
    return weights / weights.sum(axis=1, keepdims=True)


def pretrain_topics(
    model: Any, dataset: Dataset, terms_of: Callable, loss_of: Callable
) -> None:
    """Take steps up eq. 17's first two terms, the topic model's own bound.

    So that the proportions mean something when the language model first sees them.
    """
    config, steps = model.config, model.config.topic_pretrain_steps
    if not steps:
        return
    inference = weights_of(model.encoder, model.proportions)
    weights = [inference, model.decoder.trainable_variables]
    optimizer = GroupedAdam(
        list(zip(weights, config.topic_pretrain_rates)),
        TOPIC_PRETRAIN_CLIP,
        schedule=decay(config.topic_pretrain_decay, steps),
    )
    contexts = tf.TensorSpec([None, None], tf.int32)
    numbers = tf.TensorSpec([], tf.int32), tf.TensorSpec([])

    @partial(graph, input_signature=[contexts, *numbers])
    def step(context, number, kl_weight):
        noise = Noise(model.initial_seed, number, "pretraining")
        with tf.GradientTape() as tape:
            _, terms = terms_of(model, {"context": context}, noise)
            loss = loss_of(model, terms, kl_weight)
        optimizer.descend(tape.gradient(loss, weights))
        return loss

    whole = config.topic_rows == "document"
    kind = DocumentContexts() if whole else model.batching
    rows, seed = kind.rows(dataset.split("train")), model.initial_seed
    batches = (rows.batches(TOPIC_PRETRAIN_BATCH, seed, epoch) for epoch in count())
    shown = progress_bar(range(steps), "topics alone")
    for number, batch in zip(shown, chain.from_iterable(batches)):
        kl_weight = min(1.0, 1.5 * number / steps)
        loss = step(batch["context"], tf.constant(number), tf.constant(kl_weight))
    if not np.isfinite(loss):
        rates = as_text(config.topic_pretrain_rates)
        raise InputError(
            f"topic_pretrain_rates={rates}: the topic model diverged; lower them"
        )
    print(f"topics after {steps:,} steps alone: {describe_topics(model, dataset)}")
    for topic, words in enumerate(top_words(model, 10)):
        print(f"{topic:5}  {' '.join(words)}")
