"""The page, as it is used: in a real browser, against a real server, with a small trained model."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="needs selenium, which drives the browser")

import httpx
from selenium.webdriver import Chrome
from selenium.webdriver.common.keys import Keys

from hmem.graph.descriptions import Description
from hmem.graph.values import Value
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.store.records import Names3
from tests.knowledge.living import TOY_FACTS, train_toy
from tests.serve import browser
from tests.serve.browser import NARROW, WIDE, Page
from tests.serve.clients import calibration, served, until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(browser.missing()), reason=f"not installed: {browser.missing()}"),
]

Visit = Callable[..., Page]
ASKED = {"entity": "canine.n.02", "relation": "hyponym", "direction": "tail"}
MIRROR = ("cat.n.01", "hypernym", "canine.n.02")  # what the model has learned to turn round
SCRIPT = "<script>window.broken = 1</script>"
IMAGE = "<img src=x onerror='window.broken = 1'>"
SLOW = """
const [delay, path] = arguments;
const soon = window.fetch;
window.fetch = async (...call) => {
  const answer = await soon(...call);
  if (new RegExp(path).test(call[0])) await new Promise((done) => setTimeout(done, delay));
  return answer;
};
"""
NAMED = [
    Description(id="canine.n.02", label="dog family", aliases=("Canidae",), kind="family", description="They howl."),
    *(Description(id=f"{name}.n.01", label=name, kind="animal") for name in ("wolf", "dog", "fox")),
    Description(id="timber_wolf.n.01", label="wolf", kind="breed", description="A large one of northern forests."),
    Description(id="hyponym", label="comprises", inverse="is among"),
]
MODEL = "^/(predict|missing)|^/neighbors.*relation="  # what the model has to work for
CROSSED = """
const inside = (x, y, box) => x > box.left && x < box.right && y > box.top && y < box.bottom;
const texts = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const { data, parentElement } = walker.currentNode;
  if (!data.trim() || parentElement.closest(".visually-hidden")) continue;
  const range = document.createRange();
  range.selectNodeContents(walker.currentNode);
  for (const box of range.getClientRects()) texts.push([data, box]);
}
const ring = document.querySelector(".chart .outer");
const frame = document.querySelector("#star").getBoundingClientRect();
const matrix = ring.getScreenCTM();
const found = [];
for (let at = 0; at < ring.getTotalLength(); at += 2) {
  const { x, y } = ring.getPointAtLength(at).matrixTransform(matrix);
  if (!inside(x, y, frame)) found.push("outside");
  for (const [text, box] of texts) if (inside(x, y, box)) found.push(text);
}
return [...new Set(found)];
"""


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A calibrated model that has learned that hyponyms mirror hypernyms; it must not be changed."""
    folder = tmp_path_factory.mktemp("page") / "model"
    train_toy("paths", folder, metrics={"calibration": calibration()}, epochs=10)
    return folder


@pytest.fixture(scope="session")
def driver() -> Iterator[Chrome]:
    with browser.chromium() as made:
        yield made


@pytest.fixture
def visit(tmp_path: Path, driver: Chrome, model: Path) -> Iterator[Visit]:
    """`visit(facts, model=None, token="…")` serves these facts and opens a window on them, which must not complain."""
    pages: list[Page] = []
    with ExitStack() as stack:

        def make(
            facts: list[Names3] = TOY_FACTS,
            *,
            model: Path | None = model,
            entities: list[Description] | None = None,
            **settings: object,
        ) -> Page:
            path = tmp_path / f"zoo{len(pages)}.kb"
            KnowledgeBase.create(path, model=model, facts=facts or None, entities=entities or ()).close()
            page = Page(driver, stack.enter_context(served(path, **(settings or {"allow_writes": True}))))
            page.complaints()  # of the pages before
            page.look_through()
            pages.append(page)
            return page

        yield make
        for page in pages:
            assert page.complaints() == []
            driver.execute_script("localStorage.clear(); sessionStorage.clear()")
            driver.get("about:blank")  # ends its stream of news before the server is stopped


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit()


def facts_by(tmp_path: Path) -> KnowledgeBase:
    """The base that is being served, for another process to write to."""
    return KnowledgeBase.open(tmp_path / "zoo0.kb")


# Finding


def test_an_entity_is_found_while_typing(page: Page) -> None:
    page.open()
    page.one("#find").send_keys("wol")
    page.until(lambda: "wolf.n.01" in page.texts("#search .suggestions .name"), "wolf.n.01 is suggested")
    assert "timber_wolf.n.01" in page.texts("#search .suggestions .name")
    page.press(Keys.ARROW_DOWN)
    chosen = page.text("#search [aria-selected=true] .name")
    page.press(Keys.ENTER)
    page.shows("#name", chosen)
    assert "entity=" in page.driver.current_url


def test_escape_closes_the_suggestions(page: Page) -> None:
    page.open()
    page.one("#find").send_keys("wolf")
    page.one("#search .suggestions li")
    assert page.one("#find").get_attribute("aria-expanded") == "true"
    page.press(Keys.ESCAPE)
    page.until(lambda: not page.all("#search .suggestions"), "they are closed")
    assert page.one("#find").get_attribute("value") == "wolf"


def test_a_bad_name_gets_suggestions(page: Page) -> None:
    page.open()
    page.one("#find").send_keys("timbre_wulf.n.01", Keys.ENTER)
    page.shows("#welcome", "No such entity")
    page.shows("#welcome", "timbre_wulf.n.01")
    page.until(lambda: "timber_wolf.n.01" in page.texts("#welcome a.name"), "the right one is suggested")
    page.run(
        "[...document.querySelectorAll('#welcome a.name')].find(a => a.textContent === 'timber_wolf.n.01').click()"
    )
    page.shows("#name", "timber_wolf.n.01")


def test_a_label_or_an_alias_leads_to_the_entity(visit: Visit) -> None:
    page = visit(entities=NAMED)
    page.open(entity="CANIDAE")
    page.shows("#name", "dog family")
    page.until(lambda: "entity=canine.n.02" in page.driver.current_url, "the address has its id")
    assert page.driver.title == "dog family – hmem"
    page.shows("#about", "family")
    page.shows("#about .id", "canine.n.02")
    page.shows("#said", "They howl.")
    page.shows("#said", "Canidae")


