"""The registry: every method by name, each in a file of its own."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tcnlm.common.errors import InputError

if TYPE_CHECKING:  # the registry alone needs no TensorFlow
    from tcnlm.models.base import Model

MODELS = {
    "bag_lstm": "tcnlm.models.lstm:BagLSTM",  # a control of no paper
    "docnade": "tcnlm.models.docnade:DocNADE",  # Larochelle and Lauly 2012
    "gbn_rnn": "tcnlm.models.gbn_rnn:GBNRNN",  # Guo et al. 2020
    "lclm": "tcnlm.models.lclm:LCLM",  # Wang and Cho 2016
    "lda": "tcnlm.models.lda:LDA",  # Blei et al. 2003
    "lda_lstm": "tcnlm.models.lstm:LDALSTM",  # Wang et al. 2018, section 5.1
    "lstm": "tcnlm.models.lstm:LSTM",  # the papers' basic-LSTM
    "naive_moe": "tcnlm.models.naive_moe:NaiveMoE",  # Wang et al. 2018, eq. 7
    "neural_topics": "tcnlm.models.neural_topics:NeuralTopicModel",  # the same, 3.1
    "nmf": "tcnlm.models.nmf:NMF",  # Xu et al. 2003
    "ntm": "tcnlm.models.ntm:NTM",  # Cao et al. 2015
    "rgbn_rnn": "tcnlm.models.gbn_rnn:RGBNRNN",  # the same
    "tdlm": "tcnlm.models.tdlm:TDLM",  # Lau et al. 2017
    "topic_lstm": "tcnlm.models.lstm:TopicLSTM",  # a control of no paper
    "topic_rnn": "tcnlm.models.topic_rnn:TopicRNN",  # Dieng et al. 2017
    "topic_transformer_xl": "tcnlm.models.transformer_xl:TopicTransformerXL",
    "transformer_xl": "tcnlm.models.transformer_xl:TransformerXL",  # Dai et al. 2019
    "tcnlm": "tcnlm.models.tcnlm:TCNLM",  # Wang et al. 2018
}


def model_class(name: str) -> type[Model]:
    """Return the class of a method; unknown names are refused, naming the known."""
    if name not in MODELS:
        raise InputError(f"no model {name!r}; there are {', '.join(sorted(MODELS))}")
    module, _, attribute = MODELS[name].partition(":")
    return getattr(import_module(module), attribute)
