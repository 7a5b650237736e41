"""Drop in probability without the most important words, by share of the text: are all that matter among them?

Family: faithfulness
Range: -1 to 1
Direction: higher is better
Definition: for each of the `percents` p(whole text) - p(text without that share of its words, the most important), p
    being the probability of the explained class. The number of words is rounded up, so at least one is hidden. `mean`
    is the mean over the shares. With the option `soft`, and words hidden by zero, the part `soft` scales each word's
    vector by 1 - s, s being the text's scores stretched to 0 … 1 (one half each where all are equal). A text without
    words has no value.
Citation: DeYoung et al., ERASER, ACL 2020. They too round up. The sum in their paper is divided by one more than the
    number of shares, in their code, as here, by their number. `soft`: Zhao and Aletras, ACL 2023, draw random masks;
    this is the answer to the mean of those masks, and it is not normalised.
Limits: values of two models do not compare, for each has limits of its own (Edin et al., ACL 2025). Texts with hidden
    words are unlike the training texts, and a model can be made to react to that (Hsia et al., EACL
    Findings 2024). Methods that hide words themselves do well by construction (Ju et al., Logic Traps, 2021). In a
    short text many shares are the same one or two words, which then count more than once in the mean. `soft` also
    rewards scores that are high throughout.
"""

from __future__ import annotations

from vmask.metrics import METRICS
from vmask.metrics._shares import ShareDrops


@METRICS.register("comprehensiveness")
class Comprehensiveness(ShareDrops):
    """The drop without the top words."""

    hidden = True
