"""The page in a real browser, before a real server."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import time
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import httpx
import numpy as np
import pytest

from toy import BAD, FRAMES, GOOD, toy_texts, write_csv
from vmask import TextClassifier
from vmask.config import option
from vmask.explain import EXPLAINERS
from vmask.explain.contract import Explainer
from vmask.explain.highlight import AGAINST, FOR, opacity

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
pytest.importorskip("fastapi", reason="needs vmask[serve]")

from serve.browser import CONTRAST, Site, find_browser  # noqa: E402
from vmask.serve.app import create_app  # noqa: E402
from vmask.serve.config import ServeConfig  # noqa: E402
from vmask.serve.server import bind  # noqa: E402

BROWSER = find_browser()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium; VMASK_CHROMIUM names it"),
]
expect = playwright.expect
EVIL = """<script>document.title='run'</script> <img src=x onerror="document.title='run'"> a lovely <u>film</u>"""
TEXT = "a lovely film about a small town"


@dataclass(frozen=True)
class LoudOptions:
    """Options of every kind."""

    loudness: int = option(3, "how loud it is")
    share: float = option(0.5, "how much of it")
    tone: Literal["high", "low"] = option("high", "which voice")
    shout: bool = option(False, "louder still")
    seconds: float = option(0.0, "how long it thinks")


class Loud(Explainer):
    """Loud words: the longer, the louder."""

    Options = LoudOptions

    def explain_batch(self, predictor, docs, targets, seed, hide):
        end = time.monotonic() + self.options.seconds
        while time.monotonic() < end:
            predictor.predict_kept(
                docs, [np.ones((1, len(doc.spans)), bool) for doc in docs]
            )  # where it can be stopped
            time.sleep(0.01)
        for doc, probabilities in zip(docs, predictor.predict_docs(docs), strict=True):
            sign = -1 if self.options.tone == "low" else 1
            scores = [sign * self.options.loudness * len(word) for word in doc.words]
            yield self.finished(predictor, doc, scores, 0, probabilities[0], hide=hide)


@pytest.fixture(scope="module")
def folders(model_folder, toy, tmp_path_factory):
    """A model that ranks words, and one that does not."""
    texts, labels = toy
    base = TextClassifier(mask="base", embeddings="random", epochs=2, model__filters=8, seed=2).fit(texts, labels)
    return [model_folder, base.save(tmp_path_factory.mktemp("models") / "base")]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A dataset whose test texts one can count on; the last is labelled wrong, and malicious."""
    folder = tmp_path_factory.mktemp("data")
    for split, seed in (("train", 0), ("dev", 1)):
        write_csv(folder / f"{split}.csv", *toy_texts(40, seed))
    pairs = [
        (frame.format(word), label)
        for frame in FRAMES
        for words, label in ((BAD, "neg"), (GOOD, "pos"))
        for word in words
    ]
    write_csv(folder / "test.csv", *zip(*pairs, (EVIL, "neg"), strict=True))
    return folder


