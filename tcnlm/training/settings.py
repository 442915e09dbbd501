"""Settings of the training loop, the same for every model."""

from __future__ import annotations

from dataclasses import dataclass

from tcnlm.data.contexts import RULES
from tcnlm.settings import Settings, setting

DECAYS = ("constant", "linear", "cosine")  # of a rate; the others end at zero


@dataclass(frozen=True)
class Training(Settings):
    """Settings of the training loop, the same for every model."""

    batch_size: int = setting(64, "sequences; Lau et al. 2017", least=1)
    epochs: int = setting(20, "at most; TCNLM's are not stated", least=1)
    judge: str = setting(
        "", "measure by which weights are kept and it ends; empty: the model's own"
    )
    evaluation_steps: int = setting(
        0, "batches between evaluations; one after every epoch too", least=0
    )
    patience: int = setting(
        2, "evaluations without a better figure before the end", least=1
    )
    context: str = setting(
        "data",
        'rule of the contexts; "data" is the one DATA was made with; "read" leaves all '
        "words before the row's own",
        choices=("data", *RULES),
    )
    clip_norm: float = setting(
        5.0, "of each group's gradient; Lau et al. 2017", above=0
    )
    decay: str = setting(
        "constant",
        "of the rates; or 'linear', 'cosine' to 0 at `epochs`' end",
        choices=DECAYS,
    )
    lazy_adam: bool = setting(
        False, "leave embeddings that a batch does not touch as they are"
    )
    deterministic: bool = setting(
        True, "kernels that give the same every time; on a GPU others are faster"
    )
    checkpoint_minutes: float = setting(
        10.0, "between checkpoints; one after every epoch too", least=0
    )
    checkpoint_steps: int = setting(
        0, "batches between checkpoints; 0 goes by minutes alone", least=0
    )
