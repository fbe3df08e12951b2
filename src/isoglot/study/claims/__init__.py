"""The claims of Wu et al. (2020) and Liu et al. (2020), and verdicts on them from the numbers of a study.

``verify(numbers, "wu2020")`` tests W1 to W17, ``verify(numbers, "liu2020")`` L1 to L9. A claim whose numbers are
missing is "not run" and says which ones are missing.

A claim reads numbers by measure and coordinates. Beside ``seed``, ``pair`` and ``depth``, which every number may have,
a number must have the coordinates in this table and no other: one with ``tokens`` (a measurement during training) or
with a coordinate of a recipe's own is shown in tables and not read by claims.

=====================  ========================================  ===================================================
measure                coordinates                               read by
=====================  ========================================  ===================================================
nli, ner, parsing      arm, language                             W1 to W8, W16, W17 (Table 1)
nli, ner, parsing      arm, language, variant                    their floors; beside W6, W7, W16: frozen-l1-3 …
ner, parsing           arm, language, layer                      W11: arm bilingual
ner, parsing           arm, language, layer, map                 W11: arm monolingual, map procrustes
ner, parsing           arm, language, layer, variant             W11: floor, arm bilingual, variant untrained
word_p1                system, vectors, language, layer          W9 (layer 0), W10: system encoder
word_p1                system, vectors, language                 W9, W10: system fasttext
sentence_p1            arm, language, layer, map                 W12, W14: arm monolingual, map procrustes
cka                    arm, language, layer, estimator           W13, W14, W15
word_mrr, nli          system, language, sentences, window       L1, L2, L3, L9: system encoder
word_mrr, nli          system, language, sentences               L1, L3, L9: systems word2vec, glove
word_mrr, nli          system, language, variant                 their floor: system encoder, variant untrained
convert_rate           source, target, layer, alpha              L4, L5
outside_share          source, target, layer, alpha              L5
bleu1                  source, target, layer, alpha              L6
nli                    arm, language                             L7: arms tune-all, tune-upper, tune-upper+shift
nli                    arm, language, variant                    L7: floor, arm tune-all, variant untrained
other_language_share   source, alpha                             L8: source en, alpha 0
perplexity, ids_read   arm, language                             floors of W13, W15 (arm default), L4 to L6, L8
=====================  ========================================  ===================================================

- ``nli``, ``ner``, ``parsing`` and ``bleu1`` are in points from 0 to 100, all others from 0 to 1.
- ``arm`` in Table 1: ``default``, ``wiki-cc``, ``no-anchors``, ``default-anchors``, ``extra-anchors``, ``sep-emb``,
  ``sep-l1-3``, ``sep-l1-6``, ``sep-emb+l1-3``, ``sep-emb+l1-6``; and ``default-cut``, the Default of W1 where the text
  of Wiki-CC is smaller. In Figure 7: ``bilingual``, ``monolingual``, ``random``.
- ``variant`` is missing for an arm as it is, ``untrained`` for its floor: same vocabulary and plan, before training.
  ``frozen-l1-3``, ``frozen-l1-6`` and ``frozen-emb+l1-6`` of ``default``: the parts that are frozen in fine-tuning
  the Sep arms of these names are frozen in Default as well.
- ``language`` is the language that was tested; English and English under a private tag (en') are left out.
- ``layer`` counts from 0, the embeddings; give ``depth``, the number of layers, unless the last layer was measured.
- ``map``: ``procrustes``; missing without a map. ``estimator`` of CKA: ``paper`` decides; others stand beside it.
- ``vectors``: ``embeddings``, rows of the embedding matrix (words of one subword), or ``contexts``, averages over
  contexts; fastText's numbers have the same, because it is cut to the same words.
- ``window``: longest input in tokens; the shortest and the longest are compared.
- ``alpha``: 0 is no shift. L4 needs 3 and at least one more above 0, L5 at least one below 0.
- ``seed``: give it wherever a model was trained. Numbers of several seeds are averaged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.core.lazy import lazy_exports

if TYPE_CHECKING:
    from isoglot.study.claims.evidence import Claim as Claim
    from isoglot.study.claims.printed_numbers import paper_numbers as paper_numbers
    from isoglot.study.claims.verdicts import Difference as Difference
    from isoglot.study.claims.verdicts import Verdict as Verdict
    from isoglot.study.claims.verdicts import against as against
    from isoglot.study.claims.verdicts import claims_of as claims_of
    from isoglot.study.claims.verdicts import expected as expected
    from isoglot.study.claims.verdicts import verdict_table as verdict_table
    from isoglot.study.claims.verdicts import verify as verify

__getattr__, __dir__, __all__ = lazy_exports(__name__)