def test_a_label_that_several_have_asks_which(visit: Visit) -> None:
    page = visit(entities=NAMED)
    page.open(entity="wolf")
    page.shows("#welcome", "Which of them?")
    page.until(lambda: set(page.texts("#welcome .id")) == {"wolf.n.01", "timber_wolf.n.01"}, "their ids are shown")
    page.shows("#welcome", "breed")
    page.click("#welcome a.name")
    page.shows("#name", "wolf")


@pytest.mark.parametrize(
    ("typed", "found", "why"),
    [("canid", "dog family", "also called Canidae"), ("northern", "wolf", "A large one of northern forests.")],
)
def test_the_search_says_why_something_was_found(visit: Visit, typed: str, found: str, why: str) -> None:
    page = visit(entities=NAMED)
    page.open()
    page.one("#find").send_keys(typed)
    page.until(lambda: page.texts("#search .suggestions .name")[:1] == [found], found)
    assert page.texts("#search .suggestions .why-found")[:1] == [why]
    assert page.text("#search .suggestions .aside").split(" ·")[0] in ("family", "breed")
    page.press(Keys.ARROW_DOWN, Keys.ENTER)
    page.shows("#name", found)


# Session


def test_a_question_is_answered_as_in_python(page: Page, tmp_path: Path) -> None:
    page.open(entity="canine.n.02")
    page.choose("hyponym")
    page.until(lambda: "relation=hyponym" in page.driver.current_url, "the address says so")
    with facts_by(tmp_path) as kb:
        expected = kb.predict("canine.n.02", "hyponym", 10, new_only=False)
    page.until(lambda: page.answers() == [each.tail for each in expected], "the same answers in the same order")
    assert page.texts(".answer .stored") == ["stored" if each.stored else "" for each in expected]
    probabilities = [each.probability for each in expected]
    assert {0.125, 0.875} >= set(probabilities)  # as `calibration` has it
    shown = {0.875: "87.5 %", 0.125: "12.5 %"}
    assert page.texts(".answer .value") == [shown[each] for each in probabilities if each is not None]
    widths = page.run("return [...document.querySelectorAll('.answer .fill')].map(each => each.style.width)")
    assert [float(width.rstrip("%")) / 100 for width in widths] == pytest.approx(probabilities)


def test_the_other_end_can_be_asked_for(page: Page, tmp_path: Path) -> None:
    page.open(**ASKED)
    page.answers()
    page.click("#swap")
    with facts_by(tmp_path) as kb:
        expected = [each.head for each in kb.predict("canine.n.02", "hyponym", 10, direction="head", new_only=False)]
    page.until(lambda: page.answers() == expected, "heads instead of tails")


def test_stored_answers_can_be_left_out(page: Page) -> None:
    page.open(**ASKED)
    assert "dog.n.01" in page.answers()
    page.click("#hide-stored")
    page.until(lambda: "dog.n.01" not in page.answers(), "what is stored is not listed")
    assert "fox.n.01" in page.answers()


def test_everything_missing_is_asked_for_unless_told_otherwise(page: Page, tmp_path: Path) -> None:
    page.open(entity="wolf.n.01")
    with facts_by(tmp_path) as kb:
        expected = [each for each in kb.missing("wolf.n.01", 10) if (each.probability or 0) >= 0.001]
    page.until(lambda: page.answers() == [" ".join(each.names) for each in expected], "the missing facts")
    assert page.one("#missing").get_attribute("aria-pressed") == "true"
    page.shows("#legend", "Choose a relation")  # until then the lines have no weights
    page.click(".ranking .answer")
    page.shows("#legend", "Weight in the memory")


def test_a_missing_fact_of_short_names_takes_one_line(page: Page) -> None:
    page.open(entity="wolf.n.01")
    page.answers()
    lines = "return [...new Set([...arguments[0].querySelectorAll('.name')].map(each => each.offsetTop))].length"
    assert [page.run(lines, row) for row in page.all(".ranking .answer .what")] == [1] * len(page.answers())


def test_bare_scores_are_never_percentages(visit: Visit, tmp_path: Path) -> None:
    train_toy("tpr", tmp_path / "tpr", epochs=10)
    page = visit(model=tmp_path / "tpr")
    page.open(**ASKED)
    page.answers()
    assert not any("%" in value for value in page.texts(".answer .value"))
    assert page.all(".answer .bar.relative")
    page.shows(".answers .caption", "Scores, not probabilities")
    page.open_answer("wolf.n.01")
    assert all("%" not in part for part in page.texts(".reasons .part"))


def test_facts_do_not_wait_for_the_model(page: Page) -> None:
    page.open(entity="dog.n.01")
    page.answers()
    page.run(SLOW, 2500, MODEL)
    page.click(".star .filler[href*=canine]")
    page.shows("#name", "canine.n.02")
    page.until(lambda: "wolf.n.01" in page.texts(".star .filler text"), "its facts")
    page.shows("#answers", "Computing the answers")
    assert not page.texts(".ranking .answer")  # those are about something else
    assert page.answers()
    page.choose("hyponym")
    page.until(lambda: page.texts(".star .role.asked text"), "the question is drawn")
    page.shows("#answers", "Computing the answers")
    assert "Weight in the memory" not in page.text("#legend")
    page.shows("#legend", "Weight in the memory")
    assert "wolf.n.01" in page.answers()
    assert not page.all(".answers .waiting")
    page.click("#more")
    page.until(lambda: page.all(".answers[aria-busy=true] .ranking"), "the same answers stay until there are more")
    page.until(lambda: len(page.answers()) > 10 and page.all(".answers[aria-busy=false]"), "there are more")


def test_what_comes_soon_is_shown_at_once(page: Page) -> None:
    page.open(entity="dog.n.01")
    page.answers()
    page.run("""
      window.asked = []; window.waited = 0;
      const real = window.fetch, later = window.setTimeout;
      window.fetch = (...call) => { window.asked.push(call[0]); return real(...call); };
      window.setTimeout = (call, ms, ...rest) => later(call, ms === 150 ? 60000 : ms, ...rest);  // soon, on any machine
      new MutationObserver(() => { window.waited += document.querySelectorAll(".waiting").length; })
        .observe(document.querySelector("#answers"), {childList: true, subtree: true});
    """)
    page.choose("hypernym")
    page.shows("#legend", "Weight in the memory")
    page.answers()
    assert page.run("return window.waited") == 0
    assert len([url for url in page.run("return window.asked") if "/neighbors" in url]) == 1


