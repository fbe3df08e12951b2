r"""Plain text of an article in wiki markup.

Templates, tables, footnotes, files, categories, formulas and headings are removed; links, bold and italic text are
replaced by what a reader sees. One pass with a stack handles nested and unclosed markup in linear time. Templates are
not expanded.

>>> plain_text("'''Rust''' is an [[iron oxide|oxide]] of [[iron]].<ref>{{cite|a=[[b]]}}</ref>\n== See ==\n")
['Rust is an oxide of iron.']
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection

_FILES = """
file image media category datei bild kategorie fichier catégorie archivo imagen categoría immagine categoria ficheiro
imagem bestand afbeelding categorie plik grafika kategoria fil файл изображение категория зображення категорія soubor
dosya resim kategori ملف تصنيف קובץ קטגוריה ファイル 画像 カテゴリ 파일 분류 文件 图像 檔案 圖像 分类 分類
"""
FILE_NAMESPACES = frozenset(_FILES.split())
"""Lower-case namespaces of links that show no text; a dump adds those of its language."""

# elements whose content is not running text
_DROPPED = (
    "ref math chem ce gallery timeline syntaxhighlight source score imagemap hiero graph mapframe maplink inputbox "
    "templatestyles indicator pre references includeonly"
)
_BREAKS = {"br", "p", "div", "li", "ul", "ol", "dl", "dd", "dt", "blockquote", "hr", "center", "poem"}
_OPAQUE = frozenset(_DROPPED.split()) | {"nowiki"}
_DEEPEST = 60  # nesting depth; MediaWiki stops at 100

# without groups, so that the search can skip to the next possible first character
_TOKEN = re.compile(
    r"<!--|\{\{+|\}\}+|\[\[|\]\]|\n[ \t:]*+\{\||\n[ \t]*+\|\}(?!\})|</?[A-Za-z][A-Za-z0-9]*+(?:[\s/][^<>]*+)?>"
)
_NAME = re.compile(r"[A-Za-z0-9]+")
_EXTERNAL = re.compile(r"\[(?:[a-z]{3,8}:)?//[^\s\[\]]++[ \t]*([^\[\]\n]*+)\]")
_QUOTES = re.compile(r"'{2,}")
_VARIANT = re.compile(r"-\{([^{}\n]*)\}-")  # Chinese and Serbian pages are shown in one of several scripts
_MAGIC = re.compile(r"__[A-Z]{3,}__")
_LEFT_OVER = re.compile(r"\{{2,}|\}{2,}|\[{2,}|\]{2,}|\{\||\|\}")
_LANGUAGE_LINK = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*:\S")
_EMPTY_BRACKETS = re.compile(r"[(（][\s,;:，；：、/–-]*+[)）]")
_BRACKET_START = re.compile(r"([(（])[\s,;:，；：、]+")
_SIGNS = re.compile(r"[,;](?: *+[,;])+")
_BLANK_BEFORE = re.compile(r" +([,.;:!?)])(?=\s|$)")
_HEADING = re.compile(r"={1,6}.*={1,6}\s*$")
_LIST = re.compile(r"[*#:;]+\s*")
_SENTENCE_END = re.compile(r"[.!?…。！？।؟۔։።][\"'”’»›)\]」』）]*$")


Kind = Literal["template", "table", "link"]


@dataclass
class _Open:
    """Open markup: its kind and its content so far."""

    kind: Kind | None
    parts: list[str] = field(default_factory=list)


def plain_text(markup: str, *, files: Collection[str] = FILE_NAMESPACES, joint: str = " ") -> list[str]:
    """The paragraphs of an article.

    Headings are removed, and so are list items that do not end like a sentence: links, names, titles.

    Args:
        markup: The wiki text.
        files: Lower-case namespaces of links that show no text.
        joint: Separator of the lines of a paragraph: empty in languages that are written without blanks.
    """
    text = _without_markup("\n" + markup, files)
    text = _EXTERNAL.sub(r"\1", text)
    text = _MAGIC.sub("", _VARIANT.sub(_variant, text))
    return _paragraphs(html.unescape(_QUOTES.sub(_quotes, text)), joint)


def _without_markup(text: str, files: Collection[str]) -> str:
    stack = [_Open(None)]
    place = 0
    unclosed: set[str] = set()  # elements known to have no end tag
    while (token := _TOKEN.search(text, place)) is not None:
        stack[-1].parts.append(text[place : token.start()])
        place = token.end()
        sign = token[0][0]
        if sign == "{":
            for _ in range(len(token[0]) // 2):
                _begin(stack, "template")
        elif sign == "}":
            for _ in range(len(token[0]) // 2):
                _close(stack, "template", files)
        elif sign == "[":
            _begin(stack, "link")
        elif sign == "]":
            if stack[-1].kind == "link":  # it may close markup that the end of the template will remove
                _close(stack, "link", files)
        elif sign == "\n":
            if token[0][-1] == "}":
                _close(stack, "table", files)
            stack[-1].parts.append("\n")
            if token[0][-1] == "|":
                _begin(stack, "table")
        elif token[0] == "<!--":
            end = text.find("-->", place)
            place = len(text) if end < 0 else end + 3
        else:
            place = _tag(text, token, stack, unclosed, files)
    stack[-1].parts.append(text[place:])
    while len(stack) > 1:
        _give_up(stack, files)
    return "".join(stack[0].parts)


def _tag(text: str, token: re.Match[str], stack: list[_Open], unclosed: set[str], files: Collection[str]) -> int:
    """Handle an HTML tag; returns the position after it."""
    place, ends, empty = token.end(), token[0][1] == "/", token[0][-2] == "/"
    name = _NAME.search(token[0])[0].lower()  # type: ignore[index]
    if name == "table" and not empty:
        if ends:
            _close(stack, "table", files)
        else:
            _begin(stack, "table")
    elif name in _OPAQUE and not ends and not empty and name not in unclosed:
        end = _end_of(name).search(text, place)
        if end is None:
            unclosed.add(name)
        else:
            if name == "nowiki":
                stack[-1].parts.append(_literal(text[place : end.start()]))
            place = end.end()
    elif name in _BREAKS:
        stack[-1].parts.append(" " if name == "br" else "\n")
    return place


@cache
def _end_of(element: str) -> re.Pattern[str]:
    return re.compile(rf"</{element}\s*>", re.IGNORECASE)


def _literal(text: str) -> str:
    """Escape text without markup: its signs become character references until the end."""
    return re.sub(r"[\[\]{}|'<>=*#:;_&-]", lambda sign: f"&#{ord(sign[0])};", html.unescape(text))


def _begin(stack: list[_Open], kind: Kind) -> None:
    if len(stack) < _DEEPEST:
        stack.append(_Open(kind))


def _close(stack: list[_Open], kind: Kind, files: Collection[str]) -> None:
    """Close the innermost markup of a kind, with everything left open inside it."""
    if all(each.kind != kind for each in stack):
        return
    while stack[-1].kind != kind:
        _give_up(stack, files)
    closed = stack.pop()
    if kind == "link":
        stack[-1].parts.append(_link_text("".join(closed.parts), files))


def _give_up(stack: list[_Open], files: Collection[str]) -> None:
    """Close unclosed markup: a link keeps its text; a template or table loses its first paragraph."""
    content = "".join((opened := stack.pop()).parts)
    if opened.kind == "link":
        first, newline, rest = content.partition("\n")
        stack[-1].parts.append(_link_text(first, files) + newline + rest)
    else:
        stack[-1].parts.append("\n\n" + content.partition("\n\n")[2])


def _link_text(content: str, files: Collection[str]) -> str:
    """The visible text of a link."""
    target, pipe, label = content.partition("|")
    space = target.partition(":")[0].strip().lower().replace("_", " ")
    if ":" in target and (space in files or (not pipe and _LANGUAGE_LINK.match(target))):
        return ""
    shown = label.rpartition("|")[2] if pipe else target.lstrip(" :")
    return shown if shown.strip() else target.lstrip(" :")


def _variant(found: re.Match[str]) -> str:
    """The first form of ``-{zh-hans:软件; zh-hant:軟體}-``, or all of it where there is one."""
    first = found[1].rpartition("|")[2].partition(";")[0]
    return first.rpartition(":")[2].strip()


def _quotes(found: re.Match[str]) -> str:
    """Remove the two, three or five apostrophes of italic and bold text; one more is an apostrophe."""
    count = len(found[0])
    return "'" * (1 if count == 4 else max(0, count - 5))


def _paragraphs(text: str, joint: str) -> list[str]:
    """Join consecutive lines to paragraphs, without headings and table rows."""
    found: list[str] = []
    current: list[str] = []
    for raw in [*text.split("\n"), ""]:
        line = " ".join(raw.split())
        item = _LIST.match(line)
        if line and not item and not line.startswith(("|", "!", "----")) and not _HEADING.match(line):
            current.append(line)
            continue
        if current:
            found.append(_tidy(joint.join(current)))
            current = []
        if item and _SENTENCE_END.search(line):
            found.append(_tidy(line[item.end() :]))
    return [paragraph for paragraph in found if any(sign.isalnum() for sign in paragraph)]


def _tidy(text: str) -> str:
    """Remove leftovers of templates, links and malformed markup: empty brackets, blanks before signs, braces."""
    text = _BRACKET_START.sub(r"\1", _EMPTY_BRACKETS.sub("", text))
    text = _BLANK_BEFORE.sub(r"\1", _SIGNS.sub(lambda found: found[0][0], text))
    while _LEFT_OVER.search(text):
        text = _LEFT_OVER.sub("", text)
    return " ".join(text.split())
