"""Sentences as CoNLL-U trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoglot.text.conllu import MultiwordToken, Tree, TreeWord

if TYPE_CHECKING:
    from isoglot.languages.sentence import Sentence


def tree_of(sentence: Sentence, sentence_id: str) -> Tree:
    """The sentence's tree, with the comments Universal Dependencies asks for; names stand in the last column."""
    last = len(sentence.words)
    words = []
    for position, (form, lemma, tag, head, relation, entity) in enumerate(
        zip(
            sentence.words,
            sentence.lemmas,
            sentence.tags,
            sentence.heads,
            sentence.relations,
            sentence.entities,
            strict=True,
        ),
        start=1,
    ):
        fused = any(first <= position <= end for first, (end, _) in sentence.fused.items())
        misc = _misc(entity, glued=position in sentence.glued and not fused and position < last)
        words.append(TreeWord(position, form, lemma, tag, head=head, deprel=relation, misc=misc))
    multiwords = tuple(
        MultiwordToken(first, end, form, misc=_misc("O", glued=end in sentence.glued))
        for first, (end, form) in sorted(sentence.fused.items())
    )
    return Tree(tuple(words), multiwords, comments=(f"# sent_id = {sentence_id}", f"# text = {sentence.text}"))


def _misc(entity: str, *, glued: bool) -> str:
    facts = ([f"Entity={entity}"] if entity != "O" else []) + (["SpaceAfter=No"] if glued else [])
    return "|".join(facts) or "_"