def test_percentages_against_the_order_are_explained(page: Page) -> None:
    def answered(*probabilities: float) -> str:
        answers = [
            {"name": f"n{rank}", "rank": rank, "score": -rank, "probability": each, "stored": False}
            for rank, each in enumerate(probabilities, 1)
        ]
        page.run(
            "window.real ??= window.fetch; window.fetch = (url, options) => url === '/predict'"
            " ? Promise.resolve(new Response(arguments[0])) : window.real(url, options)",
            json.dumps({"results": [{"answers": answers}]}),
        )
        page.click("#hide-stored")
        page.until(lambda: len(page.answers()) == len(probabilities), "the answers")
        return page.text(".answers .caption")

    page.open(**ASKED)
    page.answers()
    assert "the two differ" not in answered(0.8, 0.5001, 0.5)
    assert "the two differ" in answered(0.8, 0.3, 0.5, 0.1)
    assert "the two differ" not in answered(0.8, 0.50001, 0.50002, 0.3, 0.1)  # which cannot be seen


# Drawing


def test_the_star_has_a_spoke_for_each_fact_with_its_weight(page: Page) -> None:
    page.open(**ASKED)
    fillers = {head if tail == "canine.n.02" else tail for head, _, tail in TOY_FACTS if "canine.n.02" in (head, tail)}
    page.until(lambda: set(page.texts(".star .filler text")) == fillers, "its neighbors")
    about = [fact for fact in TOY_FACTS if "canine.n.02" in fact]
    assert len(page.all(".star .spoke")) == len(about)
    widths = page.run("return [...document.querySelectorAll('.star .spoke')].map(each => each.style.strokeWidth)")
    assert len(set(widths)) > 1  # the weights differ
    page.shows("#legend", "Weight in the memory")
    page.click(".star .filler")
    page.until(lambda: page.text("#name") != "canine.n.02", "a name in the drawing leads to its page")


def test_a_large_neighborhood_says_how_many_more_there_are(visit: Visit) -> None:
    crowd: list[Names3] = [(f"pup_{number:03}", "hypernym", "wolf.n.01") for number in range(300)]
    page = visit([*TOY_FACTS, *crowd])
    page.open(entity="wolf.n.01", relation="hyponym", direction="tail")
    page.shows("#about", "stored facts")
    spokes = page.until(lambda: page.all(".star .spoke"), "there is a star")
    assert len(spokes) == 24
    assert any(text.endswith("more") for text in page.texts(".star .more text"))
    page.click(".star .more[role=button]")
    page.until(lambda: len(page.all(".star .spoke")) > 24, "a role can be opened")


def test_kinds_are_told_apart_and_can_be_left_out(visit: Visit) -> None:
    page = visit(entities=NAMED)
    page.open(**ASKED)
    page.until(lambda: "fox" in page.texts(".star .filler text"), "labels in the drawing")
    page.until(lambda: page.texts(".legend .kind") == ["animal"], "a legend of kinds")
    looks = page.run("return [...document.querySelectorAll('.star .dot')].map(each => getComputedStyle(each).fill)")
    assert len(set(looks)) == 2  # animals, and what has no kind
    assert "canine" not in page.text(".star")
    before = page.texts(".star .filler text")
    page.click(".legend [data-kind=animal]")
    page.until(lambda: "fox" not in page.texts(".star .filler text"), "animals are left out")
    chosen = "return [document.activeElement.dataset.kind, document.activeElement.getAttribute('aria-pressed')]"
    assert page.run(chosen) == ["animal", "false"]  # the keyboard stays where it is
    page.press(Keys.ENTER)
    page.until(lambda: page.texts(".star .filler text") == before, "and are there again")


def test_labels_are_shown_and_ids_beside(visit: Visit) -> None:
    page = visit(entities=NAMED)
    page.open(**ASKED)
    page.until(lambda: "dog dog.n.01" in [text.removeprefix("animal: ") for text in page.answers()], "both")
    assert "comprises (2 stored)" in page.texts("#relation option")
    page.open_answer("fox fox.n.01")
    assert page.texts(".reasons .reason .fact")[0] == "fox fox.n.01 hypernym dog family"  # whose page it is
    assert "comprises →" in page.texts(".star .role text")
    page.look_through(NARROW)
    page.open(entity="wolf.n.01")
    page.until(lambda: "is among →" in page.texts(".star .role text"), "the inverse, where all is read from the entity")


LITTLE: list[Names3] = [("stork.n.01", "hypernym", "bird.n.01"), ("swan.n.01", "hypernym", "bird.n.01")]


@pytest.mark.parametrize("size", [WIDE, NARROW, (700, 800)])
@pytest.mark.parametrize("entity", ["", "pack", "canine.n.02", "bird.n.01", "longest"])
def test_the_ring_lies_inside_the_drawing_and_under_no_text(visit: Visit, size: tuple[int, int], entity: str) -> None:
    crowd: list[Names3] = [(f"pup_{number:03}", "hypernym", "pack") for number in range(300)]
    page = visit([*TOY_FACTS, *crowd, *LITTLE, ("x" * 300, "hypernym", "longest")])
    page.look_through(size)
    page.open(**({"entity": entity} if entity else {}))
    if not entity and size != WIDE:
        page.until(lambda: page.texts("#welcome a.name"), "a welcome without a drawing")
        assert not page.all(".star svg")
        return
    page.until(lambda: page.all(".star svg"), "the drawing")
    assert page.run(CROSSED) == []
    if entity == "pack":
        page.click(".star .more[role=button]")
        page.until(lambda: len(page.all(".star .spoke")) > 24, "a long list")
        assert page.run(CROSSED) == []


def test_a_count_of_some_of_the_facts_says_so(visit: Visit) -> None:
    crowd: list[Names3] = [("pack", "hyponym", f"pup_{number:04}") for number in range(1005)]
    page = visit([*TOY_FACTS, *crowd])
    page.open(entity="pack")
    page.until(lambda: "hyponym (1,000+ stored)" in page.texts("#relation option"), "there are more than were sent")
    page.open(entity="canine.n.02")
    page.until(lambda: "hyponym (2 stored)" in page.texts("#relation option"), "these are all")


