"""Draw docs/images/architecture.svg from docs/architecture.md.

python tools/draw_architecture.py            draw it
python tools/draw_architecture.py --check    leave with 1 if it is not what would be drawn
"""

import re
import sys
from collections.abc import Iterator
from html import escape

from generated_page import ROOT, write_or_check

PAGE, PICTURE = ROOT / "docs" / "architecture.md", ROOT / "docs" / "images" / "architecture.svg"
JOURNEYS = {
    "Train": ("hmem.fit, hmem train", "#0072b2"),
    "Predict": ("kb.predict", "#d55e00"),
    "Post": ("POST /predict", "#009e73"),
}
LEFT, TOP, ROW, WIDTH, STEP, GAP = 20, 64, 46, 330, 26, 44  # STEP from hop to hop, GAP from journey to journey


def packages(text: str) -> dict[str, str]:
    """The packages of the page and what each is, from top to bottom."""
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", section(text, "Packages"), re.MULTILINE)
    return dict(rows)


def hops(text: str, journey: str) -> list[str]:
    """The functions that a journey passes."""
    return re.findall(r"^\d+\. `([\w.]+)`", section(text, journey), re.MULTILINE)


def section(text: str, title: str) -> str:
    return re.split(r"^## ", text.partition(f"\n## {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def shapes(text: str) -> Iterator[str]:
    """Boxes for the packages, and a line with numbered circles for each journey."""
    names = packages(text)
    middle = {name: TOP + ROW * place + ROW // 2 for place, name in enumerate(names)}
    end = width(text) - LEFT
    for name, what in names.items():
        said = re.split(r"[:;]", what)[0].replace("`", "")
        yield f'<rect x="{LEFT}" y="{middle[name] - 19}" width="{WIDTH}" height="38" rx="6" class="box"/>'
        yield f'<text x="{LEFT + 12}" y="{middle[name] - 3}" class="name">{name}</text>'
        yield f'<text x="{LEFT + 12}" y="{middle[name] + 12}" class="what">{escape(said)}</text>'
        yield f'<line x1="{LEFT + WIDTH}" y1="{middle[name]}" x2="{end}" y2="{middle[name]}" class="row"/>'
    x = LEFT + WIDTH + GAP
    for title, (label, color) in JOURNEYS.items():
        places = [(x + STEP * i, middle[hop.split(".")[1]]) for i, hop in enumerate(hops(text, title))]
        line = " ".join(f"{across},{down}" for across, down in places)
        yield f'<text x="{x - 9}" y="{TOP - 24}" class="name" fill="{color}">{title}</text>'
        yield f'<text x="{x - 9}" y="{TOP - 9}" class="what">{label}</text>'
        yield f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>'
        for number, (across, down) in enumerate(places, 1):
            yield f'<circle cx="{across}" cy="{down}" r="10" fill="{color}"/>'
            yield f'<text x="{across}" y="{down + 4}" class="number">{number}</text>'
        x = places[-1][0] + GAP


def width(text: str) -> int:
    counts = [len(hops(text, title)) for title in JOURNEYS]
    return 2 * LEFT + WIDTH + sum(STEP * (count - 1) + GAP for count in counts)


def picture() -> str:
    """The whole SVG file."""
    text = PAGE.read_text(encoding="utf-8")
    size = f"{width(text)} {TOP + ROW * len(packages(text)) + 16}"
    style = (
        "text{font-family:Helvetica,Arial,sans-serif}.name{font-size:14px;font-weight:bold}.what{font-size:11px;fill:#444}"
        ".number{font-size:11px;fill:#fff;text-anchor:middle}.box{fill:#f3f4f6;stroke:#9ca3af}.row{stroke:#e5e7eb}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}">\n<style>{style}</style>'
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([head, ground, *shapes(text), "</svg>\n"])


if __name__ == "__main__":
    sys.exit(write_or_check(PICTURE, picture, __doc__))
