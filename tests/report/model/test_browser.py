"""The page in a browser: words are searched, views switched, nothing is asked of the network, nothing overflows."""

from __future__ import annotations

import pytest

from serve.browser import ARGUMENTS, find_browser
from vmask.report.model.page import render

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    if not (path := find_browser()):
        pytest.skip("needs Chromium: name it in VMASK_CHROMIUM")
    with api.sync_playwright() as play:
        started = play.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def show(browser, tmp_path):
    """Open a page; at the end nothing may have gone wrong in it."""
    wrong = []

    def opened(content, width=1280, **options):
        path = tmp_path / "report.html"
        path.write_text(render(content), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))  # a broken policy speaks here too
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.on(
            "request", lambda request: wrong.append(request.url) if request.url[:5] not in ("file:", "data:") else None
        )
        page.goto(path.as_uri())
        return page

    yield opened
    assert wrong == []


def rows(page):
    return page.locator(".word-table tbody tr th").all_inner_texts()


def test_words_are_searched_filtered_and_sorted(show, content):
    page = show(content)
    seen = [word.word for word in content.words.rows if word.count >= 3]
    assert rows(page) == seen[:25]
    page.fill("#word-search", "LOVE")
    assert rows(page) == [word for word in seen if "love" in word]
    page.fill("#word-search", "no such word")
    assert rows(page) == []
    assert page.inner_text("#word-found") == "No such word here."
    page.fill("#word-search", "")
    page.press("#word-count", "End")
    least = int(page.inner_text("#word-least"))
    assert least > 3
    assert rows(page) == [word.word for word in content.words.rows if word.count >= least]
    page.press("#word-count", "Home")
    page.click(".word-table th[data-sort=count] button")
    counts = [int(one) for one in page.locator(".word-table tbody td:nth-child(3)").all_inner_texts()]
    assert counts == sorted((word.count for word in content.words.rows), reverse=True)[: len(counts)]
    assert page.get_attribute(".word-table th[data-sort=count]", "aria-sort") == "descending"
    page.click(".word-table th[data-sort=count] button")
    assert page.get_attribute(".word-table th[data-sort=count]", "aria-sort") == "ascending"
    page.select_option("#word-class", "pos")
    assert set(page.locator(".word-table tbody td:nth-child(4)").all_inner_texts()) == {"pos"}


def test_more_words_are_shown_when_asked(show, content):
    page = show(content)
    page.press("#word-count", "Home")
    before = len(rows(page))
    assert before == 25
    page.click("#word-more")
    assert len(rows(page)) == min(content.words.total, 125) > before


def test_views_are_switched_for_all_texts_and_for_one(show, content):
    page = show(content)
    count = len(content.texts.examples)

    def visible(method):
        return page.locator(f".example .view[data-view={method}]:visible").count()

    assert (visible("mask"), visible("lime"), visible("shapley")) == (count, 0, 0)
    page.click(".all-views button[data-view=lime]")
    assert (visible("mask"), visible("lime")) == (0, count)
    assert page.locator(".legend[data-view=lime]").is_visible()
    assert not page.locator(".legend[data-view=mask]").is_visible()
    page.locator(".example").first.locator(".switch button[data-view=shapley]").click()
    assert (visible("lime"), visible("shapley")) == (count - 1, 1)
    page.locator(".all-views button").last.click()
    assert (visible("mask"), visible("lime"), visible("shapley")) == (count, count, count)


def test_a_point_of_the_scatter_plot_says_what_it_is(show, content):
    page = show(content)
    mark = page.locator(".scatter .named").first
    mark.focus()
    tip = page.locator(".tip")
    assert tip.is_visible()
    row = content.words.rows[int(mark.get_attribute("data-row"))]
    assert row.word in tip.inner_text()
    assert f"importance {row.importance:.3f}" in tip.inner_text()
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.locator(".scatter").scroll_into_view_if_needed()
    mark.locator("path, rect").first.hover()
    assert "importance" in tip.inner_text()


def test_code_is_copied_or_selected(show, content):
    page = show(content)
    button = page.locator(".copy").first
    button.click()
    page.wait_for_function("b => b.textContent !== 'Copy'", arg=button.element_handle())
    assert "vmask predict" in page.evaluate("() => getSelection().toString()")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(show, content, width, scheme):
    page = show(content, width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.locator(".all-views button").last.click()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_without_a_script_everything_essential_is_there(show, content):
    page = show(content, java_script_enabled=False)
    count = len(content.texts.examples)
    for method in ("mask", "lime", "shapley"):
        assert page.locator(f".example .view[data-view={method}]:visible").count() == count
    assert len(rows(page)) == 25
    assert not page.locator(".controls").is_visible()
    assert not page.locator(".copy").first.is_visible()
    assert "With JavaScript all words can be searched" in page.inner_text("#words")


def test_markup_in_the_data_is_shown_and_never_run(show, evil):
    page = show(evil)
    page.fill("#word-search", "script")
    page.locator(".scatter .named").first.focus()
    page.locator(".all-views button").last.click()
    assert "alert('x')" in page.inner_text("#texts")
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 1280


def test_a_long_name_does_not_break_a_phone(show, evil):
    page = show(evil, 390)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_it_prints(show, content, tmp_path):
    page = show(content)
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    page.pdf(path=str(tmp_path / "report.pdf"))
    assert (tmp_path / "report.pdf").stat().st_size > 10_000