# Reasons


def test_reasons_are_read_and_light_up_the_drawing(page: Page) -> None:
    page.open(**ASKED)
    page.answers()
    page.open_answer("fox.n.01")
    assert page.texts(".reasons .reason .fact")[0] == "fox.n.01 hypernym canine.n.02"
    page.until(lambda: page.all(".star .spoke.marked"), "its fact is marked")
    assert page.texts(".star .filler.marked text tspan:not(.share)") == ["fox.n.01"]
    assert page.texts(".star .share") == page.texts(".reasons .reason .part")[:1]
    assert "answer=fox.n.01" in page.driver.current_url
    page.press(Keys.ESCAPE)
    page.until(lambda: not page.all(".reasons") and not page.all(".star .marked"), "Escape closes them")
    assert "answer=" not in page.driver.current_url


def test_paths_are_drawn_on_to_the_answer(page: Page) -> None:
    explained = {
        "head": "a", "relation": "r", "tail": "b", "direction": "tail", "stored": False, "score": -1.0,
        "probability": 0.5, "total": 0.4,
        "lines": [
            {"kind": "path", "text": "", "weight": None, "contribution": 0.4, "share": 1.0,
             "facts": [["dog.n.01", "hypernym", "canine.n.02"], ["dog.n.01", "hyponym", "puppy.n.01"],
                       ["puppy.n.01", "similar_to", "bear.n.01"]]},
        ],
    }  # fmt: skip
    page.open(**ASKED)
    page.answers()
    page.run(  # the server's own explanation of a long path depends on what the model has learned
        "const real = window.fetch; window.fetch = (url, options) => url === '/explain'"
        " ? Promise.resolve(new Response(arguments[0])) : real(url, options)",
        json.dumps(explained),
    )
    answer = [name for name in page.answers() if name != ASKED["entity"]][-1]
    page.open_answer(answer)
    page.until(lambda: len(page.all(".star .walk")) == 2, "the second and the third step")
    assert page.texts(".star .stop text")[0] == "puppy.n.01"
    assert page.texts(".reasons .fact")[0].split() == [
        "canine.n.02", "hypernym", "dog.n.01", "hyponym", "puppy.n.01", "similar_to", "bear.n.01"
    ]  # fmt: skip
    assert answer in [*page.texts(".star .stop.answer text"), *page.texts(".star .filler text")]


def test_doubtful_facts_are_looked_for_when_that_is_asked(page: Page, tmp_path: Path) -> None:
    page.open(entity="dog.n.01")
    page.answers()
    assert not page.texts(".doubtful li")
    page.click("#doubts summary")
    page.until(lambda: page.texts(".doubtful > li"), "stored facts")
    with facts_by(tmp_path) as kb:
        its = {" ".join(fact.names) for fact in kb.neighbors("dog.n.01")}
        listed = page.texts(".doubtful > li > .fact")
        assert len(listed) == len(set(listed) & its) == 5
        page.shows("#doubts .caption", f"all {len(its)} facts")
        page.shows(".doubtful .why", "Expected in place of")
        page.click(".doubtful > li > .quiet")
        page.until(lambda: len(kb) == len(TOY_FACTS) - 1, "one is removed")
    page.until(lambda: page.all(".changes .undo"), "which can be undone")


# Times


@pytest.fixture
def grown(visit: Visit, tmp_path: Path) -> Page:
    """A page whose facts came one after the other; that a fox is a canine was said from both ends, but later."""
    page = visit()
    with facts_by(tmp_path) as kb:
        kb.add("puppy.n.01", "hypernym", "canine.n.02", valid_from="2019-03-01")
        kb.add("cat.n.01", "hypernym", "canine.n.02", valid_from="2020-02-03")
        kb.add("canine.n.02", "hyponym", "fox.n.01", valid_from="2021-06-01")
    return page


def as_of(page: Page) -> str:
    return str(page.run("return document.querySelector('#time').getAttribute('aria-valuetext')"))


def test_the_slider_shows_what_was_known_and_what_came_true(grown: Page) -> None:
    page = grown
    page.open(**ASKED)
    page.until(lambda: page.all("#times"), "the slider")
    page.until(lambda: as_of(page).startswith("now, "), "it begins with now")
    assert "fox.n.01" in page.answers()
    assert page.texts(".answer .stored")[page.answers().index("fox.n.01")] == "stored"
    page.run("document.querySelector('#time').focus()")
    page.press(Keys.HOME)
    page.until(lambda: "at=2019-03-01" in page.driver.current_url, "the address has the day")
    assert as_of(page).startswith("1 March 2019, ")
    page.until(lambda: "cat.n.01" not in page.texts(".star .filler text"), "what came later is not drawn")
    assert "puppy.n.01" in page.texts(".star .filler text")
    page.until(lambda: page.texts(".answer .later"), "what came true is marked")
    assert "✓ Jun 2021" in page.texts(".answer .stored")[page.answers().index("fox.n.01")]
    page.shows(".answers .caption", "came true")
    page.open_answer("fox.n.01")
    assert not page.all(".reasons .store")  # it is not the past that can be changed
    page.run("document.querySelector('#time').focus()")
    page.press(Keys.ARROW_RIGHT)
    page.until(lambda: "cat.n.01" in page.texts(".star .filler text"), "the next step")
    page.driver.refresh()
    page.until(lambda: as_of(page).startswith("3 February 2020"), "it is in the deep link")
    page.press(Keys.ESCAPE)
    page.click("#times .quiet:not(.play)")
    page.until(lambda: "at=" not in page.driver.current_url, "now again")


def test_the_slider_plays_and_pauses(grown: Page) -> None:
    page = grown
    page.open(**ASKED)
    page.answers()
    page.run("window.days = []; const is = history.replaceState.bind(history);"
             "history.replaceState = (...to) => { window.days.push(new URLSearchParams(to[2].slice(2)).get('at'));"
             "is(...to); }")  # fmt: skip
    page.click("#times .play")
    page.shows("#times .play", "Pause")
    page.until(
        lambda: page.run("return window.days.at(-1)") is None and len(page.run("return window.days")) >= 4, "now"
    )
    assert list(dict.fromkeys(page.run("return window.days"))) == ["2019-03-01", "2020-02-03", "2021-06-01", None]
    page.shows("#times .play", "Play")
    page.click("#times .play")
    page.until(lambda: page.run("return window.days.at(-1)") is not None, "it begins again")
    page.click("#times .play")
    page.shows("#times .play", "Play")


