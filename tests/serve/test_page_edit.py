"""The switches of words on the page, in a real browser: what they do is what an edited model does."""

from __future__ import annotations

import shlex
import sys
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from toy import BAD, FRAMES, GOOD, toy_texts, write_csv
from vmask import TextClassifier

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
pytest.importorskip("fastapi", reason="needs vmask[serve]")

from serve.browser import CONTRAST, Site, find_browser  # noqa: E402
from vmask.serve.app import create_app  # noqa: E402
from vmask.serve.config import ServeConfig  # noqa: E402
from vmask.serve.server import bind  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_browser() is None, reason="needs Chromium; VMASK_CHROMIUM names it"),
]
expect = playwright.expect
TEXT = "a lovely film about a small town"
LIMIT = 12
"""Words that can be switched, enough for all words of one mood."""


@pytest.fixture(scope="module")
def folders(toy, model_folder, tmp_path_factory):
    """A model that ranks words, one that does not, and one that hides a word and shows another by itself."""
    texts, labels = toy
    folder = tmp_path_factory.mktemp("models")
    base = TextClassifier(mask="base", embeddings="random", epochs=2, model__filters=8, seed=2).fit(texts, labels)
    edited = TextClassifier.load(model_folder).edit(hide=["film"], show=["town"])
    return [model_folder, base.save(folder / "base"), edited.save(folder / "edited")]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Test texts with every word of a mood in every frame."""
    folder = tmp_path_factory.mktemp("data")
    for split, seed in (("train", 0), ("dev", 1)):
        write_csv(folder / f"{split}.csv", *toy_texts(40, seed))
    moods = [(word, label) for words, label in ((BAD, "neg"), (GOOD, "pos")) for word in words]
    write_csv(
        folder / "test.csv", *zip(*((f.format(word), label) for f in FRAMES for word, label in moods), strict=True)
    )
    return folder


@pytest.fixture(scope="module")
def site(folders, data):
    settings = ServeConfig(port=0, max_edit_words=LIMIT)
    served = Site(create_app(folders, settings=settings, data=str(data)), bind("127.0.0.1", 0))
    yield served
    served.stop()


@pytest.fixture
def measure(site):
    """What the API says to an edit of the first model."""

    def post(model="cnn", **edit):
        answer = httpx.post(f"{site.address}/api/edit", json={"model": model, "edit": edit}, timeout=60)
        return answer.raise_for_status().json()

    return post


@pytest.fixture
def predict(site):
    """The probabilities of a text by the API, with the number of its best class."""

    def post(text=TEXT, model="cnn", **edit):
        body = {"texts": [text], "model": model, "edit": edit}
        answer = httpx.post(f"{site.address}/api/predict", json=body).raise_for_status().json()["predictions"][0]
        return answer["label"], answer["probabilities"]

    return post


@pytest.fixture
def words(page):
    """The page at its words, all of them, with a text of ours."""
    return open_words(page)


def open_words(page, **state):
    page.goto("about:blank")
    page.goto("/#" + urlencode({"tab": "words", "text": TEXT, "min": "1", **state}))
    expect(page.locator("#words-rows tr").first).to_be_visible()
    expect(page.locator("#edit-prediction b")).to_be_visible()
    return page


def switch_of(page, word):
    return page.get_by_role("switch", name=f"{word} is visible", exact=True)


def search(page, part):
    """Search for a part of a word, and wait for the list."""
    with page.expect_response(lambda answer: f"query={part}&" in answer.url):
        page.get_by_role("searchbox", name="Search").fill(part)
    page.wait_for_function(
        "(part) => [...document.querySelectorAll('#words-rows b')].every((one) => one.textContent.includes(part))",
        arg=part,
    )


def percent(value):
    return f"{100 * value:.1f}%"


def expect_accuracy(page, cost):
    """The card says what the API says."""
    before, after = percent(cost["accuracy_before"]), percent(cost["accuracy_after"])
    expect(page.locator("#accuracy")).to_have_text(after if before == after else f"{before} → {after}")
    if cost["flips"]:
        ends = [f"{100 * cost[name]:+.1f}".replace("-", "−") for name in ("difference", "low", "high")]
        expect(page.locator("#accuracy-note")).to_contain_text(
            f"{ends[0]} points (95% interval {ends[1]} to {ends[2]}). Over {cost['n']} texts of "
        )
        plural = "text gets" if cost["flips"] == 1 else "texts get"
        expect(page.locator("#flips-total")).to_have_text(f"{cost['flips']} {plural} another class")
    else:
        expect(page.locator("#no-flips")).to_be_visible()
    expect(page.locator("#accuracy-note")).to_contain_text(f"{cost['affected']} of them have a switched word")


def state_of(page, *names):
    page.wait_for_timeout(400)  # until the address is written
    found = parse_qs(urlsplit(page.url).fragment)
    return [found.get(name, [""])[0].split("\n") for name in names]


def test_before_a_switch_the_model_is_as_it_is(words, measure, predict):
    expect(words.locator("[role=switch][aria-checked=false]")).to_have_count(0)
    cost = measure()["cost"]
    expect(words.locator("#accuracy")).to_have_text(percent(cost["accuracy_before"]))
    expect(words.locator("#accuracy-note")).to_have_text(f"Over {cost['n']} texts of {cost['dataset']} (test).")
    label, probabilities = predict()
    expect(words.locator("#edit-prediction")).to_have_text(f"{label} {percent(max(probabilities))}")
    for name in ("Undo", "Reset", "Copy command"):
        expect(words.get_by_role("button", name=name)).to_have_attribute("aria-disabled", "true")


def test_a_switch_hides_a_word_and_everything_follows(words, measure, predict):
    control = switch_of(words, "lovely")
    control.focus()
    words.keyboard.press("Space")
    expect(control).to_have_attribute("aria-checked", "false")
    expect(control).to_be_focused()
    expect(words.locator("#edit-count")).to_have_text("1 word hidden.")
    expect(words.locator("#edit-hidden")).to_have_text("Hidden: lovely")
    expect_accuracy(words, measure(hide=["lovely"])["cost"])
    (before, unedited), (after, edited) = predict(), predict(hide=["lovely"])
    assert percent(max(unedited)) != percent(max(edited))
    expect(words.locator("#edit-prediction")).to_have_text(
        f"{before} {percent(max(unedited))} → {after} {percent(max(edited))}"
    )
    words.keyboard.press("Enter")
    expect(control).to_have_attribute("aria-checked", "true")
    expect(words.locator("#edit-count")).to_be_hidden()
    expect(words.locator("#edit-prediction")).to_have_text(f"{before} {percent(max(unedited))}")


def test_the_text_is_predicted_and_explained_with_the_switches(words, predict):
    switch_of(words, "lovely").click()
    words.get_by_role("tab", name="Text").click()
    expect(words.locator("#edited")).to_contain_text("The model sees the text with your switches: 1 word hidden.")
    mark = words.locator(".word", has_text="lovely")
    expect(mark).to_have_class("word not-seen")
    expect(mark).to_have_attribute("aria-label", "lovely, hidden from the model")
    rows = words.locator(".classes .num")
    for row, value in zip(rows.all(), predict(hide=["lovely"])[1], strict=True):
        expect(row).to_have_text(percent(value))
    words.get_by_label("Coloured by").select_option(label="LIME")
    expect(words.locator(".status")).to_contain_text("fit R²")
    expect(mark).to_have_class("word not-seen")
    words.get_by_role("button", name="film").click()  # hidden on top, in this text alone
    expect(words.locator(".hiding")).to_contain_text("1 word hidden")
    words.get_by_label("Compare with").select_option("base")
    expect(words.locator("#edited")).to_contain_text("The other model has none.")
    expect(words.locator(".panel").nth(1).locator(".word").first).to_be_visible()
    expect(words.locator(".panel").nth(1).locator(".not-seen")).to_have_count(0)
    words.get_by_role("button", name="See the words").click()
    expect(switch_of(words, "lovely")).to_have_attribute("aria-checked", "false")


def test_other_tabs_say_that_they_are_without_the_switches(words):
    switch_of(words, "lovely").click()
    expect(words.locator("#edited")).to_be_hidden()  # the card says it
    for tab, said in (("Examples", "These predictions are without"), ("File", "Files are scored without")):
        words.get_by_role("tab", name=tab).click()
        expect(words.locator("#edited")).to_contain_text(f"{said} your switches (1 word hidden).")
    words.get_by_role("tab", name="Words").click()
    words.get_by_role("button", name="Reset").click()
    words.get_by_role("tab", name="Examples").click()
    expect(words.locator("#edited")).to_be_hidden()


def test_all_words_of_a_search_are_switched(words, site, measure):
    search(words, "ful")
    found = httpx.get(f"{site.address}/api/words", params={"query": "ful"}).json()
    listed = [word["word"] for word in found["words"]]
    assert len(listed) == 3
    words.get_by_role("button", name="Hide all 3").click()
    expect(words.locator("#words-rows [aria-checked=false]")).to_have_count(3)
    expect(words.locator("#edit-count")).to_have_text("3 words hidden.")
    expect_accuracy(words, measure(hide=listed)["cost"])
    words.get_by_role("button", name="Hide all 3").click()
    expect(words.locator("#edit-status")).to_have_text("All of them are hidden already.")
    switch_of(words, listed[0]).click()
    expect(words.locator("#edit-count")).to_have_text("2 words hidden.")
    words.get_by_role("button", name="Show all 3").click()
    expect(words.locator("#words-rows [aria-checked=true]")).to_have_count(3)
    expect(words.locator("#edit-count")).to_be_hidden()


def test_matches_that_are_not_on_the_page_are_switched_too(words):
    """The server is asked for all of them; the list shows 50 at a time, here 2."""

    def few(route):
        limited = route.request.url.replace("limit=50", "limit=2")
        route.continue_(url=limited)

    words.route("**/api/words*limit=50*", few)
    search(words, "ful")
    expect(words.locator("#words-rows tr")).to_have_count(2)
    words.get_by_role("button", name="Hide all 3").click()
    expect(words.locator("#edit-count")).to_have_text("3 words hidden.")
    words.get_by_role("button", name="Show more").click()
    expect(words.locator("#words-rows [aria-checked=false]")).to_have_count(3)


def test_too_many_words_are_refused_with_the_limit(words, site):
    total = httpx.get(f"{site.address}/api/words").json()["total"]
    assert total > LIMIT
    words.get_by_role("button", name=f"Hide all {total}").click()
    expect(words.locator("#edit-status")).to_have_text(
        f"{total} words match; at most {LIMIT} can be switched. Narrow the search."
    )
    expect(words.locator("[role=switch][aria-checked=false]")).to_have_count(0)
    names = [name.removesuffix(" is visible") for name in all_names(words)][: LIMIT + 1]
    for name in names:
        switch_of(words, name).click()
    expect(words.locator("#edit-status")).to_contain_text(f"At most {LIMIT} words can be switched.")
    expect(words.locator("#edit-count")).to_have_text(f"{LIMIT} words hidden.")
    expect(switch_of(words, names[-1])).to_have_attribute("aria-checked", "true")


def all_names(page):
    return page.locator("[role=switch]").evaluate_all("(all) => all.map((one) => one.ariaLabel)")


def test_steps_are_taken_back_one_by_one_and_all_at_once(words, measure):
    undo, reset = (words.get_by_role("button", name=name) for name in ("Undo", "Reset"))
    for word in ("lovely", "film"):
        switch_of(words, word).click()
    search(words, "ful")
    words.get_by_role("button", name="Hide all 3").click()
    expect(words.locator("#edit-count")).to_have_text("5 words hidden.")
    undo.click()
    expect(words.locator("#edit-count")).to_have_text("2 words hidden.")
    expect(words.locator("#words-rows [aria-checked=false]")).to_have_count(0)
    reset.click()
    expect(words.locator("#edit-count")).to_be_hidden()
    expect(reset).to_have_attribute("aria-disabled", "true")
    undo.click()  # the reset
    expect(words.locator("#edit-hidden")).to_have_text("Hidden: lovely, film")
    undo.focus()
    words.keyboard.press("Enter")
    expect(words.locator("#edit-hidden")).to_have_text("Hidden: lovely")
    expect_accuracy(words, measure(hide=["lovely"])["cost"])
    words.keyboard.press("Enter")
    expect(words.locator("#edit-count")).to_be_hidden()
    expect(undo).to_have_attribute("aria-disabled", "true")
    expect(undo).to_be_focused()
    words.keyboard.press("Enter")  # nothing is left
    expect(words.locator("#edit-count")).to_be_hidden()


def test_switches_are_in_the_address_and_end_with_the_model(words, context, watch):
    search(words, "lovely")
    switch_of(words, "lovely").click()
    assert state_of(words, "off", "on") == [["lovely"], [""]]
    other = context.new_page()
    other.goto(words.url)
    expect(switch_of(other, "lovely")).to_have_attribute("aria-checked", "false")
    expect(other.locator("#edit-count")).to_have_text("1 word hidden.")
    expect(other.get_by_role("button", name="Undo")).to_have_attribute("aria-disabled", "true")
    other.get_by_role("combobox", name="Model").select_option("base")
    expect(other.locator("#edit-count")).to_be_hidden()
    expect(switch_of(other, "lovely")).to_have_attribute("aria-checked", "true")
    other.go_back()
    expect(switch_of(other, "lovely")).to_have_attribute("aria-checked", "false")


def test_the_command_is_copied_and_names_the_words(words, context, measure):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    switch_of(words, "lovely").click()
    switch_of(words, ",").click()
    expect(words.locator("#edit-count")).to_have_text("2 words hidden.")
    button = words.get_by_role("button", name="Copy command")
    expect(button).to_have_attribute("aria-disabled", "false")
    button.click()
    expect(words.locator("#edit-status")).to_have_text("Command copied.")
    command = words.evaluate("navigator.clipboard.readText()")
    assert command == measure(hide=["lovely", ","])["command"]
    assert shlex.split(command) == ["vmask", "edit", "cnn", "cnn-edited", "--hide=lovely", "--hide-pattern=^,$"]
    words.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }")
    button.click()
    expect(words.get_by_label("Command that makes the edited model")).to_have_value(command)
    switch_of(words, "film").click()
    expect(words.get_by_label("Command that makes the edited model")).to_be_hidden()


def test_texts_that_get_another_class_are_listed_and_opened(words, measure):
    open_words(words, off="\n".join(GOOD))
    cost = measure(hide=GOOD)["cost"]
    assert cost["flips"]
    expect_accuracy(words, cost)
    words.locator("#flips summary").click()
    rows = words.locator("#flips-rows .example")
    expect(rows).to_have_count(len(cost["examples"]))
    first = cost["examples"][0]
    expect(rows.first).to_contain_text(first["text"])
    expect(rows.first).to_contain_text(f"{first['before']} → {first['after']}")
    rows.first.click()
    expect(words.get_by_label("Your text")).to_have_value(first["text"])
    expect(words.locator(".headline b").first).to_have_text(first["after"])  # with the switches


def test_a_model_without_a_ranking_has_switches_too(words, site, measure, predict):
    open_words(words, model="base")
    listed = httpx.get(f"{site.address}/api/words", params={"model": "base"}).json()["words"]
    expect(words.locator("#words-rows th").first).to_have_text(listed[0]["word"])
    expect(words.locator("#words-status")).to_contain_text("This model gives words no importance.")
    expect(words.get_by_role("columnheader", name="Count")).to_have_attribute("aria-sort", "descending")
    expect(words.get_by_role("columnheader", name="Importance")).to_be_hidden()
    switch_of(words, "lovely").click()
    expect_accuracy(words, measure("base", hide=["lovely"])["cost"])
    expect(words.locator("#edit-prediction")).to_contain_text(percent(max(predict(model="base", hide=["lovely"])[1])))


def test_a_word_that_the_model_hides_can_be_switched_on(words, measure):
    open_words(words, model="edited")
    film = switch_of(words, "film")
    expect(film).to_have_attribute("aria-checked", "false")
    expect(words.locator("[role=switch][aria-checked=false]")).to_have_count(1)
    film.click()
    expect(film).to_have_attribute("aria-checked", "true")
    expect(words.locator("#edit-count")).to_have_text("1 word shown.")
    expect(words.locator("#edit-shown")).to_have_text("Shown: film")
    expect_accuracy(words, measure("edited", show=["film"])["cost"])
    switch_of(words, "lovely").click()
    expect(words.locator("#edit-count")).to_have_text("1 word hidden, 1 shown.")
    assert state_of(words, "off", "on") == [["lovely"], ["film"]]
    expect_accuracy(words, measure("edited", hide=["lovely"], show=["film"])["cost"])
    film.click()  # as the model has it
    expect(words.locator("#edit-count")).to_have_text("1 word hidden.")


def test_without_test_texts_the_accuracy_is_not_measured(folders, context, watch):
    there = Site(create_app(folders[:1], settings=ServeConfig(port=0, examples=0)), bind("127.0.0.1", 0))
    try:
        watch.origin = there.address
        page = context.new_page()
        page.goto(f"{there.address}/#tab=words&min=1&text=a+lovely+film")
        switch_of(page, "lovely").click()
        expect(page.locator("#no-cost")).to_have_text("There is no accuracy without test texts. They are switched off.")
        expect(page.locator("#cost")).to_be_hidden()
        expect(page.locator("#edit-prediction")).to_contain_text("→")
        expect(page.get_by_role("button", name="Copy command")).to_have_attribute("aria-disabled", "false")
    finally:
        there.stop()


def test_a_long_measurement_shows_how_far_it_is(words, measure):
    told = measure(hide=["lovely"])
    left = [{**told, "cost": None, "preparing": 0.4}] * 3

    def handle(route):
        if left:
            words.wait_for_timeout(200)
            route.fulfill(status=202, json=left.pop())
        else:
            route.continue_()

    words.route("**/api/edit", handle)
    switch_of(words, "lovely").click()
    expect(words.locator("#edit-preparing")).to_be_visible()
    expect(words.locator("#edit-preparing")).to_have_js_property("value", 0.4)
    expect_accuracy(words, told["cost"])
    expect(words.locator("#edit-preparing")).to_be_hidden()


def test_an_answer_to_older_switches_is_dropped(words, measure):
    held = []
    words.route(
        "**/api/edit", lambda route: route.continue_() if "film" in route.request.post_data else held.append(route)
    )
    with words.expect_request("**/api/edit"):
        switch_of(words, "lovely").click()
    switch_of(words, "film").click()
    expect_accuracy(words, measure(hide=["lovely", "film"])["cost"])
    assert held


def test_a_word_of_a_link_that_the_model_does_not_know_is_said(words, watch):
    watch.allowed = "422"
    words.goto("about:blank")
    words.goto(f"/#{urlencode({'tab': 'words', 'off': 'xylophone', 'text': TEXT})}")
    expect(words.locator("#edit-status")).to_contain_text("The model knows none of these words: xylophone.")
    words.get_by_role("button", name="Reset").click()
    expect(words.locator("#edit-status")).to_have_text("")
    expect(words.locator("#accuracy b")).to_be_visible()


def test_words_are_compared_as_the_server_compares_them(words):
    """By `casefold` of Python, character by character, and in words whose length it changes."""
    every = map(chr, range(sys.maxunicode + 1))
    cased = [char for char in every if {char.lower(), char.upper(), char.casefold()} != {char}]
    spelled = [
        *cased,
        "straße",
        "STRASSE",
        "Strasse",
        "STRAẞE",
        "ΟΔΟΣ",
        "οδος",
        "οδοσ",
        "ısı",
        "ISI",
        "isi",
        "ﬁn",
        "fin",
    ]
    compared = "async (words) => words.map((await import('/word-key.js')).wordKey)"
    keys = words.evaluate(compared, spelled)
    of_server = [word.casefold() for word in spelled]
    pairs = len(set(zip(keys, of_server, strict=True)))
    assert pairs == len(set(keys)) == len(set(of_server)) < len(cased)


@pytest.fixture
def other(context, watch, data):
    """Serves other models to the browser: gives its page at the words."""
    sites = []

    def open_site(*models, **state):
        sites.append(Site(create_app(models, settings=ServeConfig(port=0), data=str(data)), bind("127.0.0.1", 0)))
        watch.origin = sites[-1].address
        page = context.new_page()
        page.goto(f"{watch.origin}/#{urlencode({'tab': 'words', 'min': 1, 'text': TEXT, **state})}")
        expect(page.locator("#words-rows tr").first).to_be_visible()
        return page

    yield open_site
    for site in sites:
        site.stop()


def test_a_switch_holds_for_all_spellings_of_a_word(other, tmp_path):
    texts, labels = toy_texts(40)
    texts = [f"{text} {'straße' if number % 2 else 'strasse'}" for number, text in enumerate(texts)]
    options = {"embeddings": "random", "epochs": 1, "model__filters": 6}
    page = other(TextClassifier(mask="base", **options).fit(texts, labels).save(tmp_path / "streets"))
    switch_of(page, "straße").click()
    for word in ("straße", "strasse"):
        expect(switch_of(page, word)).to_have_attribute("aria-checked", "false")
    page.get_by_role("tab", name="Text").click()
    page.get_by_label("Your text").fill("Strasse und straße")
    expect(page.locator(".not-seen")).to_have_text(["Strasse", "straße"])
    page.get_by_role("tab", name="Words").click()
    switch_of(page, "strasse").click()
    expect(page.locator("[role=switch][aria-checked=false]")).to_have_count(0)


def test_words_that_an_encoder_reads_as_unknown_are_left_out(other, encoder_folder, tmp_path):
    texts, labels = toy_texts(40)
    texts = [f"{text} {'☃' if number % 2 else '猫'}" for number, text in enumerate(texts)]
    encoder = TextClassifier(str(encoder_folder("bert")), "base", epochs=1, device="cpu").fit(texts, labels)
    page = other(encoder.save(tmp_path / "encoder"))
    total = page.locator("#words-rows tr").count()
    expect(page.locator("#words-rows tr", has_text="☃")).to_contain_text("read as unknown")
    left_out = "Left out, as the model reads them as its unknown word: ☃, 猫."
    page.get_by_role("button", name=f"Hide all {total}").click()
    expect(page.locator("#edit-status")).to_have_text(left_out)
    expect(page.locator("#edit-count")).to_have_text(f"{total - 2} words hidden.")
    expect(page.locator("[role=switch][aria-checked=false]")).to_have_count(total - 2)
    expect(page.locator("#accuracy b")).to_be_visible()
    expect(page.locator("#edit-status")).to_have_text(left_out)
    page.get_by_role("button", name=f"Hide all {total}").click()
    expect(page.locator("#edit-status")).to_have_text(f"All of them are hidden already. {left_out}")
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_screen(words, width):
    words.set_viewport_size({"width": width, "height": 700})
    open_words(words, off="\n".join(GOOD), text="long" * 60)
    expect(words.locator("#flips-total")).to_be_visible()
    words.locator("#flips summary").click()
    words.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }")
    words.get_by_role("button", name="Copy command").click()
    expect(words.get_by_label("Command that makes the edited model")).to_be_visible()
    assert words.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    words.get_by_role("tab", name="Text").click()
    expect(words.locator("#edited")).to_be_visible()
    assert words.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_can_be_read(words, scheme):
    words.emulate_media(color_scheme=scheme)
    open_words(words, off="\n".join(GOOD))
    words.locator("#flips summary").click()
    words.mouse.move(0, 0)
    letters = "p, label, h1, h2, h3, b, small, button, summary, a, .num, .soft"
    for tab in ("Words", "Text"):
        words.get_by_role("tab", name=tab).click()
        expect(words.locator({"Words": "#words-rows tr", "Text": ".word"}[tab]).first).to_be_visible()
        contrasts = words.evaluate(CONTRAST, letters)
        assert contrasts
        assert [one for one in contrasts if one[0] < 4.5] == []


def test_a_switch_has_a_name_a_role_and_a_focus_that_is_seen(words):
    control = switch_of(words, "lovely")
    assert control.get_attribute("role") == "switch"
    words.locator("#words-rows tr", has_text="lovely").get_by_role("button").focus()
    words.keyboard.press("Tab")
    expect(control).to_be_focused()
    assert control.evaluate("(node) => getComputedStyle(node).outlineWidth") == "2px"
    box = control.bounding_box()
    assert min(box["width"], box["height"]) >= 24  # of CSS pixels, for fingers


def test_an_encoder_has_switches_for_words_of_pieces(other, watch, fitted_encoder, tmp_path):
    page = other(fitted_encoder().save(tmp_path / "encoder"))
    switch_of(page, "delightful").click()
    answer = httpx.post(f"{watch.origin}/api/edit", json={"edit": {"hide": ["delightful"]}}, timeout=60).json()
    assert answer["also"]
    expect(page.locator("#edit-also")).to_contain_text(
        f"These words share a piece with a switched one and change too: {answer['also'][0]}"
    )
    expect_accuracy(page, answer["cost"])
    page.get_by_role("tab", name="Text").click()
    page.get_by_label("Your text").fill("a delightful film")
    expect(page.locator(".not-seen")).to_have_text("delightful")
