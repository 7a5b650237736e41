"""Drop in probability with the most important words alone, by share of the text: are they enough?

Family: faithfulness
Range: -1 to 1
Direction: lower is better
Definition: for each of the `percents` p(whole text) - p(that share of its words alone, the most important), p being the
    probability of the explained class. The number of words is rounded up, so at least one is kept. `mean` is the mean
    over the shares. With the option `soft`, and words hidden by zero, the part `soft` scales each word's vector by s,
    the text's scores stretched to 0 … 1 (one half each where all are equal). A text without words has no value.
Citation: DeYoung et al., ERASER, ACL 2020. They too round up. The sum in their paper is divided by one more than the
    number of shares, in their code, as here, by their number. `soft`: Zhao and Aletras, ACL 2023, draw random masks;
    this is the answer to the mean of those masks, and it is not normalised.
Limits: values of two models do not compare, for each has limits of its own (Edin et al., ACL 2025). A few words alone
    are far from any text that the model was trained on, farther than with comprehensiveness, and a model can be made
    to answer to that (Hsia et al., EACL Findings 2024). It can be below 0: alone the words may speak more clearly.
    Methods that hide words themselves do well by construction (Ju et al., Logic Traps, 2021). In a short text many
    shares are the same one or two words. `soft` also rewards scores that are high throughout.
"""

from __future__ import annotations

from vmask.metrics import METRICS
from vmask.metrics._shares import ShareDrops


@METRICS.register("sufficiency")
class Sufficiency(ShareDrops):
    """The drop with the top words alone."""

    hidden = False