def test_before_anything_was_known(grown: Page, tmp_path: Path) -> None:
    with facts_by(tmp_path) as kb:
        kb.add("cub.n.01", "hypernym", "fox.n.01", valid_from="2020-01-01")
        kb.add("cub.n.01", "similar_to", "dog.n.01", valid_from="2021-01-01")
    grown.open(entity="cub.n.01", at="2019-01-01")
    grown.shows("#answers", "Nothing was known of it then")


def test_there_is_no_slider_without_days(page: Page) -> None:
    page.open(**ASKED)
    page.answers()
    assert not page.all("#times")


# What was inferred, and values


def test_inferred_facts_are_dashed_and_can_be_asserted_or_withdrawn(page: Page, tmp_path: Path) -> None:
    guesses: list[Names3] = [("cat.n.01", "hypernym", "canine.n.02"), ("bear.n.01", "hypernym", "canine.n.02")]
    with facts_by(tmp_path) as kb:
        kb.add_many(guesses, inferred_by="a hunch", probability=0.7)
    page.open(**ASKED)
    page.until(lambda: len(page.all(".star .spoke.inferred")) == 2, "they are drawn")
    dashes = "return [...document.querySelectorAll('.spoke')].map(each => getComputedStyle(each).strokeDasharray)"
    assert sum(each != "none" for each in page.run(dashes)) == 2
    told = page.run("return document.querySelector('.filler.inferred').getAttribute('aria-label')")
    assert "inferred by a hunch, 70.0 %" in told  # in words, too
    page.click("#inferred summary")
    assert page.texts(".inferences .aside") == ["inferred by a hunch, 70.0 %"] * 2
    first = page.text(".inferences .fact")
    page.click(".inferences .acts button")
    page.until(lambda: len(page.texts(".inferences li")) == 1, "one is asserted")
    page.until(lambda: len(page.all(".star .spoke.inferred")) == 1, "and drawn like others")
    page.click(".inferences .acts button:last-child")
    page.until(lambda: not page.texts(".inferences li"), "the other is withdrawn")
    with facts_by(tmp_path) as kb:
        stored = {" ".join(each): each in kb for each in guesses}
        assert stored == {text: text == first for text in stored}
        assert list(kb.store.listing(inferred=True)) == []
    assert not page.all(".changes .undo")  # an undone assertion would not be what it was


def test_values_are_a_table_to_read(page: Page, tmp_path: Path) -> None:
    said = {
        "population": Value(text="40000", datatype="xsd:integer"),
        "height": Value(text="1.25", datatype="xsd:decimal", unit="m"),
        "first seen": Value(text="2019-05-01", datatype="xsd:date"),
        "tame": Value(text="false", datatype="xsd:boolean"),
        "year": Value(text="1987", datatype="xsd:integer"),
        "note": Value(text=SCRIPT),
        SCRIPT: Value(text="odd", unit=IMAGE),
    }
    with facts_by(tmp_path) as kb:
        kb.store.values.set_all([("wolf.n.01", name, value) for name, value in said.items()])
    page.open(entity="wolf.n.01")
    page.until(lambda: page.all(".values tr"), "a table")
    rows = page.run("return [...document.querySelectorAll('.values tr')].map(row => "
                    "[row.cells[0].textContent, row.cells[1].textContent])")  # fmt: skip
    assert dict(rows) == {
        "population": "40,000", "height": "1.25 m", "first seen": "1 May 2019", "tame": "no", "year": "1987",
        "note": SCRIPT, SCRIPT: f"odd {IMAGE[:29]}…" if len(IMAGE) > 30 else f"odd {IMAGE}",
    }  # fmt: skip
    assert page.run("return window.broken") is None
    assert page.run("return document.querySelector('.values th').scope") == "row"
    page.open(entity="dog.n.01")
    page.answers()
    assert not page.all(".values")


# Telling


def test_adding_a_fact_moves_the_ranking_and_undoing_moves_it_back(page: Page, tmp_path: Path) -> None:
    page.open(**ASKED)
    before = page.answers()
    page.add(*MIRROR)
    page.until(lambda: page.answers() != before, "the order changes")
    place = page.answers().index("cat.n.01")
    assert place < before.index("cat.n.01")
    assert page.texts(".answer .change")[place].startswith("▲")
    page.until(lambda: "cat.n.01" in page.texts(".star .filler text"), "the fact is drawn")
    with facts_by(tmp_path) as kb:
        assert MIRROR in kb
        page.click(".changes .undo")
        page.until(lambda: page.answers() == before, "everything is as before")
        assert MIRROR not in kb
    page.until(lambda: not page.all(".changes li"), "nothing is left to undo")


def test_an_answer_can_be_stored_and_removed(page: Page, tmp_path: Path) -> None:
    page.open(**ASKED)
    page.answers()
    page.open_answer("fox.n.01")
    page.click(".reasons .store")
    page.until(lambda: page.texts(".answer .stored")[page.answers().index("fox.n.01")] == "stored", "it is stored now")
    page.shows(".reasons .why", "It is stored")
    page.until(lambda: page.text(".reasons .store") == "Remove this fact", "and can be removed")
    page.click(".reasons .store")
    page.until(lambda: page.text(".reasons .store") == "Store this fact", "which undoes it")
    with facts_by(tmp_path) as kb:
        assert ("canine.n.02", "hyponym", "fox.n.01") not in kb


def test_rows_travel_unless_the_reader_wants_no_motion(page: Page) -> None:
    def moves_after(fact: Names3) -> int:
        page.open(**ASKED)
        before = page.answers()
        page.run("window.moves = 0; Element.prototype.animate = function () { window.moves += 1; return {}; }")
        page.add(*fact)
        page.until(lambda: page.answers() != before, "the order changes")
        return int(page.run("return window.moves"))

    page.look_through(motion="reduce")
    assert moves_after(MIRROR) == 0
    page.look_through()
    assert moves_after(("lion.n.01", "hypernym", "canine.n.02")) > 0


