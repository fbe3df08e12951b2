"""Wiki markup: textbook cases, nesting, and malformed pages."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.text.formats.wikitext import plain_text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a [[b]] c", "a b c"),
        ("a [[b|c d]]s", "a c ds"),
        ("[[:Category:Rivers|rivers]] flow", "rivers flow"),
        ("[[:Category:Rivers]] flow", "Category:Rivers flow"),
        ("x [[Category:Rivers]]y", "x y"),
        ("[[File:a.jpg|thumb|left|A [[cat|small cat]] on a {{convert|2|m}} wall]]Text.", "Text."),
        ("[[Datei:a.jpg|mini|Ein [[Bild]] mit [[Datei:b.jpg]].]]Text.", "Text."),
        ("Text.\n[[fr:Texte]]\n[[zh-min-nan:Bûn-jī]]", "Text."),
        ("see [[wikt:word|word]] and [[Re:Zero|Re]]", "see word and Re"),
        ("'''Bold''' ''italic'' '''''both''''' l''''eau'''", "Bold italic both l'eau"),
        ("a{{x|{{y|{{z}}}}|b={{{c|}}}}}b", "ab"),
        ("a{{x|{b}}}b", "ab"),
        ("a {{#if:{{{1|}}}|[[b]]|{{c}}}} d", "a d"),
        ("a<ref>b {{cite|c}} [[d]]</ref> e<ref name=x /> f<ref name='y'/>.<REF group=\"a/b\">c</REF>", "a e f."),
        ("a<!-- {{ --> b<!--\n\n]] -->", "a b"),
        ("a<br/>b<small>c</small> <span style='x'>d</span> H<sub>2</sub>O", "a bc d H2O"),
        ("<math>x^{2}}}</math>y <math>\\frac{a}{b}</math>", "y"),
        ("<syntaxhighlight lang=c>int a[[2]];</syntaxhighlight>\nEnd.", "End."),
        ("say <nowiki>''[a](b) &amp; {c}''</nowiki> so", "say ''[a](b) & {c}'' so"),
        ("[https://example.org/a?b=c the site] and [//example.org] or [http://x.y ''z'']", "the site and or z"),
        ("a&nbsp;b &amp; c &lt;d&gt; &#8211; e", "a b & c <d> – e"),
        ("Berlin ({{IPA|x}}; born [[1237]]) is ({{lang|x}}, ) big {{cn}}.", "Berlin (born 1237) is big."),
        ("__NOTOC__\na __TOC__b", "a b"),
        ("-{zh-hans:软件; zh-hant:軟體}-是-{好}-的", "软件是好的"),
        ("<table><tr><td>a<table><tr><td>b</td></tr></table></td></tr></table>c", "c"),
        ("<h2>A</h2> b", "A b"),
    ],
)
def test_inline_markup(markup: str, text: str):
    assert plain_text(markup) == [text]


def test_tables_are_removed_with_tables_in_them():
    markup = "Before.\n{| class='a'\n! head\n|-\n| a {{b|c=\n|d}} ||\n{|\n| inner\n|}\n| after\n|}\nBehind.\n:{|\n|x\n|}\nEnd."
    assert plain_text(markup) == ["Before.", "Behind.", "End."]


def test_a_template_may_hold_a_table_and_end_on_a_line_of_its_own():
    assert plain_text("{{Infobox\n|a = {{b\n|c=1\n}}\n|t =\n{|\n|x\n|}\n|}}\nText.") == ["Text."]


def test_headings_part_paragraphs_and_lines_of_one_are_joined():
    markup = "One\ntwo.\n\nThree.\n== Head ==\nFour.\n=== ''H'' === \n----\nFive."
    assert plain_text(markup) == ["One two.", "Three.", "Four.", "Five."]
    assert plain_text("我们\n好。", joint="") == ["我们好。"]


def test_items_of_lists_are_kept_where_they_are_sentences():
    assert plain_text("* [[A]]\n* It is a ''sentence''.\n# Name, 1990\n:: Quoted words!\n; term : meaning") == [
        "It is a sentence.",
        "Quoted words!",
    ]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("{{Infobox | a = b\n| c = d\n\nThe [[text]] goes on.\n\nAnd on.", ["The text goes on.", "And on."]),
        ("{|\n| a\n\nThe text goes on.", ["The text goes on."]),
        ("a [[b|c\nnext line.", ["a c next line."]),
        ("a <ref>b c.", ["a b c."]),
        ("a }} b ]] c |} d", ["a b c d"]),
        ("{{a [[b}} c]] d", ["c d"]),
        ("[[File:x.jpg|thumb {{unclosed]] a\n\nb", ["b"]),
        ("a <!-- b", ["a"]),
        ("&#91;&#91;a&#93;&#93; &#123;&#123;b", ["a b"]),
        ("[( , )[a", ["a"]),
    ],
)
def test_malformed_markup_loses_little_and_leaks_nothing(markup: str, text: list[str]):
    assert plain_text(markup) == text


PIECES = """
{{ }} {{{ }}} {| |} [[ ]] | || ! [ ] <ref> </ref> <ref/> <nowiki> </nowiki> <table> </table> <!-- --> == '' ''' File:
Category: : * # ; ( ) , <math> </math> <br> http://a.b &#91; &#123; &amp; -{ }- __TOC__ < > a B. é 北 。
"""
pieces = st.sampled_from([*PIECES.split(), "\n", "\n\n", " ", "\r", "\u2028", "\x1f"])


@given(st.lists(pieces, max_size=60).map("".join) | st.text())
def test_no_markup_crashes_or_leaks(markup: str):
    for joint in (" ", ""):
        for paragraph in plain_text(markup, joint=joint):
            assert not any(sign in paragraph for sign in ("{{", "}}", "[[", "]]", "{|", "|}"))
            assert paragraph == " ".join(paragraph.split())
            assert any(sign.isalnum() for sign in paragraph)


@given(st.lists(st.sampled_from(["{{a|", "}}", "[[b|", "]]", "<ref>", "</ref>", "x", "\n"]), max_size=30).map("".join))
def test_what_is_around_a_removed_element_does_not_matter(inside: str):
    assert plain_text(f"one <math>{inside}</math>two.") == ["one two."]


@pytest.mark.parametrize(
    "piece",
    ["{{", "[[", "]]", "}}", "<ref>", "<!--", "[http://", "{|\n", "\n{|", "-{", "<a ", "(", "= ", "''", "{{\n\n", "[[File:", "<table>", "{{a}}[[b"],
)  # fmt: skip
def test_a_page_of_unclosed_markup_takes_no_longer_than_another(piece: str):
    started = time.process_time()
    plain_text(piece * (400_000 // len(piece)))
    assert time.process_time() - started < 5  # a second at most; what is quadratic takes minutes
