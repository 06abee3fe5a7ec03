"""A film of MinAtar, whose screen is 10 x 10 pixels of colours from 0 to 1."""

import pytest
from PIL import Image

from tests.calls import succeed
from tests.programs import needed_module
from tests.runs import complete, make_cell

needed_module("minatar")


@pytest.mark.filterwarnings("error::UserWarning")
def test_a_film_of_a_small_screen_is_large_and_has_its_colours(tmp_path):
    cell = make_cell("snes", tmp_path, "MinAtar/Breakout-v1", 200, settings={"population": 4, "hidden": (4,)})
    film = tmp_path / "film.gif"
    succeed("play", complete(cell).directory, "--video", film)
    with Image.open(film) as frames:
        assert frames.size == (160, 160)
        colours = {colour for _, colour in frames.convert("RGB").getcolors()}
    assert (0, 0, 0) in colours
    assert max(max(colour) for colour in colours) > 150
