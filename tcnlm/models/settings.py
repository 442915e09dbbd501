"""The settings that systems share: all of TCNLM's but those of its cell."""

from __future__ import annotations

from dataclasses import dataclass

from tcnlm.common.settings import Settings, setting
from tcnlm.layers.optimization import DECAYS

# With which tests sweep over all systems.
SMALL_WORDS = {"units": 6, "layers": 2, "embedding_size": 5, "cutoffs": (12,)}
SMALL_TOPICS = {"num_topics": 3, "encoder_units": (7, 7), "topic_pretrain_steps": 9}

# fmt: off


@dataclass(frozen=True)
class EmbeddingSettings(Settings):
    """Section 3.2, of every model that reads words."""

    embedding_size: int = setting(
        300, "size of word embeddings; Lau et al. 2017, TCNLM's not stated", least=1)
    embedding_scale: float = setting(
        1.0, "embeddings start in U(-scale, scale); docs/deviations.md", above=0)
    embeddings: str = setting(
        "random", 'initial ones: "random", "train" (word2vec) or a word2vec file')
    dropout: float = setting(
        0.4, "dropout rate of embeddings and layers' outputs; paper", least=0, below=1)
    learning_rate: float = setting(1e-3, "Adam's; Lau et al. 2017", above=0)


@dataclass(frozen=True)
class SoftmaxSettings(Settings):
    """Section 5: the adaptive softmax."""

    cutoffs: tuple[int, ...] = setting(
        (2000, 10000), "ranks where the softmax's tails begin; Grave et al. 2016",
        least=1, rising=True)
    div_value: float = setting(
        4.0, "factor by which each tail has fewer dimensions; the same", least=1)


@dataclass(frozen=True)
class WordSettings(EmbeddingSettings):
    """Section 3.2, of recurrent layers."""

    units: int = setting(600, "hidden units; paper: 600 small, 900 large", least=1)
    layers: int = setting(1, "LSTMs; paper: 1 small, 2 large", least=1, most=100)


@dataclass(frozen=True)
class TopicSettings(Settings):
    """Section 3.1: the neural topic model."""

    num_topics: int = setting(100, "K; paper, Tables 2 to 4: 50, 100, 150", least=1)
    latent_size: int = setting(
        0, "dimensions of theta, not stated; 0: as many as topics", least=0)
    encoder_units: tuple[int, ...] = setting(
        (256, 256), "ReLU units of the encoder's layers; paper, section 5", least=1)
    encoder_input: str = setting(
        "log", "the encoder's input of a count; paper: counts",
        choices=("counts", "log", "frequencies"))
    encoder_dropout: float = setting(
        0.5, "share of words hidden from the encoder in training", least=0, below=1)
    log_variance: float = setting(0.0, "initial log sigma^2 of the encoder; not stated")
    mu_batchnorm_std: float = setting(
        0.0, "standard deviation of mu by batch normalisation; 0: none", least=0)
    prior_variance: float = setting(1.0, "sigma_0^2 of eq. 4, not stated", above=0)
    diversity_weight: float = setting(0.1, "lambda, eq. 18; paper, section 5", least=0)
    topic_rows: str = setting(
        "sentence", "bags that p(d | t) of eq. 16 and 17 rebuilds: with weight 1 "
        "every sentence's, or each document's once",
        choices=("sentence", "document"))
    topic_start: str = setting(
        "frequencies", "initial beta: the words' frequencies, alone or with, a "
        "topic each, clusters of word vectors or the topics of NMF or Gibbs' LDA",
        choices=("frequencies", "vectors", "nmf", "lda", "random"))
    seed_words: str = setting(
        "", "words that the first topics start from, see --seed-words")


@dataclass(frozen=True)
class JointSettings(TopicSettings, SoftmaxSettings, WordSettings):
    """Section 3.3: both models learned together."""

    topic_weight: float = setting(
        1.0, "weight of the topic model's loss; paper, eq. 17: 1", least=0)
    language_topics: str = setting(
        "drawn", "the sentence's t in training: the document's draw (paper), or g(mu)",
        choices=("drawn", "mean"))
    topic_learning_rate: float = setting(
        1e-3, "Adam's of encoder, W, beta, jointly; 0: they stay fixed", least=0)
    topic_pretrain_steps: int = setting(
        1500, "steps of the topic model alone before the joint ones", least=0)
    topic_pretrain_rates: tuple[float, ...] = setting(
        (2e-3, 1e-2), "Adam's in these: of encoder and W, of beta", least=0, length=2)
    topic_pretrain_decay: str = setting(
        "constant", "schedule of these rates; others fall to 0", choices=DECAYS)


# fmt: on