def test_a_new_entity_is_added_from_the_search(page: Page, tmp_path: Path) -> None:
    page.open()
    page.one("#find").send_keys("dire_wolf.n.01")
    page.until(lambda: page.all("#search .create"), "adding is offered")
    page.click("#search .create")
    page.until(lambda: page.one("#edit-head").get_attribute("value") == "dire_wolf.n.01", "its first fact is begun")
    page.write("#edit-relation", "hypernym")
    page.write("#edit-tail", "wolf.n.01")
    page.press(Keys.ESCAPE, Keys.ENTER)
    page.shows("#name", "dire_wolf.n.01")
    page.shows("#about", "An unseen entity")
    assert page.answers()
    with facts_by(tmp_path) as kb:
        assert ("dire_wolf.n.01", "hypernym", "wolf.n.01") in kb


def test_a_name_with_a_line_break_is_kept_as_it_is(visit: Visit, tmp_path: Path) -> None:
    page = visit([*TOY_FACTS, ("a\nb", "is\nlike", "wolf.n.01")])
    page.open(entity="a\nb", relation="is\nlike", direction="tail")
    page.until(lambda: page.one("#edit-head").get_attribute("value") == "a⏎b", "it can be seen in the field")
    page.write("#edit-tail", "dog.n.01")
    page.press(Keys.ESCAPE, Keys.ENTER)
    page.until(lambda: page.all(".changes .undo"), "it is added")
    with facts_by(tmp_path) as kb:
        assert ("a\nb", "is\nlike", "dog.n.01") in kb
        page.write("#edit-head", "ab")  # something else is meant
        page.write("#edit-relation", "is⏎like")  # as the list of relations has it
        page.write("#edit-tail", "cat.n.01")
        page.click("#edit-add")
        page.until(lambda: len(page.all(".changes .undo")) == 2, "it is added")
        assert ("ab", "is\nlike", "cat.n.01") in kb


def test_what_was_new_is_not_called_new_once_it_is_added(page: Page) -> None:
    page.open(entity="dog.n.01")
    page.answers()
    page.write("#edit-relation", "eats")
    page.write("#edit-tail", "bone")
    page.shows("#edit-hint", "“bone” will be a new entity. “eats” will be a new relation")
    page.run(SLOW, 700, "^/(entities|relations)")  # what is typed is looked up, and found out after it was added
    page.write("#edit-tail", "bones")
    time.sleep(0.3)
    page.press(Keys.ENTER)
    page.until(lambda: page.all(".changes .undo"), "it is added")
    time.sleep(1.5)
    assert page.text("#edit-hint") == ""


def test_what_others_write_appears_by_itself(page: Page, tmp_path: Path) -> None:
    page.open(**ASKED)
    before = page.answers()
    with facts_by(tmp_path) as kb:
        kb.add(*MIRROR, source="field notes")
        page.shows("#notes", "cat.n.01 hypernym")
        page.shows("#notes", "(field notes)")
        page.until(lambda: page.answers() != before, "the order changes")
        page.add("lion.n.01", "hypernym", "canine.n.02")
        page.until(lambda: "lion.n.01" in page.texts(".star .filler text"), "our own fact is drawn")
        kb.add("puppy.n.01", "similar_to", "fox.n.01")
    page.until(lambda: "puppy.n.01" in page.texts("#notes .note .name"), "the next news")
    assert "lion.n.01" not in page.texts("#notes .note .name")  # what we did ourselves is no news


def test_more_tabs_than_a_browser_has_connections(page: Page, tmp_path: Path) -> None:
    page.open(**ASKED)
    page.answers()
    first = page.driver.current_window_handle
    with facts_by(tmp_path) as kb:
        kb.add("lion.n.01", "hypernym", "canine.n.02")
        page.until(lambda: len(page.all("#notes .note")) == 1, "the first news")
        with page.away(tabs=7):  # each could hold one of six connections
            kb.add(*MIRROR)
        assert page.driver.current_window_handle == first
        page.until(lambda: "cat.n.01" in page.text("#notes"), "what happened meanwhile")
        page.until(lambda: "cat.n.01" in page.texts(".star .filler text"), "is drawn")
        kb.add("puppy.n.01", "similar_to", "fox.n.01")
        page.until(lambda: "puppy.n.01" in page.text("#notes"), "and what happens now")
    time.sleep(1.5)  # whatever is told twice has come by now
    told = page.texts("#notes .note")
    assert [name in text for name, text in zip(("lion", "cat", "puppy"), told, strict=True)] == [True] * 3
    assert not any("other" in text for text in told)


def test_our_own_facts_are_no_news_after_a_while_away(page: Page, tmp_path: Path) -> None:
    page.open(**ASKED)
    page.answers()
    page.run("window.Real = EventSource; window.EventSource = class extends EventTarget { close() {} }")
    with page.away():
        pass  # it comes back deaf
    page.add(*MIRROR)
    page.until(lambda: page.all(".changes .undo"), "it is added")
    page.run("window.EventSource = window.Real")
    with page.away(), facts_by(tmp_path) as kb:
        kb.add("lion.n.01", "hypernym", "canine.n.02")
    page.until(lambda: "lion.n.01" in page.text("#notes"), "what others did")
    assert "cat.n.01" not in page.text("#notes")
    assert "other" not in page.text("#notes .note")


def test_a_model_that_came_while_the_page_was_hidden(visit: Visit, tmp_path: Path, model: Path) -> None:
    page = visit(model=None)
    page.open(**ASKED)
    page.until(lambda: "any-graph" in page.text("#colophon"), "the model that comes with hmem")
    with page.away(), facts_by(tmp_path) as kb:
        kb.use_model(model)
        until(lambda: httpx.get(f"{page.url}/ready").json().get("model") == model.name)
    page.until(lambda: "recall" in page.text("#colophon"), "the other model")
    assert "wolf.n.01" in page.answers()


# Going to and fro


def test_deep_links_and_back(page: Page) -> None:
    page.open(**ASKED, answer="fox.n.01")
    page.shows("#name", "canine.n.02")
    page.one(".reasons .why")  # open at once
    page.click(".reasons .actions a")
    page.shows("#name", "fox.n.01")
    page.choose("similar_to")
    page.until(lambda: "similar_to" in page.driver.current_url, "the question is in the address")
    page.driver.back()
    page.until(lambda: page.one("#missing").get_attribute("aria-pressed") == "true", "the question before")
    page.driver.back()
    page.shows("#name", "canine.n.02")
    page.one(".reasons .why")
    assert page.run("return document.querySelector('#relation').value") == "hyponym"
    page.driver.forward()
    page.shows("#name", "fox.n.01")


