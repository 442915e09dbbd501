"""Settings of every model that reads words, TCNLM's among them (section 3.2, 5)."""

from __future__ import annotations

from dataclasses import dataclass

from tcnlm.common.settings import Settings, setting

# fmt: off


@dataclass(frozen=True)
class EmbeddingSettings(Settings):
    """Section 3.2, of every model that reads words."""

    embedding_size: int = setting(
        300, "numbers of a word's vector; Lau et al. 2017, TCNLM's not stated", least=1)
    embedding_scale: float = setting(
        1.0, "embeddings start in U(-scale, scale); docs/deviations.md", above=0)
    embeddings: str = setting(
        "random", 'where they start: "random", "train" (word2vec) or a word2vec file')
    dropout: float = setting(
        0.4, "share dropped of embeddings and layers' outputs; paper", least=0, below=1)
    learning_rate: float = setting(1e-3, "of Adam; Lau et al. 2017", above=0)


@dataclass(frozen=True)
class SoftmaxSettings(Settings):
    """Section 5: the adaptive softmax."""

    cutoffs: tuple[int, ...] = setting(
        (2000, 10000), "ranks where the softmax's tails begin; Grave et al. 2016",
        least=1, rising=True)
    div_value: float = setting(
        4.0, "each tail has this many times fewer dimensions; the same", least=1)


@dataclass(frozen=True)
class WordSettings(EmbeddingSettings):
    """Section 3.2, of recurrent layers."""

    units: int = setting(600, "hidden units; paper: 600 small, 900 large", least=1)
    layers: int = setting(1, "LSTMs; paper: 1 small, 2 large", least=1, most=100)

# fmt: on