@pytest.fixture(scope="module")
def site(folders, data):
    """The server, and an explainer that the page has never heard of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXPLAINERS._loaded, "loud", Loud)
        served = Site(create_app(folders, settings=ServeConfig(port=0), data=str(data)), bind("127.0.0.1", 0))
        yield served
        served.stop()


@pytest.fixture
def ask(site):
    """What the API says to a text."""

    def post(path, **body):
        texts = [body.pop("text")]
        answer = httpx.post(f"{site.address}/api/{path}", json={"texts": texts, **body}).raise_for_status().json()
        return answer["predictions" if path == "predict" else "explanations"][0]

    return post


def write(page, text):
    page.get_by_label("Your text").fill(text)
    expect(page.locator(".highlighted")).to_have_text(text)


def shown(page, panel=0):
    """The probabilities that are seen, as (before, after) in percent."""
    rows = page.locator(".panel").nth(panel).locator(".classes .num").all_inner_texts()
    return [tuple(float(one.strip(" %")) for one in row.split("→")) for row in rows]


def percents(probabilities):
    return [round(100 * one, 1) for one in probabilities]


def expect_probabilities(page, probabilities, panel=0):
    """The bars say these probabilities in the end."""
    rows = page.locator(".panel").nth(panel).locator(".classes .num")
    expect(rows).to_have_count(len(probabilities))
    for row, value in zip(rows.all(), probabilities, strict=True):
        expect(row).to_contain_text(f"{100 * value:.1f}%")


def opacity_of(ground, colour):
    """How much of a colour is in the ground that the browser tells, such as `rgba(17, 94, 163, 0.25)`."""
    *rgb, share = (float(part) for part in re.findall(r"[\d.]+", ground + ("" if "rgba" in ground else " 1")))
    assert tuple(rgb) == colour
    return share


def grounds(page):
    return page.locator(".word").evaluate_all("(all) => all.map((one) => getComputedStyle(one).backgroundColor)")


def open_tab(page, name):
    page.get_by_role("tab", name=name).click()


def test_it_opens_with_a_test_text_in_colour(page):
    expect(page.get_by_label("Your text")).to_have_value(FRAMES[0].format(BAD[0]))
    expect(page.locator("#origin")).to_have_text("A test text, in truth neg")
    assert any("17, 94, 163" in ground for ground in grounds(page))
    expect(page.locator(".legend")).to_have_text("matters less\u00a0\u00a0\u00a0matters most")
    expect(page).to_have_title("CNN-vmask · vmask")


def test_words_are_coloured_and_the_prediction_follows_as_one_types(page, ask):
    page.get_by_label("Your text").press_sequentially(", a lovely one")
    text = page.get_by_label("Your text").input_value()
    expect(page.locator(".highlighted")).to_have_text(text)
    told = ask("explain", text=text)
    expect_probabilities(page, told["probabilities"])
    expect(page.locator(".headline")).to_contain_text(told["predicted"])
    expect(page.locator(".word")).to_have_count(len(told["words"]))
    for word, ground in zip(told["words"], grounds(page), strict=True):
        assert opacity_of(ground, FOR) == pytest.approx(opacity(word["strength"]), abs=0.01)
    expect(page.locator("#live")).to_contain_text(f"Prediction: {told['predicted']}")
    expect(page.locator("#origin")).to_have_text("")


def test_an_answer_that_comes_too_late_is_dropped(page):
    held = []
    page.route(
        "**/api/explain", lambda route: held.append(route) if "first" in route.request.post_data else route.continue_()
    )
    with page.expect_request("**/api/explain"):
        page.get_by_label("Your text").fill("the first text")
    with page.expect_request_finished(lambda request: request.url.endswith("/api/explain")):
        write(page, "the second text")
    for route in held:
        with contextlib.suppress(playwright.Error):  # the page no longer waits for it
            route.continue_()
    expect(page.locator(".status")).to_contain_text("ms")
    expect(page.locator(".highlighted")).to_have_text("the second text")


def test_an_explainer_with_signs_has_two_colours_and_another_legend(page, ask):
    write(page, "a lovely film, though the second half turns dreadful")
    page.get_by_label("Coloured by").select_option(label="LIME")
    expect(page.locator(".steps mark")).to_have_count(6)
    told = ask("explain", text="a lovely film, though the second half turns dreadful", explainer="lime")
    expect(page.locator(".legend")).to_contain_text(f"for {told['label']}")
    expect(page.locator(".legend")).to_contain_text(f"against {told['label']}")
    expect(page.locator(".status")).to_contain_text("fit R²")
    for word, ground in zip(told["words"], grounds(page), strict=True):
        colour = AGAINST if word["score"] < 0 else FOR
        assert opacity_of(ground, colour) == pytest.approx(opacity(word["strength"]), abs=0.01)
    assert page.locator("[aria-label='Words against the class'] li").count() > 0


def test_places_of_a_word_that_score_alike_share_a_bar(page):
    write(page, "lovely and lovely")
    expect(page.locator(".strongest b")).to_have_text(["lovely ×2", "and"])


def test_hidden_words_are_marked_among_the_strongest(page):
    write(page, "lovely and lovely, so dreadful")
    names = page.locator(".strongest b")
    lovely, dreadful = names.filter(has_text="lovely"), names.filter(has_text="dreadful")
    page.get_by_role("button", name="dreadful").click()
    expect(dreadful).to_have_text("dreadful, hidden")
    expect(dreadful).to_have_css("text-decoration-line", "line-through")
    page.get_by_role("button", name="lovely").first.click()
    expect(lovely).to_have_text("lovely ×2, 1 of 2 hidden")
    expect(lovely).to_have_css("text-decoration-line", "none")
    page.get_by_role("button", name="lovely").last.click()
    expect(lovely).to_have_css("text-decoration-line", "line-through")
    page.get_by_role("button", name="Show all words").click()
    expect(dreadful).to_have_text("dreadful")
    expect(dreadful).to_have_css("text-decoration-line", "none")


def test_the_class_is_no_choice_where_scores_do_not_depend_on_it(page):
    chosen = page.get_by_role("combobox", name="For the class")
    expect(chosen).to_be_disabled()
    expect(chosen).to_have_attribute("title", "These scores are the same for every class.")
    page.get_by_label("Coloured by").select_option(label="Occlusion")
    expect(chosen).to_be_enabled()
    expect(chosen).to_have_attribute("title", "")
    page.get_by_label("Coloured by").select_option("mask")
    expect(chosen).to_be_disabled()
    page.get_by_label("Compare with").select_option("base")  # it has no mask and is explained by LIME
    expect(chosen).to_be_enabled()


def with_scores(page, *scores):
    """Let the server answer with these scores, as strong as they are within the text."""

    def handle(route):
        answer = route.fetch()
        body = answer.json()
        for word, score in zip(body["explanations"][0]["words"], scores, strict=True):
            word |= {"score": score, "strength": score / max(map(abs, scores))}
        route.fulfill(response=answer, json=body)

    page.route("**/api/explain", handle)


@pytest.mark.parametrize(("greatest", "faint"), [(-0.00499, True), (0.00501, False)])
def test_scores_that_say_nothing_are_not_coloured(page, greatest, faint):
    write(page, "a lovely film")
    with_scores(page, 0.0001, greatest, -0.00006)
    page.get_by_label("Coloured by").select_option(label="LIME")
    expect(page.locator(".status")).to_contain_text("fit R²")
    said = "No word moves this prediction by half a percentage point"
    assert (said in page.locator(".status").inner_text()) == faint
    assert page.locator(".legend").is_hidden() == faint
    assert opacity_of(grounds(page)[1], FOR) == (0 if faint else 1)
    lengths = page.locator(".strongest i").evaluate_all("(all) => all.map((one) => parseFloat(one.style.width))")
    assert max(lengths) == pytest.approx(100, abs=0.3)
    assert min(lengths) < 2


def test_another_class_can_be_explained(page, ask):
    write(page, TEXT)
    page.get_by_label("Coloured by").select_option(label="LIME")
    page.get_by_role("combobox", name="For the class").select_option("neg")
    expect(page.locator(".legend")).to_contain_text("for neg")
    page.get_by_role("combobox", name="For the class").select_option("pos")
    expect(page.locator(".legend")).to_contain_text("for pos")
    told = ask("explain", text=TEXT, explainer="lime", target="pos")
    strongest = max(told["words"], key=lambda word: word["score"])
    expect(page.locator("[aria-label='Words for the class'] li b").first).to_have_text(strongest["word"])


def test_a_hidden_word_moves_the_prediction(page, ask):
    write(page, TEXT)
    before = ask("predict", text=TEXT)["probabilities"]
    after = ask("predict", text=TEXT, hidden=[[1]])["probabilities"]
    page.get_by_role("button", name="lovely").click()
    expect(page.get_by_role("button", name="lovely")).to_have_attribute("aria-pressed", "true")
    expect_probabilities(page, after)
    assert shown(page) == list(zip(percents(before), percents(after), strict=True))
    expect(page.locator("#live")).to_contain_text("With 1 word hidden")
    expect(page.locator(".hiding")).to_contain_text("1 word hidden. Colours and scores are of the whole text.")
    page.get_by_role("button", name="Show all words").click()
    expect(page.locator(".hiding")).not_to_contain_text("whole text")
    expect(page.get_by_role("button", name="lovely")).to_have_attribute("aria-pressed", "false")
    expect(page.get_by_role("button", name="Show all words")).to_be_hidden()
    expect_probabilities(page, before)
    assert shown(page) == [(one,) for one in percents(before)]


def test_words_are_reached_and_hidden_by_keyboard(page, ask):
    write(page, TEXT)
    page.locator(".word").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="lovely")).to_be_focused()
    expect(page.locator("#tip")).to_contain_text("importance")
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    page.keyboard.press("Space")
    expect(page.locator("[aria-pressed=true]")).to_have_count(2)
    expect_probabilities(page, ask("predict", text=TEXT, hidden=[[1, 6]])["probabilities"])
    page.keyboard.press("Home")
    expect(page.locator(".word").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#tip")).to_be_hidden()
    assert page.locator(".word[tabindex='0']").count() == 1


def test_the_rule_of_hiding_is_a_choice(page, ask):
    write(page, TEXT)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_label("hiding").select_option("zero")
    page.get_by_role("button", name="lovely").click()
    expect_probabilities(page, ask("predict", text=TEXT, hidden=[[1]], hide="zero")["probabilities"])
    expect(page.locator("#hide-help")).to_contain_text("zeros")


def test_a_new_explainer_appears_with_its_options(page):
    write(page, TEXT)
    page.get_by_label("Coloured by").select_option(label="Loud words")
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_label("loudness")).to_have_value("3")
    expect(page.get_by_label("share")).to_have_attribute("type", "number")
    expect(page.get_by_label("shout")).to_have_attribute("type", "checkbox")
    expect(page.get_by_text("how loud it is")).to_be_visible()
    first = page.locator(".strongest .num").first
    expect(first).to_have_text("+18.0")
    page.get_by_label("loudness").fill("5")
    page.get_by_label("loudness").press("Enter")
    expect(first).to_have_text("+30.0")
    page.get_by_label("tone").select_option("low")
    expect(first).to_have_text("−30.0")
    page.get_by_label("shout").check()
    expect(page).to_have_url(re.compile("option.shout=true"))
    page.get_by_label("Coloured by").select_option(label="LIME")
    expect(page.get_by_label("loudness")).to_have_count(0)
    expect(page.get_by_label("samples", exact=True)).to_have_value("1000")


def test_a_slow_explainer_shows_that_it_works_and_can_be_stopped(page, site):
    write(page, TEXT)
    page.get_by_label("Coloured by").select_option(label="Loud words")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_label("seconds").fill("50")
    page.get_by_label("seconds").press("Enter")
    expect(page.locator(".status progress")).to_be_visible()
    page.get_by_role("button", name="lovely").click()  # the rest goes on meanwhile
    expect(page.get_by_role("button", name="Show all words")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".status")).to_contain_text("Stopped.")
    expect(page.locator(".legend")).to_be_hidden()
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".status progress")).to_be_visible()
    page.get_by_label("seconds").fill("0")
    page.get_by_label("seconds").press("Enter")
    expect(page.locator(".strongest .num").first).to_have_text("+18.0")


def test_what_the_server_refuses_is_said_in_its_words(page, watch):
    watch.allowed = "422"
    page.get_by_label("Coloured by").select_option(label="LIME")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_label("samples", exact=True).fill("-1")
    page.get_by_label("samples", exact=True).press("Enter")
    expect(page.get_by_role("alert").filter(has_text="samples")).to_be_visible()
    page.get_by_label("samples", exact=True).fill("")
    page.get_by_label("samples", exact=True).press("Enter")
    expect(page.locator(".status")).to_contain_text("fit R²")


@pytest.mark.parametrize(
    ("status", "helps"), [(400, False), (404, False), (413, False), (422, False), (408, True), (500, True), (503, True)]
)
def test_another_try_is_offered_where_it_can_succeed(page, watch, status, helps):
    watch.allowed = str(status)
    left = answers_at_first(page, "**/api/explain", status, {"detail": "It did not work."})
    page.get_by_label("Coloured by").select_option(label="Occlusion")
    expect(page.get_by_role("alert").filter(has_text="It did not work.")).to_be_visible()
    assert not left
    again = page.get_by_role("button", name="Try again")
    expect(again).to_have_count(int(helps))
    if helps:
        again.click()
        expect(page.locator(".steps mark")).to_have_count(6)


def test_the_least_certain_first_is_an_order_and_says_so(page, site):
    open_tab(page, "Examples")
    status = page.locator("#examples-status")
    expect(status).to_contain_text("(test). The model")
    page.get_by_role("combobox", name="Show").select_option(label="all, least certain first")
    expect(status).to_contain_text("(test), least certain first. The model")
    told = httpx.get(f"{site.address}/api/examples", params={"show": "uncertain"}).json()
    expect(status).to_contain_text(f"{told['total']} texts")
    expect(page.locator(".example .quoted").first).to_have_text(told["examples"][0]["text"])


def test_examples_are_filtered_and_opened(page):
    open_tab(page, "Examples")
    rows = page.locator(".example")
    expect(rows).to_have_count(20)
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(40)
    page.get_by_role("combobox", name="Show").select_option("wrong")
    page.get_by_label("In truth").select_option("neg")
    page.get_by_role("combobox", name="Predicted").select_option("pos")
    page.get_by_role("searchbox", name="Search").fill("ONERROR")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("✗ in truth neg")
    rows.click()
    expect(page.get_by_role("tab", name="Text")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_label("Your text")).to_have_value(EVIL)
    expect(page.locator("#origin")).to_have_text("A test text, in truth neg")
    page.go_back()
    expect(page.get_by_role("tab", name="Examples")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("ONERROR")
    expect(rows).to_have_count(1)
    page.get_by_role("searchbox", name="Search").fill("no such text")
    expect(page.locator("#examples-status")).to_have_text("There is nothing like that.")


def test_words_are_searched_sorted_and_lead_to_examples(page, site):
    open_tab(page, "Words")
    rows = page.locator("#words-rows tr")
    expect(rows.first).to_be_visible()
    counts = page.locator("#words-rows td.num:not(.importance)")
    page.get_by_label("At least").press("End")
    expect(page.locator("#words-status")).to_have_text("There is nothing like that.")
    for _ in range(5):
        page.get_by_label("At least").press("ArrowLeft")
    expect(page.locator("#min-value")).to_have_text("20 times")
    told = httpx.get(f"{site.address}/api/words", params={"min_count": 20, "sort": "count"}).json()
    expect(page.locator("#words-status")).to_contain_text(f"{told['total']} words")
    page.get_by_role("button", name="Count").click()
    expect(page.get_by_role("columnheader", name="Count")).to_have_attribute("aria-sort", "descending")
    expect(counts.first).to_have_text(str(told["words"][0]["count"]))
    page.get_by_label("At least").press("Home")
    page.get_by_role("searchbox", name="Search").fill("DREAD")
    expect(rows).to_have_count(1)
    rows.get_by_role("button", name="dreadful").click()
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("dreadful")
    expect(page.locator(".example")).to_have_count(len(FRAMES))
    page.go_back()
    expect(rows).to_have_count(1)


def test_a_table_is_scored_and_downloaded(page, ask, tmp_path):
    texts = ["a lovely film", 'a "dreadful", long\nfilm', "<b>awful</b> & more"]
    path = write_csv(tmp_path / "reviews.csv", texts, range(3), header=("review", "id"))
    open_tab(page, "File")
    page.get_by_label("Drop a table here").set_input_files(path)
    expect(page.get_by_role("heading", name="3 texts scored")).to_be_visible()
    expect(page.locator("#scored")).to_contain_text("column review")
    expect(page.locator("#scored tbody tr")).to_have_count(3)
    expect(page.locator("#scored tbody td").nth(3)).to_have_text(texts[1])
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download CSV").click()
    assert downloading.value.suggested_filename == "reviews-predicted.csv"
    rows = list(csv.DictReader(io.StringIO(downloading.value.path().read_text(encoding="utf-8-sig"))))
    assert [row["review"] for row in rows] == texts
    for row in rows:
        told = ask("predict", text=row["review"])
        assert row["predicted"] == told["label"]
        assert float(row["probability_pos"]) == pytest.approx(told["probabilities"][1], abs=1e-4)


def test_a_table_that_cannot_be_scored_is_said(page, watch, tmp_path):
    watch.allowed = "4(04|13|22)"
    path = write_csv(tmp_path / "reviews.csv", ["a lovely film"], [1], header=("review", "id"))
    open_tab(page, "File")
    page.get_by_label("Column of the texts").fill("nonsense")
    page.get_by_label("Drop a table here").set_input_files(path)
    expect(page.locator("#file-status")).to_contain_text("nonsense")
    page.get_by_label("Column of the texts").fill("")
    page.get_by_role("button", name="Score again").click()
    expect(page.get_by_role("heading", name="1 text scored")).to_be_visible()
    huge = {"name": "huge.csv", "mimeType": "text/csv", "buffer": b"text\n" + b"x" * (5 << 20)}
    page.get_by_label("Drop a table here").set_input_files(huge)
    expect(page.locator("#file-status")).to_have_text("huge.csv is larger than 4 MB. Cut it into parts.")


def test_a_column_that_is_not_found_is_asked_for_by_the_name_of_its_field(page, watch, tmp_path):
    watch.allowed = "422"
    open_tab(page, "File")
    page.get_by_label("Drop a table here").set_input_files(
        write_csv(tmp_path / "a.csv", ["1"], ["2"], header=("a", "b"))
    )
    field = page.locator("label", has=page.locator("#column")).inner_text().strip()
    expect(page.locator("#file-status")).to_contain_text(f"by `column` (on the page: {field})")


def test_empty_texts_of_a_table_are_counted(page, tmp_path):
    open_tab(page, "File")
    texts = ["a lovely film", "", " ", "a dreadful film"]
    page.get_by_label("Drop a table here").set_input_files(write_csv(tmp_path / "a.csv", texts, range(4)))
    expect(page.get_by_role("heading", name="4 texts scored by CNN-vmask, 2 of them empty")).to_be_visible()
    page.get_by_label("Drop a table here").set_input_files(write_csv(tmp_path / "b.csv", texts[:1], [0]))
    expect(page.get_by_role("heading", name="1 text scored by CNN-vmask", exact=True)).to_be_visible()


def test_a_file_may_be_dropped_anywhere(page):
    page.evaluate("""() => {
      const moved = new DataTransfer();
      moved.items.add(new File(["text\\na lovely film\\n"], "dropped.csv", { type: "text/csv" }));
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: moved, bubbles: true, cancelable: true }));
    }""")
    expect(page.get_by_role("heading", name="1 text scored")).to_be_visible()


def test_a_malicious_text_stays_a_text(context, watch, site):
    context.add_init_script("addEventListener('securitypolicyviolation', (e) => console.error(e.violatedDirective))")
    page = context.new_page()
    page.goto("/")
    write(page, EVIL)
    page.get_by_role("button", name="lovely").click()
    page.get_by_label("Coloured by").select_option(label="LIME")
    expect(page.locator(".steps mark")).to_have_count(6)
    open_tab(page, "Examples")
    page.get_by_role("searchbox", name="Search").fill("onerror")
    expect(page.locator(".example")).to_have_count(1)
    expect(page.locator(".example .quoted")).to_have_text(EVIL)
    open_tab(page, "File")
    table = {
        "name": "<img src=x>.csv",
        "mimeType": "text/csv",
        "buffer": f'text\n"{EVIL.replace(chr(34), chr(34) * 2)}"\n'.encode(),
    }
    page.get_by_label("Drop a table here").set_input_files(table)
    expect(page.locator("#scored .quoted")).to_have_text(EVIL)
    assert page.locator("img, main script, u").count() == 0
    assert page.title() != "run"


def test_offsets_count_code_points_and_texts_may_run_from_right_to_left(page, ask):
    text = "🎬👩‍👩‍👧 a lovely 🎉 film\n\nفيلم lovely"
    page.get_by_label("Your text").fill(text)
    expect(page.get_by_role("button", name="lovely")).to_have_count(2)
    told = ask("explain", text=text)
    assert page.locator(".word").all_text_contents() == [word["word"] for word in told["words"]]
    assert page.locator(".highlighted").evaluate("(node) => node.textContent") == text
    write(page, "فيلم lovely جدا")
    assert page.locator(".highlighted").evaluate("(node) => getComputedStyle(node).direction") == "rtl"
    page.locator(".word").first.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".word").nth(1)).to_be_focused()


def test_empty_and_long_texts(page, site):
    page.get_by_label("Your text").fill("")
    expect(page.locator(".highlighted")).to_have_text("(an empty text)")
    expect(page.locator(".headline")).to_contain_text("%")
    most = httpx.get(f"{site.address}/api/options").json()["models"][0]["max_words"]
    page.get_by_label("Your text").fill("lovely " * (most + 3))
    expect(page.locator(".word")).to_have_count(most)
    expect(page.locator(".coloured")).to_contain_text("3 words past the model's limit")


def test_a_copied_link_restores_what_was_seen(page, context):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    text = f"{TEXT} & more\nüber 🎬 #1"
    page.get_by_label("Your text").fill(text)
    page.get_by_label("Coloured by").select_option(label="LIME")
    page.get_by_role("combobox", name="For the class").select_option("pos")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_label("samples", exact=True).fill("300")
    page.get_by_label("samples", exact=True).press("Enter")
    page.get_by_label("hiding").select_option("zero")
    page.get_by_role("button", name="lovely").click()
    expect(page.locator(".hiding")).to_contain_text("1 word hidden")
    expect(page.locator(".strongest li").first).to_be_visible()
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#copied")).to_have_text("Link copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    other = context.new_page()
    other.goto(link)
    expect(other.get_by_label("Your text")).to_have_value(text)
    expect(other.get_by_label("Coloured by")).to_have_value("lime")
    expect(other.get_by_role("combobox", name="For the class")).to_have_value("pos")
    expect(other.get_by_role("button", name="lovely")).to_have_attribute("aria-pressed", "true")
    expect(other.locator(".strongest li").first).to_be_visible()
    expect(other.get_by_label("samples", exact=True)).to_have_value("300")
    expect(other.get_by_label("hiding")).to_have_value("zero")
    expect(other.locator(".classes .num")).to_have_text(page.locator(".classes .num").all_inner_texts())
    assert other.locator(".word").evaluate_all("(all) => all.map((one) => one.style.cssText)") == page.locator(
        ".word"
    ).evaluate_all("(all) => all.map((one) => one.style.cssText)")


def test_that_a_link_was_copied_is_said_until_something_changes(page, context):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#copied")).to_have_text("Link copied.")
    write(page, TEXT)
    expect(page.locator("#copied")).to_have_text("")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_label("Link to what is seen")).to_be_visible()
    page.get_by_role("button", name="lovely").click()
    expect(page.get_by_label("Link to what is seen")).to_be_hidden()


@pytest.mark.parametrize(
    ("link", "opens"),
    [
        ("hide=zero", True),
        ("explainer=lime&option.samples=300", True),
        ("explainer=lime&seed=3", True),
        ("hide=remove&seed=3&explainer=mask&option.samples=300", False),  # nothing that the mask knows of
        ("hide=none", False),
    ],
)
def test_a_link_opens_the_options_that_it_changes(context, watch, link, opens):
    page = context.new_page()
    page.goto(f"/#text=a+lovely+film&{link}")
    expect(page.locator(".word").first).to_be_visible()
    expect(page.get_by_label("hiding")).to_be_visible(visible=opens)
    more = page.get_by_role("button", name="More", exact=True)
    expect(more).to_have_attribute("aria-expanded", str(opens).lower())


def test_a_link_with_nonsense_in_it_opens_all_the_same(context, watch):
    page = context.new_page()
    page.goto(
        "/#model=gone&tab=nowhere&explainer=none&target=none&hide=none&hidden=x,,1&text=a+lovely+film&evil=1&min=x"
    )
    expect(page.get_by_role("button", name="lovely")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".headline")).to_contain_text("%")


def test_two_models_stand_side_by_side(page, ask):
    write(page, TEXT)
    page.get_by_label("Compare with").select_option("base")
    panels = page.locator(".panel")
    expect(panels).to_have_count(2)
    expect_probabilities(page, ask("predict", text=TEXT, model="base")["probabilities"], panel=1)
    expect_probabilities(page, ask("predict", text=TEXT)["probabilities"])
    expect(panels.nth(0).locator(".status")).not_to_contain_text("LIME")
    expect(panels.nth(1).locator(".status")).to_contain_text("LIME")  # it has no mask
    left, right = (panels.nth(i).bounding_box() for i in (0, 1))
    assert left["x"] + left["width"] <= right["x"]
    page.get_by_role("combobox", name="Model").select_option("base")
    expect(panels).to_have_count(1)
    open_tab(page, "Words")
    expect(page.locator("#words-status")).to_contain_text("gives words no importance")


def test_the_same_places_are_hidden_for_both_models(page, ask):
    write(page, TEXT)
    panels = page.locator(".panel")
    page.get_by_role("button", name="lovely").click()
    page.get_by_label("Compare with").select_option("base")
    expect_probabilities(page, ask("predict", text=TEXT, model="base", hidden=[[1]])["probabilities"], panel=1)
    panels.nth(1).get_by_role("button", name="film").click()
    for panel, name in enumerate(("cnn", "base")):
        expect(panels.nth(panel).locator("[aria-pressed=true]")).to_have_text(["lovely", "film"])
        after = ask("predict", text=TEXT, model=name, hidden=[[1, 2]])["probabilities"]
        expect_probabilities(page, after, panel=panel)
    panels.nth(1).get_by_role("button", name="Show all words").click()
    expect(page.locator("[aria-pressed=true]")).to_have_count(0)


def test_models_that_cut_words_differently_hide_the_same_places(context, watch):
    """The second model's answers are changed so that `lovely film` is one word to it."""
    page = context.new_page()

    def handle(route):
        asked = route.request.post_data_json
        if asked["model"] != "base" or "hidden" in asked:
            route.continue_()
            return
        answer = route.fetch()
        body = answer.json()
        words = (body.get("predictions") or body["explanations"])[0]["words"]
        words[1:3] = [{**words[1], "word": "lovely film", "end": words[2]["end"]}]
        route.fulfill(response=answer, json=body)

    page.route(re.compile("/api/(predict|explain)"), handle)
    page.goto("/#text=a+lovely+film&beside=base")
    left, right = (page.locator(".panel").nth(i) for i in (0, 1))
    expect(right.locator(".word")).to_have_text(["a", "lovely film"])
    expect(right.locator(".status")).to_contain_text("LIME · ")
    left.get_by_role("button", name="film").click()
    expect(left.locator("[aria-pressed=true]")).to_have_text(["film"])
    expect(right.locator("[aria-pressed=true]")).to_have_text(["lovely film"])
    right.get_by_role("button", name="lovely film").click()
    expect(page.locator("[aria-pressed=true]")).to_have_count(0)
    right.get_by_role("button", name="lovely film").click()
    expect(left.locator("[aria-pressed=true]")).to_have_text(["lovely", "film"])


