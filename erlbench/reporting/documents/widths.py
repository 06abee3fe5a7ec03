"""How wide texts are in 8 point print, in points: the widths of Computer Modern, which is wider than Times."""

from __future__ import annotations

GAP = 6.0  # between two columns
LONGEST = 112.0  # of a cell that is printed on one line
_BOLD = 1.17  # as wide as the plain text
_CHARACTERS = {
    2.4: "!',.:;[]`il| ", 2.6: "fj", 2.8: "-", 3.1: "I", 3.4: "()rst", 3.8: "cez", 4.5: "kqvxyJ", 4.7: "Sbdhnpu",
    5.3: "Z^~L", 6.0: "FEPBC", 6.2: "TwR", 6.6: "AHNUVXYDGKOQ&+<=>@_±−≤≥×", 7.1: "#%m", 7.8: "M", 8.7: "W",
}  # fmt: skip
_WIDTHS = {character: points for points, characters in _CHARACTERS.items() for character in characters}
_OTHER = 4.3  # digits and all else


def width(text: str, bold: bool = False) -> float:
    """The width of a text, in points."""
    return sum(_WIDTHS.get(character, _OTHER) for character in text) * (_BOLD if bold else 1.0)


def stacked(header: str, room: float) -> list[str]:
    """A header as lines that are at most as wide as `room`, or as its longest word."""
    room = max([room, *map(width, header.split())])
    lines: list[str] = []
    for word in header.split():
        if lines and width(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