def test_the_keyboard_alone_is_enough(page: Page) -> None:
    def tab_to(css: str) -> None:
        for _ in range(60):
            if page.run("return document.activeElement.matches(arguments[0])", css):
                return
            page.press(Keys.TAB)
        raise AssertionError(f"the Tab key never comes to {css}")

    page.open()
    page.one("#find")
    page.press("/", "canine")
    page.until(lambda: page.all("#search .suggestions li"), "suggestions")
    page.press(Keys.ARROW_DOWN, Keys.ENTER)
    page.shows("#name", "canine.n.02")
    tab_to("#relation")
    page.press("hypo")  # a list of choices goes to what is typed
    page.until(lambda: "relation=hyponym" in page.driver.current_url, "the question is asked")
    page.until(lambda: "dog.n.01" in page.answers(), "it is answered")
    before = page.answers()
    tab_to(".answer")
    page.press(Keys.ARROW_DOWN, Keys.ENTER)
    page.until(lambda: page.all(".reasons .why"), "reasons")
    page.press(Keys.ESCAPE)
    page.until(lambda: not page.all(".reasons"), "no reasons")
    tab_to(".star [data-key]")
    first = page.run("return document.activeElement.dataset.key")
    page.press(Keys.ARROW_DOWN)
    assert page.run("return document.activeElement.dataset.key") != first
    tab_to("#edit-head")
    for text in MIRROR:
        page.press(text, Keys.ESCAPE, Keys.TAB)  # what stands in a field is selected when the Tab key comes to it
    page.press(Keys.ENTER)  # the Tab key has come to the button
    page.until(lambda: page.answers() != before, "the fact is added")
    tab_to(".undo")
    page.press(Keys.ENTER)
    page.until(lambda: page.answers() == before, "and taken back")


@pytest.mark.parametrize("text", [SCRIPT, IMAGE])
def test_what_is_said_of_entities_is_text(visit: Visit, text: str) -> None:
    said = [
        Description(id="canine.n.02", label=text, aliases=(f"a {text}",), kind=text, description=text),
        Description(id="fox.n.01", label=f"{text}!", kind=text),
        Description(id="hyponym", label=text),
    ]
    page = visit(entities=said)
    page.open()
    page.until(lambda: text in page.text("#welcome .kinds"), "a kind")
    page.until(lambda: page.all(".question-card"), "questions")
    page.one("#find").send_keys(text[:8])
    page.until(lambda: text in page.texts("#search .suggestions .name"), "in the suggestions")
    page.open(**ASKED)
    page.shows("#name", text)
    page.shows("#said", f"a {text}")
    page.until(lambda: any(f"{text}!" in each for each in page.answers()), "in the answers")
    page.until(lambda: text in page.texts(".legend .kind"), "in the legend")
    page.open(kind=text)
    page.until(lambda: f"{text}!" in page.texts("#welcome a.name"), "among its kind")
    assert page.run("return window.broken") is None
    assert page.run("return document.querySelectorAll('script').length") == 2
    assert page.run("return document.querySelectorAll('img').length") == 0


@pytest.mark.parametrize("name", [SCRIPT, IMAGE])
def test_names_are_text(visit: Visit, tmp_path: Path, name: str) -> None:
    page = visit([*TOY_FACTS, (name, "hypernym", "canine.n.02")])
    page.open(**ASKED)
    page.until(lambda: any(name.startswith(text[:20]) for text in page.texts(".star .filler text")), "in the drawing")
    assert name in page.answers()
    page.open_answer(name)
    page.until(lambda: f"{name} hypernym canine.n.02" in page.texts(".reasons .fact"), "in the reasons")
    page.one("#find").send_keys(name[:12])
    page.until(lambda: name in page.texts("#search .suggestions .name"), "in the suggestions")
    page.open(entity=name)
    page.shows("#name", name)
    page.until(lambda: name in page.driver.title, "in the title")
    with facts_by(tmp_path) as kb:
        kb.add("puppy.n.01", "similar_to", name, source=name)
    page.until(lambda: name in page.text("#notes"), "in the news")
    page.open(entity=name + "?")
    page.until(lambda: name in page.texts("#welcome a.name"), "among the names that may have been meant")
    assert page.run("return window.broken") is None
    assert page.run("return document.querySelectorAll('script').length") == 2
    assert page.run("return document.querySelectorAll('img').length") == 0


# How it looks


@pytest.mark.parametrize(
    "view",
    [
        {},
        {"entity": "canine.n.02"},
        {**ASKED, "answer": "fox.n.01"},
        {**ASKED, "at": "2019-03-01"},
        {"entity": "woolf"},
        {"entity": "L" * 200},
        {"kind": "k" * 100},
    ],
)
def test_a_narrow_screen_needs_no_scrolling_sideways(visit: Visit, tmp_path: Path, view: dict[str, str]) -> None:
    long = {"label": "L" * 200, "kind": "k" * 100, "description": "d" * 500, "aliases": ("a" * 200,)}
    said = [Description(id=name, **long) for name in ("canine.n.02", "fox.n.01")]  # type: ignore[arg-type]
    facts: list[Names3] = [("x" * 400, "hypernym", "canine.n.02"), ("canine.n.02", "r" * 300, "dog.n.01")]
    page = visit([*TOY_FACTS, *facts], entities=said)
    with facts_by(tmp_path) as kb:
        kb.add("canine.n.02", "hyponym", "fox.n.01", valid_from="2021-06-01")
        kb.add("puppy.n.01", "hypernym", "canine.n.02", valid_from="2019-03-01")
        kb.add_many([("i" * 300, "hypernym", "canine.n.02")], inferred_by="m" * 100, probability=0.5)
        kb.store.values.set_all([("canine.n.02", "p" * 200, Value(text="v" * 300, unit="u" * 100))])
    page.look_through(NARROW)
    page.open(**view)
    page.one("#name, #welcome h1")
    if "answer" in view:
        page.one(".reasons .why")
    assert page.run("return document.documentElement.scrollWidth") == NARROW[0]
    edges = "[...document.querySelectorAll('.star text')].map(each => each.getBoundingClientRect().right)"
    assert page.run(f"return Math.max(0, ...{edges})") <= NARROW[0]