def test_a_comparison_may_end_in_another_tab_while_it_is_at_work(page):
    held = []
    page.route("**/api/explain", lambda route: held.append(route))
    with page.expect_request("**/api/explain"):
        page.get_by_label("Compare with").select_option("base")
    open_tab(page, "Words")
    page.get_by_label("Compare with").select_option("")
    with page.expect_response("**/api/explain"):
        held[0].continue_()
    page.wait_for_timeout(300)  # the answer is drawn where nobody sees it, without an error
    open_tab(page, "Text")
    expect(page.locator(".panel")).to_have_count(1)


def test_a_link_of_an_older_version_opens_with_its_words_hidden(context, watch, ask):
    page = context.new_page()
    page.goto("/#text=a+lovely+film&beside=base&hidden=1&hidden2=2")
    for panel, name in enumerate(("cnn", "base")):
        expect(page.locator(".panel").nth(panel).locator("[aria-pressed=true]")).to_have_text(["lovely"])
        after = ask("predict", text="a lovely film", model=name, hidden=[[1]])["probabilities"]
        expect_probabilities(page, after, panel=panel)


def answers_at_first(page, path, status, body, times=1, **headers):
    """Answer the first requests in the server's place; those after go through."""
    left = [True] * times

    def handle(route):
        if left:
            left.pop()
            route.fulfill(status=status, json=body, headers=headers)
        else:
            route.continue_()

    page.route(path, handle)
    return left


