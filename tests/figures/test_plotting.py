"""Files with pictures in them."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hmem.errors import ConfigError
from hmem.figures.plotting import Picture, require_matplotlib, write_picture

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure


def draw(figure: Figure) -> None:
    axes = figure.subplots()
    axes.plot([1, 2, 3], [2, 1, 2], label="a line")
    axes.set_xlabel("λ")


PICTURE = Picture(draw=draw, height=2.0, caption="A caption that is long enough to need more than one line. " * 4)


def test_png_and_svg_are_written(tmp_path: Path) -> None:
    png, svg = write_picture(PICTURE, tmp_path, "line")
    assert (png, svg) == (tmp_path / "line.png", tmp_path / "line.svg")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in write_picture(PICTURE, tmp_path, "one")]
    again = [path.read_bytes() for path in write_picture(PICTURE, tmp_path, "two")]
    assert first == again


def test_a_caption_takes_room_below(tmp_path: Path) -> None:
    heights = []
    for caption in (True, False):
        _, svg = write_picture(PICTURE, tmp_path, str(caption), caption=caption)
        heights.append(float(ElementTree.parse(svg).getroot().attrib["height"].removesuffix("pt")))
    assert heights[0] > heights[1] == pytest.approx(2 * 72)


def test_the_readers_own_settings_have_no_part_in_it(tmp_path: Path) -> None:
    import matplotlib

    before = [path.read_bytes() for path in write_picture(PICTURE, tmp_path, "before")]
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        after = [path.read_bytes() for path in write_picture(PICTURE, tmp_path, "after")]
        assert matplotlib.rcParams["font.size"] == 30
    assert before == after


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"figures need the package matplotlib; pip install 'hmem\[plot\]'"):
        require_matplotlib()
    with pytest.raises(ConfigError):
        write_picture(PICTURE, tmp_path, "line")
    assert list(tmp_path.iterdir()) == []
