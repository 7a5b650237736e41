"""Share of the probability that stays as words are kept at random, the more likely the more important they are.

Family: faithfulness
Range: 0 to 1
Direction: higher is better
Definition: each word is kept with the chance a: the text's scores stretched to 0 … 1, then raised or lowered together
    and cut at 0 and 1 until their mean is the option `rate`. The value is 1 less the mean over `draws` of the drop
    p(whole text) - p(words that are kept), divided by the drop p(whole text) - p(no words) and cut at 0 and 1, p being
    the probability of the explained class. The draws are the same for all methods. No value where the text has no
    words, or where without words the class is as probable (to 1e-6).
Citation: Zhao and Aletras, Incorporating Attribution Importance for Improving Faithfulness Metrics, ACL 2023, there
    Soft-NS, of which higher is better too. Checked against public code after their equations: theirs keeps single
    elements of a word's vector, here whole words are kept, in every way of hiding, which needs no vectors. They take a
    as it is, which favours methods with scores that are high throughout; here all methods keep the same mean share.
    Theirs can be below 0.
Limits: values of two models do not compare, for each has limits of its own (Edin et al., ACL 2025). Half of the words
    of a text are far from any training text, and the model may react to the gaps. Methods that hide words themselves do
    well by construction (Ju et al., Logic Traps, 2021). Unlike with sufficiency the size of scores counts, not their
    order alone; cutting makes the largest and the smallest alike. Chance weighs more in short texts, and a text of one
    word has the same value for all methods. Small drops without words blow up differences.
"""

from __future__ import annotations

from vmask.metrics import METRICS
from vmask.metrics._soft import SoftDrops


@METRICS.register("soft_sufficiency")
class SoftSufficiency(SoftDrops):
    """What stays with the words that are drawn."""

    hidden = False