def test_a_busy_server_is_asked_again(page, watch, ask):
    watch.allowed = "429"
    write(page, TEXT)
    busy = "16 explanations are waiting already"
    left = answers_at_first(page, "**/api/explain", 429, {"detail": busy}, 2, **{"Retry-After": "1"})
    page.get_by_label("Coloured by").select_option(label="LIME")
    expect(page.locator(".status")).to_contain_text(busy)
    expect(page.locator(".status progress")).to_be_visible()
    expect(page.locator(".status")).to_contain_text("fit R²")
    assert not left
    assert page.locator(".word").count() == len(TEXT.split())


def test_the_wait_for_a_busy_server_can_be_ended(page, watch):
    watch.allowed = "429"
    write(page, TEXT)
    left = answers_at_first(page, "**/api/explain", 429, {"detail": "busy"}, 1000, **{"Retry-After": "1"})
    page.get_by_label("Coloured by").select_option(label="LIME")
    expect(page.locator(".status")).to_contain_text("busy")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".status")).to_contain_text("Stopped.")
    asked = len(left)
    page.wait_for_timeout(1500)
    assert len(left) == asked


def test_examples_that_are_not_ready_show_how_far_they_are(page):
    left = answers_at_first(page, "**/api/examples*", 202, {"preparing": 0.4})
    open_tab(page, "Examples")
    expect(page.locator("#preparing")).to_be_visible()
    expect(page.locator("#preparing")).to_have_js_property("value", 0.4)
    expect(page.locator("#examples-status")).to_contain_text("is predicting the test texts")
    expect(page.locator(".example").first).to_be_visible()
    expect(page.locator("#preparing")).to_be_hidden()
    assert not left