def test_light_and_dark_by_preference_and_by_choice(page: Page) -> None:
    def paper() -> str:
        return str(page.run("return getComputedStyle(document.documentElement).backgroundColor"))

    page.open()
    light = paper()
    page.look_through(scheme="dark")
    page.until(lambda: paper() != light, "the system's preference")
    page.click("#theme")
    page.until(lambda: paper() == light, "the reader's choice goes before")
    page.open()
    assert paper() == light  # and is remembered
    assert page.one("#theme").text == "Theme: light"
    assert page.one("#theme").get_attribute("aria-label") == "Theme: light. Change to dark"


def test_a_very_long_heading_ends_with_an_ellipsis(visit: Visit) -> None:
    page = visit([("w" * 9000, "hypernym", "wolf.n.01")])
    for size in (WIDE, NARROW):
        page.look_through(size)
        page.open(entity="w" * 9000)
        heading = page.one("#name")
        assert page.run("return getComputedStyle(arguments[0]).webkitLineClamp", heading) == "7"
        assert heading.size["height"] < 200
        assert len(str(heading.get_attribute("title"))) == 9000  # in full when it is pointed at


# When something is not there


def test_nothing_is_chosen(page: Page) -> None:
    page.open()
    page.shows("#welcome", "32 facts about 18 entities")
    page.until(lambda: page.texts("#welcome a.name"), "somewhere to start")
    page.click("#welcome a.name")
    page.until(lambda: page.text("#name"), "which leads on")


def test_the_first_page_invites(visit: Visit) -> None:
    page = visit(entities=NAMED)
    page.open()
    page.until(lambda: page.texts("#welcome .kinds .chip") == ["animal 3", "breed 1", "family 1"], "what is in it")
    page.shows("#welcome", "comprises")
    card = page.until(lambda: page.all(".question-card"), "questions worth asking")[0]
    assert "%" in card.text
    card.click()
    page.one(".reasons .why")  # its best answer is open
    page.driver.back()
    page.click("#welcome .kinds a")
    page.shows("#welcome h1", "animal")
    page.until(lambda: sorted(page.texts("#welcome a.name")) == ["dog", "fox", "wolf"], "all of the kind")
    page.open(kind="nothing")
    page.shows("#welcome", "No entity is of this kind")


def test_an_empty_base(visit: Visit) -> None:
    page = visit([], model=None)
    page.open()
    page.shows("#welcome", "no facts yet")
    page.add("a", "knows", "b")
    page.shows("#name", "a")


def test_an_entity_without_facts(page: Page, tmp_path: Path) -> None:
    with facts_by(tmp_path) as kb:
        kb.add("red_wolf.n.01", "hypernym", "wolf.n.01")
        kb.remove("red_wolf.n.01", "hypernym", "wolf.n.01")
    page.open(entity="red_wolf.n.01")
    page.shows("#about", "No stored facts")
    page.shows("#answers", "No facts are stored about it yet")


def test_without_a_model_of_its_own_a_base_answers(visit: Visit) -> None:
    page = visit(model=None)
    page.open(**ASKED)
    assert page.answers()
    assert page.all(".star .spoke")
    page.add(*MIRROR)
    page.until(lambda: "cat.n.01" in page.texts(".star .filler text"), "and can be added")


def test_without_the_right_to_write_there_is_no_form(visit: Visit) -> None:
    page = visit(allow_writes=False)
    page.open(**ASKED)
    page.shows("#edit", "read-only")
    page.answers()
    page.open_answer("fox.n.01")
    assert not page.all("#adding")
    assert not page.all(".reasons .store")


@pytest.mark.parametrize("act", ["undo", "add"])
def test_what_is_finished_late_leaves_the_focus_where_it_is(page: Page, act: str) -> None:
    page.open(**ASKED)
    page.answers()
    page.add(*MIRROR)
    page.until(lambda: page.all(".changes .undo"), "it is added")
    page.until(lambda: page.run("return document.activeElement.id") == "edit-head", "the focus is at the next end")
    if act == "add":
        page.write("#edit-head", "lynx.n.02")
    page.run(SLOW, 700, ".")
    page.click(".changes .undo" if act == "undo" else "#edit-add")
    page.click("#edit-relation")
    page.until(lambda: len(page.all(".changes li")) == (0 if act == "undo" else 2), "it is done")
    page.write("#edit-relation", "_member_meronym")
    time.sleep(2)  # the rest of the page has come by now
    assert page.run("return document.activeElement.id") == "edit-relation"
    assert page.run("return document.getElementById('edit-relation').value") == "_member_meronym"


def test_the_token_is_asked_for_once(visit: Visit, tmp_path: Path) -> None:
    page = visit(token="secret")
    page.open(**ASKED)
    page.answers()
    page.add(*MIRROR)
    page.one("#token-value").send_keys("guess", Keys.ENTER)
    page.shows("#token", "did not accept")
    page.one("#token-value").send_keys("secret", Keys.ENTER)
    page.until(lambda: page.all(".changes .undo"), "it is added")
    assert page.run("return [document.querySelector('#token').children.length, token.returnValue]") == [0, ""]
    page.click(".changes .undo")
    page.until(lambda: not page.all(".changes li"), "and removed, without asking again")
    with facts_by(tmp_path) as kb:
        assert MIRROR not in kb
    page.driver.execute_script("sessionStorage.clear()")
    page.add(*MIRROR)
    page.one("#token-value").send_keys(Keys.ESCAPE)
    page.shows("#edit-hint", "Nothing was changed")


def test_the_server_goes_away(driver: Chrome, tmp_path: Path, model: Path) -> None:
    KnowledgeBase.create(tmp_path / "zoo.kb", model=model, facts=TOY_FACTS).close()
    with served(tmp_path / "zoo.kb", allow_writes=True) as url:
        page = Page(driver, url)
        page.look_through()
        page.open(**ASKED)
        before = page.answers()
    page.shows("#banner", "does not answer")
    assert page.answers() == before  # what is on the page stays
    page.add(*MIRROR)
    page.shows("#edit-hint", "does not answer")
    page.click("#swap")
    page.shows("#welcome", "The server does not answer")
    driver.get("about:blank")
    assert all("ERR_CONNECTION_REFUSED" in complaint for complaint in page.complaints())
