"""Chinese: measure words, aspect instead of tense, what modifies before what is modified."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from isoglot.languages.grammars.chinese_forms import ChinesePhrases, Verb
from isoglot.languages.meaning import PLAIN, Asked, Both, Clause, Meaning, Name, Part, Phrase, Pronoun, Thing, Wording

if TYPE_CHECKING:
    from isoglot.languages.grammars.rendering import Position
    from isoglot.languages.sentence import Sentence

ABILITIES = frozenset(
    [
        *("sing", "sing_song", "dance_v", "play_music", "cook", "bake", "sew", "draw", "paint", "read", "write"),
        *("drive", "ride", "fly_v", "repair"),
    ]
)
"""Skills: 会 alone means ability, 她会唱歌, so the future takes 将会."""
BARE_OBJECTS = frozenset({"play_music"})  # verbs with a generic object: 演奏钢琴
SINGLE_TIMES = frozenset({None, "now", "today"})  # times of single events; with other times the present is habitual
DAY_PARTS = frozenset({"in_the_morning", "in_the_afternoon", "in_the_evening", "at_night"})
BEFORE_SUBJECT = frozenset({"every_day", "sometimes"})  # frequencies that may stand at the head of the sentence


class Chinese(ChinesePhrases):
    """The grammar of Chinese, written in simplified characters; its trees follow UD Chinese-GSDSimp."""

    language: ClassVar[str] = "zh"
    links: ClassVar[dict[str, str]] = {
        "and": "而", "but": "但是", "because": "因为", "when": "当", "although": "虽然",
    }  # fmt: skip
    comma_before: ClassVar[frozenset[str]] = frozenset({"and", "but", "because", "although"})
    comma: ClassVar[str] = "，"
    marks: ClassVar[tuple[str, str]] = ("。", "？")

    def render(self, meaning: Meaning, wording: Wording = PLAIN) -> Sentence:
        """The meaning as a sentence, written without blanks."""
        sentence = super().render(meaning, wording)
        sentence.glued = set(range(1, len(sentence.words) + 1))
        return sentence

    # --- two clauses ---

    def coordinate(self, sentence: Sentence, main: Clause, link: str, other: Clause) -> int:
        """Two clauses separated by a comma; *and* only in writing, where a repeated subject is dropped."""
        root = self.clause(sentence, main, "main")
        comma = self.punctuate(sentence, self.comma)
        unit = other.unit * 8 + Part.LINK
        same = _same(other.agent, main.agent)
        conjunction = 0
        if link == "but":
            conjunction = sentence.add("但是", "但是", "CCONJ", "cc", unit)
        elif sentence.meaning.register == "encyclopaedic":
            word = "并且" if same else "而"
            conjunction = sentence.add(word, word, "CCONJ", "cc", unit)
        second = self._clause(sentence, other, subject=not (same and conjunction and link == "and"))
        sentence.attach(second, root, "conj" if conjunction else "parataxis")
        sentence.attach(comma, second)
        if conjunction:
            sentence.attach(conjunction, second)
        return root

    def subordinate(self, sentence: Sentence, main: Clause, link: str, other: Clause) -> int:
        """*When* always comes first; *because* and *although* if the wording asks for it, and then in pairs."""
        if link == "when":
            return self._when(sentence, main, other)
        unit = other.unit * 8 + Part.LINK
        if not sentence.wording.link_first:
            root = self.clause(sentence, main, "main")
            comma = self.punctuate(sentence, self.comma)
            word = "因为" if link == "because" else "尽管"
            conjunction = sentence.add(word, word, "SCONJ", "mark", unit)
            second = self._clause(sentence, other)
        else:
            word = "因为" if link == "because" else "虽然"
            conjunction = sentence.add(word, word, "SCONJ", "mark", unit)
            second = self._clause(sentence, other, subject=not _same(other.agent, main.agent))
            comma = self.punctuate(sentence, self.comma)
            if link == "because":
                answer = sentence.add("所以", "所以", "SCONJ", "mark", unit)
            else:
                answer = sentence.add("但是", "但是", "CCONJ", "cc", unit)
            root = self.clause(sentence, main, "after")
            sentence.attach(answer, root)
        sentence.attach(conjunction, second)
        sentence.attach(second, root, "advcl")
        sentence.attach(comma, second)
        return root

    def _when(self, sentence: Sentence, main: Clause, other: Clause) -> int:
        """Written 当…时, conversational …的时候, *the time that …*; an adverb of time of both clauses comes first."""
        unit = other.unit * 8 + Part.LINK
        written = sentence.meaning.register == "encyclopaedic"
        before: list[int] = []
        if main.time:
            before.append(self.adverbial(sentence, main.time, main.unit * 8 + Part.TIME))
            if written:
                self.punctuate(sentence, self.comma, before[0])
        conjunction = sentence.add("当", "当", "SCONJ", "mark", unit) if written else 0
        # A subject that the main clause names is left out: 看见房子时，国王哭了.
        inner = self._clause(sentence, other, mood="when", subject=not _same(other.agent, main.agent))
        if written:
            sentence.attach(conjunction, inner)
            sentence.add("时", "时", "ADP", "mark", unit, inner)
            head, relation = inner, "advcl"
        else:
            sentence.add("的", "的", "SCONJ", "mark:rel", unit, inner)
            head, relation = sentence.add("时候", "时候", "NOUN", "dep", unit), "nmod:tmod"
            sentence.attach(inner, head, "acl:relcl")
        comma = self.punctuate(sentence, self.comma, head)
        root = self._clause(sentence, main, timed=False)
        sentence.attach(head, root, relation)
        sentence.attach(comma, head)
        return sentence.close(root, before)

    # --- one clause ---

    def clause(self, sentence: Sentence, clause: Clause, position: Position) -> int:
        """Subject, time, place and manner, verb, objects; a yes-no question ends in 吗."""
        asked = sentence.meaning.question and clause is sentence.meaning.main
        head = self._clause(sentence, clause, fronts=position == "main" and not asked)
        if asked and not any(isinstance(p, Asked) for p in (clause.agent, clause.patient, clause.place, clause.goal)):
            sentence.add("吗", "吗", "PART", "discourse:sp", clause.unit * 8 + Part.QUESTION, head)
        return head

    def _clause(
        self,
        sentence: Sentence,
        clause: Clause,
        *,
        mood: str = "",
        gap: Thing | None = None,
        subject: bool = True,
        fronts: bool = False,
        timed: bool = True,
    ) -> int:
        """The clause in a mood: ``when``; or ``agent`` or ``patient`` for a relative clause with that gap."""
        unit = clause.unit * 8
        before: list[int] = []
        first = fronts and sentence.wording.time_first
        if first:
            self._when_and_how_often(sentence, clause, before, front=True, rest=False)
        if clause.agent is not None and subject:
            # A statement about any such thing has no article: 苹果是红的.
            bare = clause.kind in {"property", "class"}
            before.append(self._phrase(sentence, clause.agent, "nsubj", bare=bare, some=self._some(clause)))
        self._when_and_how_often(sentence, clause, before, front=not first, rest=True, timed=timed)
        if clause.frequency == "every_day":
            before.append(sentence.add("都", "都", "ADV", "advmod", unit + Part.FREQUENCY))
        if clause.kind == "action":
            head = self._action(sentence, clause, mood, gap, before)
        elif clause.kind == "property":
            head = self._property(sentence, clause, mood, gap, before)
        else:
            head = self._is(sentence, clause, mood, before)
        sentence.close(head, before)
        if clause.complement is not None:
            sentence.attach(self._clause(sentence, clause.complement), head, "ccomp")
        return head

    def _when_and_how_often(
        self, sentence: Sentence, clause: Clause, before: list[int], *, front: bool, rest: bool, timed: bool = True
    ) -> None:
        """Append time, unless it is expressed already, and frequency (每天早上: the other way round)."""
        if not (clause.time or clause.frequency):
            return
        parts = [(clause.time if timed else None, Part.TIME), (clause.frequency, Part.FREQUENCY)]
        if clause.frequency == "every_day" and clause.time in DAY_PARTS:
            parts.reverse()
        for concept, part in parts:
            if concept and (front if part == Part.TIME or concept in BEFORE_SUBJECT else rest):
                before.append(self.adverbial(sentence, concept, clause.unit * 8 + part))

    def _some(self, clause: Clause) -> bool:
        """Whether a bare plural is specific rather than generic."""
        if clause.tense == "present" or clause.frequency:
            return False
        return clause.kind != "action" or self.verbs[clause.predicate][0].kind != "state"

    def _future_and_not(
        self, sentence: Sentence, clause: Clause, mood: str, before: list[int], negation: str, *, will: bool = False
    ) -> None:
        """会, or with ``will`` in writing 将, and the negation, which stands before 会; after *soon* 就会."""
        unit = clause.unit * 8
        future = clause.tense == "future" and mood != "when"
        soon = future and clause.time == "soon"
        written = sentence.meaning.register == "encyclopaedic" and not (clause.negative or sentence.meaning.question)
        will = will and future and written and not soon
        ability = future and clause.predicate in ABILITIES and clause.time is None and clause.place is None
        part = unit if clause.kind in {"action", "property"} else unit + Part.COPULA
        if soon:
            before.append(sentence.add("就", "就", "ADV", "advmod", unit + Part.TIME))
        if will or ability:
            before.append(sentence.add("将", "将", "ADV", "advmod", part))
        if clause.negative:
            word = "不" if future else negation
            before.append(sentence.add(word, word, "ADV", "advmod", unit + Part.NEGATION))
        if future and not will:
            before.append(sentence.add("会", "会", "AUX", "aux", part))

    def _action(self, sentence: Sentence, clause: Clause, mood: str, gap: Thing | None, before: list[int]) -> int:
        unit = clause.unit * 8
        verb = self._verb(sentence, clause, gap)
        patient = clause.patient
        # One syllable alone does not make a predicate: not 孩子将哭, nor 孩子哭 for what is going on.
        alone = len(verb.word) == 1 and not (patient or clause.goal or clause.place or clause.manner or mood)
        under_way = self._is_under_way(sentence, clause, verb, alone=alone)
        not_yet = verb.kind in {"end", "turn"} or under_way or (verb.kind != "state" and clause.tense == "past")
        did_not = "没" if sentence.meaning.register == "conversational" else "没有"
        self._future_and_not(sentence, clause, mood, before, did_not if not_yet else "不", will=not alone)
        place_first = clause.place is not None and verb.place not in {"在>", ">"}
        if under_way and clause.time == "now" and not clause.negative:
            before.append(sentence.add("正", "正", "ADV", "advmod", unit))
        if under_way and not place_first:
            # Of two 在, one of the progressive and one of the place, only one is used: 正在花园里.
            before.append(sentence.add("在", "在", "ADV", "advmod", unit))
        if clause.place is not None and place_first:
            before.append(self._place(sentence, clause.place, "在", "obl"))
        if clause.instrument is not None:
            before.append(self._phrase(sentence, clause.instrument, "obl", "用", bare=True))
        if clause.manner:
            before.append(self._manner(sentence, clause, clause.manner))
        moved = clause.recipient is not None and self._moves(patient, verb)
        some = self._some(clause)
        if patient is not None and moved:
            before.append(self._phrase(sentence, patient, "obl:patient", "把"))
        elif clause.recipient is not None and verb.marker:
            before.append(self._phrase(sentence, clause.recipient, "obl", verb.marker, some=some))
        elif patient is not None and verb.marker:
            before.append(self._phrase(sentence, patient, "obl", verb.marker, some=some))
        elif gap is not None and mood == "patient" and verb.marker:
            before.append(self._again(sentence, gap, verb.marker))
        word = verb.to if moved else verb.word
        head = sentence.add(word, word, "VERB", "root", unit)
        aspect = self._aspect(sentence, clause, verb, mood)
        if aspect:
            sentence.add(aspect, aspect, "AUX", "aux", unit, head)
        after: list[int] = []
        if clause.recipient is not None and (moved or not verb.marker):
            after.append(self._phrase(sentence, clause.recipient, "iobj", some=some))
        if patient is not None and not moved and (clause.recipient is not None or not verb.marker):
            # No article for what is not there, or is there again and again: 没有买书, 经常买书.
            bare = clause.negative or clause.frequency is not None or clause.predicate in BARE_OBJECTS
            after.append(self._phrase(sentence, patient, "obj", bare=bare, some=some))
        if clause.goal is not None:
            after.append(self._goal(sentence, clause.goal, verb))
        if clause.place is not None and not place_first:
            if verb.place == "在>":
                after.append(self._place(sentence, clause.place, "在", "obl"))
            else:
                after.append(self._phrase(sentence, clause.place, "obj"))
        return sentence.close(head, after)

    def _is_under_way(self, sentence: Sentence, clause: Clause, verb: Verb, *, alone: bool) -> bool:
        """Whether a present is progressive: by its adverb of time, in conversation, and always for ``alone``."""
        if clause.tense != "present" or not verb.lasts or clause.frequency or clause.complement is not None:
            return False
        if clause.time:
            return clause.time in SINGLE_TIMES
        if sentence.meaning.register == "conversational":
            return sentence.meaning.link != "when"
        return alone and not clause.negative

    def _moves(self, patient: Phrase | None, verb: Verb) -> bool:
        """Whether 把 brings the patient before the verb: a pronoun, or a known thing that would be the last of two."""
        return isinstance(patient, Pronoun) or (isinstance(patient, Thing) and patient.definite and not verb.marker)

    def _aspect(self, sentence: Sentence, clause: Clause, verb: Verb, mood: str) -> str:
        """The aspect particle: 了 for completed events, 着 for clothes; none if negated, future or habitual."""
        if clause.negative or clause.frequency or clause.tense == "future" or mood == "patient":
            return ""
        if verb.kind == "wear":
            return "着"
        if mood == "when" or verb.kind == "state" or clause.complement is not None:
            return ""
        if mood and len(verb.word) > 1 and not (clause.patient or clause.goal):
            return ""  # 了 and 的 do not meet: 见面的朋友
        if verb.kind == "bare":
            # A past activity needs 了 if the clause says nothing else about it, and in a question.
            asked = sentence.meaning.question and not isinstance(clause.place, Asked)
            alone = clause.place is None and not clause.manner
            return "了" if clause.tense == "past" and not mood and verb.lasts and (alone or asked) else ""
        if verb.kind in {"end", "turn"} and clause.tense == "present" and not mood:
            # In the narrative present, 孩子打破杯子, there is no 了 either, except in questions and with *now*.
            asked = sentence.meaning.question and clause is sentence.meaning.main and clause.time in SINGLE_TIMES
            now = clause.time == "now" and not verb.lasts
            return "了" if now or (asked and not isinstance(clause.place, Asked)) else ""
        return "了" if clause.tense == "past" else ""

    def _verb(self, sentence: Sentence, clause: Clause, gap: Thing | None) -> Verb:
        """The verb for a concept, which may depend on what it is done to or, without a patient, on who does it."""
        special = self.verbs_of.get(clause.predicate)
        if special:
            transitive = self.world.verbs[clause.predicate].frame in {"tr", "give"}
            of = (clause.patient if transitive else clause.agent) or gap
            found = special.get(self._kind(of))
            if isinstance(of, Both) and special.get(self._kind(of.second)) is not found:
                found = special.get("@both", found)
            if found is not None:
                return found
        return self.pick(sentence, self.verbs[clause.predicate], clause.unit * 8)

    def _kind(self, phrase: Phrase | None) -> str:
        """The concept of a phrase; ``@PER``, ``@LOC`` or ``@ORG`` for a name, ``@who`` or ``@what`` if asked for."""
        if isinstance(phrase, Both):
            phrase = phrase.first
        if isinstance(phrase, Pronoun):
            if phrase.of is None:
                return "@PER"
            phrase = phrase.of
        if isinstance(phrase, Thing):
            return phrase.concept
        if isinstance(phrase, Name):
            return "@" + self.world.names[phrase.name].kind
        return "@" + phrase.word if phrase is not None else ""

    def _manner(self, sentence: Sentence, clause: Clause, manner: str) -> int:
        """Append the manner, which may depend on the verb or its class; 地 has no unit."""
        for word in (f"{manner}~{clause.predicate}", f"{manner}~{self.world.verbs[clause.predicate].manner}", manner):
            if word in self.adverbs:
                break
        head = self.adverbial(sentence, word, clause.unit * 8 + Part.MANNER)
        sentence.units[-1] = -1
        return head

    def _property(self, sentence: Sentence, clause: Clause, mood: str, gap: Thing | None, before: list[int]) -> int:
        unit = clause.unit * 8
        special = self.adjectives_of.get(clause.predicate, {}).get(self._kind(clause.agent or gap))
        adjective = special or self.pick(sentence, self.adjectives[clause.predicate], unit)
        mode = adjective.mode
        did_not = "没" if sentence.meaning.register == "conversational" else "没有"
        self._future_and_not(sentence, clause, mood, before, did_not if mode in {"了", "着"} else "不")
        if mode == "很":
            plain = sentence.meaning.question and clause is sentence.meaning.main and clause.tense != "future"
            if clause.tense == "future" or not (clause.negative or plain or clause.frequency == "rarely"):
                before.append(sentence.add("很", "很", "ADV", "advmod"))
        elif mode == "是" and not (mood in {"agent", "patient"} and not clause.negative):
            before.append(sentence.add("是", "是", "AUX", "cop", unit + Part.COPULA))
        head = sentence.add(adjective.predicate, adjective.predicate, adjective.tag, "root", unit)
        if mode == "着":
            sentence.add("着", "着", "AUX", "aux", unit, head)
        elif (
            mode == "了" and not clause.negative and clause.tense != "future" and not (mood and adjective.tag == "VERB")
        ):
            sentence.add("了", "了", "AUX", "aux", unit, head)
        elif mode == "是" and (not mood or (mood == "when" and sentence.meaning.register == "encyclopaedic")):
            # one 的 is enough before another: 箱子是空的时候
            sentence.add("的", "的", "PART", "discourse", -1, head)
        if clause.place is not None:
            before.append(self._place(sentence, clause.place, "在", "obl"))
        return head

    def _is(self, sentence: Sentence, clause: Clause, mood: str, before: list[int]) -> int:
        """A class with 是; a location with 在, which then is the verb."""
        unit = clause.unit * 8
        self._future_and_not(sentence, clause, mood, before, "不")
        if clause.kind == "class":
            assert clause.patient is not None  # noqa: S101 - by the definition of the kind
            before.append(sentence.add("是", "是", "AUX", "cop", unit + Part.COPULA))
            return self._class(sentence, clause, clause.patient)
        assert clause.place is not None  # noqa: S101 - by the definition of the kind
        head = sentence.add("在", "在", "VERB", "root", unit + Part.COPULA)
        place = self._place(sentence, clause.place, "", "obj")
        if place == len(sentence.words):
            # Without a localizer 在 is all there is for *in*.
            sentence.units[head - 1] = clause.place.unit * 8 + Part.MARKER
        sentence.heads[place - 1] = head
        return head

    def _class(self, sentence: Sentence, clause: Clause, whole: Phrase) -> int:
        """*A dog is an animal* says 一种动物, *a kind of animal*; of people, and in the negative, just the noun."""
        generic = isinstance(clause.agent, Thing) and not clause.agent.definite
        if not (generic and isinstance(whole, Thing)) or whole.plural or whole.definite:
            return self._phrase(sentence, whole, "root")
        if clause.negative or self.world.nouns[whole.concept].sex:
            return self._phrase(sentence, whole, "root", bare=True)
        return self._thing(sentence, whole, measure="个" if whole.concept == "place" else "种")

    # --- places and relative clauses ---

    def _place(self, sentence: Sentence, place: Phrase, marker: str, relation: str) -> int:
        """在…里, 在…上; *in Paris* and *where* have no localizer."""
        localizer = ""
        if isinstance(place, Thing):
            localizer = self.pick(sentence, self.nouns[place.concept], place.unit * 8).at
        return self._phrase(sentence, place, relation, marker, localizer)

    def _goal(self, sentence: Sentence, goal: Phrase, verb: Verb) -> int:
        """去学校, 去河边."""
        localizer = ""
        if isinstance(goal, Thing) and verb.place != "bare":
            noun = self.pick(sentence, self.nouns[goal.concept], goal.unit * 8)
            localizer = noun.to if verb.place != "far" or len(noun.word) == 1 else ""
        return self._phrase(sentence, goal, "obj", "", localizer)

    def _relative(self, sentence: Sentence, thing: Thing, clause: Clause) -> int:
        inner = self._clause(sentence, clause, mood=thing.gap, gap=thing)
        sentence.relations[inner - 1] = "acl:relcl"
        sentence.add("的", "的", "SCONJ", "mark:rel", thing.unit * 8 + Part.RELATIVE, inner)
        return inner


def _same(pronoun: Phrase | None, phrase: Phrase | None) -> bool:
    """Whether a pronoun refers to the phrase."""
    if not isinstance(pronoun, Pronoun):
        return False
    if pronoun.person != 3:
        return isinstance(phrase, Pronoun) and (pronoun.person, pronoun.plural) == (phrase.person, phrase.plural)
    of = pronoun.of
    if isinstance(of, Thing):
        return isinstance(phrase, Thing) and (of.concept, of.plural) == (phrase.concept, phrase.plural)
    return isinstance(of, Name) and isinstance(phrase, Name) and of.name == phrase.name