def test_an_encoder_is_served_like_any_model(fitted_encoder, data, context, watch, tmp_path):
    """Its words are made of pieces, and so are its colours and what is hidden."""
    encoder = fitted_encoder()
    folder = encoder.save(tmp_path / "encoder")
    there = Site(create_app([folder], settings=ServeConfig(port=0), data=str(data)), bind("127.0.0.1", 0))
    try:
        watch.origin = there.address
        page = context.new_page()
        page.goto(there.address)
        write(page, TEXT)
        expect(page.locator(".word")).to_have_text(TEXT.split())
        expect_probabilities(page, encoder.predict_proba([TEXT])[0])
        page.get_by_role("button", name="lovely").click()
        hidden = encoder.predict_proba([TEXT.replace(" lovely", "")])[0]
        expect_probabilities(page, hidden)
        page.get_by_label("Coloured by").select_option(label="LIME")
        expect(page.locator(".status")).to_contain_text("fit R²")
        for name, content in (("Examples", ".example"), ("Words", "#words-rows tr")):
            open_tab(page, name)
            expect(page.locator(content).first).to_be_visible()
    finally:
        there.stop()


def test_a_server_that_goes_away_is_said_and_waited_for(folders, context, watch):
    watch.allowed = "ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET"
    listening = bind("127.0.0.1", 0)
    port = listening.getsockname()[1]
    app = lambda: create_app(folders[:1], settings=ServeConfig(port=0, examples=0))  # noqa: E731
    there = Site(app(), listening)
    watch.origin = there.address
    page = context.new_page()
    page.goto(there.address)
    write(page, TEXT)
    there.stop()
    page.get_by_label("Your text").fill("a dreadful film")
    expect(page.get_by_text("The server does not answer. Once")).to_be_visible()
    there = Site(app(), bind("127.0.0.1", port))
    try:
        expect(page.get_by_text("The server does not answer. Once")).to_be_hidden()
        expect(page.locator(".highlighted")).to_have_text("a dreadful film")
        open_tab(page, "Examples")
        expect(page.locator("#examples-status")).to_contain_text("switched off")
    finally:
        there.stop()


def test_everything_has_a_name_and_tabs_follow_the_pattern(page):
    page.get_by_role("button", name="More", exact=True).click()
    nameless = page.evaluate("""() => [...document.querySelectorAll("input, select, textarea, button, [role=button]")]
      .filter((one) => !(one.labels?.length || one.ariaLabel || one.textContent.trim())).map((one) => one.outerHTML)""")
    assert nameless == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
    tabs = page.get_by_role("tab")
    assert page.get_by_role("tablist").count() == 1
    assert tabs.count() == 4
    for tab in tabs.all():
        panel = page.locator(f"#{tab.get_attribute('aria-controls')}")
        assert panel.get_attribute("role") == "tabpanel"
        assert panel.get_attribute("aria-labelledby") == tab.get_attribute("id")
    tabs.first.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="File")).to_be_focused()
    expect(page.get_by_role("tabpanel", name="File")).to_be_visible()
    expect(page.get_by_role("tabpanel", name="Text")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tabpanel", name="Text")).to_be_visible()
    assert tabs.evaluate_all("(all) => all.map((one) => one.tabIndex)") == [0, -1, -1, -1]
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.locator("html").get_attribute("lang") == "en"


def test_the_focus_is_seen_wherever_it_goes(page):
    page.goto("/#text=a+lovely+film&explainer=occlusion")  # of the mask one cannot choose the class
    expect(page.get_by_label("Coloured by")).to_have_value("occlusion")
    seen = set()
    for _ in range(14):
        page.keyboard.press("Tab")
        tag, width, style = page.evaluate("""() => {
          const { outlineWidth, outlineStyle } = getComputedStyle(document.activeElement);
          return [document.activeElement.id || document.activeElement.tagName, outlineWidth, outlineStyle];
        }""")
        seen.add(tag)
        assert tag == "BODY" or (width, style) == ("2px", "solid"), tag
    assert {"copy", "input", "explainer", "target", "more", "MARK"} <= seen


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_screen(page, width, tmp_path):
    page.set_viewport_size({"width": width, "height": 700})
    write(page, f"{TEXT} {'long' * 60} and a dreadful end")
    page.get_by_label("Coloured by").select_option(label="LIME")
    expect(page.locator(".steps mark")).to_have_count(6)
    page.get_by_role("button", name="lovely").click()
    expect(page.locator(".hiding")).to_contain_text("1 word hidden")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_label("Compare with").select_option("base")
    expect(page.locator(".panel").nth(1).locator(".word").first).to_be_visible()

    def overflow():
        return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    assert overflow() == 0
    for tab, filled in (("Examples", ".example"), ("Words", "#words-rows tr")):
        open_tab(page, tab)
        expect(page.locator(filled).first).to_be_visible()
        assert overflow() == 0
    open_tab(page, "File")
    page.get_by_label("Drop a table here").set_input_files(write_csv(tmp_path / "a.csv", [TEXT], ["x"]))
    expect(page.locator("#scored")).to_be_visible()
    assert overflow() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_can_be_read(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.get_by_label("Coloured by").select_option(label="LIME")
    write(page, "a lovely film, though the second half turns dreadful, and what a boring evening")
    expect(page.locator(".steps mark")).to_have_count(6)
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name="evening").click()
    page.mouse.move(0, 0)
    expect(page.locator(".hiding")).to_contain_text("1 word hidden")

    def unreadable(selector):
        contrasts = page.evaluate(CONTRAST, selector)
        assert contrasts
        return [one for one in contrasts if one[0] < 4.5]

    letters = "p, label, h1, h2, h3, mark, b, small, button, select, textarea, summary, a, .num, .soft"
    assert unreadable(letters) == []
    for tab, filled in (("Examples", ".example"), ("Words", "#words-rows tr"), ("File", ".drop")):
        open_tab(page, tab)
        expect(page.locator(filled).first).to_be_visible()
        assert unreadable(letters) == []


def test_it_prints_what_matters(page):
    page.emulate_media(media="print")
    expect(page.locator(".highlighted")).to_be_visible()
    expect(page.locator(".headline")).to_be_visible()
    for gone in ("#tabs", "#input", "#copy", "#explainer"):
        expect(page.locator(gone)).to_be_hidden()


def test_the_address_tells_no_more_than_needed(page):
    write(page, TEXT)
    page.wait_for_url("**/*#*lovely*")
    told = parse_qs(urlsplit(page.url).fragment)
    assert told == {"model": ["cnn"], "text": [TEXT]}


TOKEN = "a-secret-of-this-test"


@pytest.fixture(scope="module")
def locked(folders):
    """A server that asks for a token."""
    settings = ServeConfig(port=0, token=TOKEN, examples=0)
    served = Site(create_app(folders, settings=settings), bind("127.0.0.1", 0))
    yield served
    served.stop()


@pytest.fixture
def outside(browser, locked):
    """A browser that does not know the token, and what it asked for."""
    found = browser.new_context(base_url=locked.address)
    found.set_default_timeout(20_000)
    asked = []
    found.on("request", lambda request: asked.append(request.url))
    yield found, asked
    found.close()
    assert not [url for url in asked if TOKEN in url]  # it is in no address that a server or a log sees


def test_a_token_is_asked_for_and_kept_for_the_tab(outside):
    context, _ = outside
    page = context.new_page()
    page.goto("/#text=a+lovely+film")
    field = page.get_by_label("Token")
    expect(field).to_be_visible()
    expect(page.locator("#tabs")).to_be_hidden()
    field.fill("another")
    field.press("Enter")
    expect(page.locator("#token-status")).to_have_text("The server does not know this token.")
    field.fill(TOKEN)
    page.get_by_role("button", name="Open").click()
    expect(page.locator(".word").first).to_be_visible()
    expect(field).to_be_hidden()
    assert TOKEN not in page.content() + page.url
    page.reload()
    expect(page.locator(".word").first).to_be_visible()
    other = context.new_page()
    other.goto("/")
    expect(other.get_by_label("Token")).to_be_visible()  # another tab does not know it


def test_a_link_brings_the_token_and_loses_it(outside, tmp_path):
    context, _ = outside
    page = context.new_page()
    page.goto(f"/#text=a+lovely+film&token={TOKEN}")
    expect(page.locator(".highlighted")).to_have_text("a lovely film")
    assert TOKEN not in page.url
    assert TOKEN not in page.evaluate("JSON.stringify(history.state) + document.referrer + location.href")
    page.get_by_role("tab", name="File").click()
    page.get_by_label("Drop a table here").set_input_files(write_csv(tmp_path / "a.csv", [TEXT], ["x"]))
    expect(page.locator("#file-status")).to_have_text("a.csv is scored.")
    page.go_back()
    assert TOKEN not in page.url


def test_the_page_works_behind_a_proxy_that_strips_a_prefix(folders, data, context, watch):
    app = create_app(folders[:1], settings=ServeConfig(port=0), data=str(data))

    async def proxy(scope, receive, send):
        if scope["type"] == "http":
            assert scope["path"].startswith("/demo/"), scope["path"]
            scope = {**scope, "path": scope["path"].removeprefix("/demo")}
        await app(scope, receive, send)

    there = Site(proxy, bind("127.0.0.1", 0))
    try:
        watch.origin = f"{there.address}/demo"
        page = context.new_page()
        page.goto(f"{there.address}/demo/#text=a+lovely+film")
        expect(page.locator(".highlighted")).to_have_text("a lovely film")
        for name, content in (("Examples", ".example"), ("Words", "#words-rows tr")):
            open_tab(page, name)
            expect(page.locator(content).first).to_be_visible()
    finally:
        there.stop()


def test_without_a_token_nothing_is_asked_for(page):
    expect(page.get_by_label("Token")).to_be_hidden()
