"""The page in a real browser: Debian's chromium without a window, driven by Selenium."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlencode

from selenium.common.exceptions import JavascriptException, StaleElementReferenceException
from selenium.webdriver import ActionChains, Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

T = TypeVar("T")
PATIENCE = 20.0  # seconds; a busy machine is slow, and nothing is said about speed here
WIDE, NARROW = (1280, 900), (360, 740)
HARMLESS = "Failed to load resource"  # how the console tells of a 404, which the page itself explains


def missing() -> str:
    """What is not installed on this machine, or nothing."""
    return ", ".join(name for name in ("chromium", "chromedriver") if shutil.which(name) is None)


@contextmanager
def chromium() -> Iterator[Chrome]:
    """A browser that fetches nothing by itself."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert browser is not None, "see missing()"
    assert driver is not None, "see missing()"
    options = ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--hide-scrollbars", "--disable-gpu", "--disable-dev-shm-usage", "--lang=en"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # chromium's own sandbox refuses to work for root
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = Chrome(options=options, service=Service(driver))
    made.set_page_load_timeout(PATIENCE)
    try:
        yield made
    finally:
        made.quit()


class Page:
    """What a reader sees and does. Every look waits until there is something to see."""

    def __init__(self, driver: Chrome, url: str = "") -> None:
        self.driver = driver
        self.url = url

    # The window

    def look_through(self, size: tuple[int, int] = WIDE, scheme: str = "light", motion: str = "no-preference") -> None:
        """The size of the window and the preferences of its owner."""
        width, height = size
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, **view: str) -> None:
        """Follow a deep link."""
        self.driver.get(f"{self.url}/?{urlencode(view)}" if view else f"{self.url}/")
        self.until(lambda: self.text("#colophon") != "", "the page has begun")

    @contextmanager
    def away(self, tabs: int = 1) -> Iterator[None]:
        """Look at other tabs with the same view, one after the other, and come back."""
        here, view = self.driver.current_window_handle, self.driver.current_url
        try:
            for _ in range(tabs):
                self.driver.switch_to.new_window("tab")
                self.driver.get(view)
                self.until(lambda: self.text("#name") != "", "the page is there")
            yield
        finally:
            for handle in set(self.driver.window_handles) - {here}:
                self.driver.switch_to.window(handle)
                self.driver.close()
            self.driver.switch_to.window(here)

    def complaints(self) -> list[str]:
        """What the browser found wrong: errors in scripts, and what the content security policy forbids."""
        said: list[dict[str, Any]] = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [str(each["message"]) for each in said if HARMLESS not in str(each["message"])]

    def run(self, script: str, *values: object) -> Any:
        return self.driver.execute_script(script, *values)

    # Looking

    def until(self, happens: Callable[[], T], what: str) -> T:
        """Wait for something that is true."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if found := happens():
                    return found
            except (StaleElementReferenceException, JavascriptException):
                pass  # drawn anew in that very moment
            time.sleep(0.03)
        raise AssertionError(f"waited {PATIENCE:g} s in vain: {what}")

    def all(self, css: str) -> list[WebElement]:
        return [each for each in self.driver.find_elements(By.CSS_SELECTOR, css) if each.is_displayed()]

    def one(self, css: str) -> WebElement:
        return self.until(lambda: self.all(css), f"there is {css}")[0]

    def text(self, css: str) -> str:
        """The text of the first such element, wherever it is; empty if there is none."""
        script = "return (document.querySelector(arguments[0])?.innerText ?? '').trim()"
        return str(self.run(script, css))

    def texts(self, css: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map(each => each.textContent.trim())"
        return list(self.run(script, css))

    def shows(self, css: str, text: str) -> None:
        """Wait until the first such element reads so, or contains it."""
        self.until(lambda: text in self.text(css), f"{css} says {text!r}, not {self.text(css)!r}")

    def answers(self) -> list[str]:
        """The ranked names, once no answer is on its way."""
        self.until(lambda: self.texts(".ranking .answer .what"), "there are answers")
        return self.texts(".ranking .answer .what")

    # Doing

    def click(self, css: str) -> None:
        """Click the first such element, once it stands still."""

        def done() -> bool:
            found = self.all(css)
            if not found:
                return False
            before = found[0].rect
            time.sleep(0.05)
            if found[0].rect != before:
                return False
            found[0].click()
            return True

        self.until(done, f"there is {css} to click")

    def press(self, *keys: str) -> None:
        """Type into whatever has the focus."""
        chain = ActionChains(self.driver)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def write(self, css: str, text: str) -> None:
        """Replace what stands in a field."""
        field = self.one(css)
        field.clear()
        field.send_keys(text)

    def choose(self, relation: str) -> None:
        Select(self.one("#relation")).select_by_value(relation)

    def open_answer(self, name: str) -> None:
        """Click an answer and wait for its reasons."""
        texts, rows = self.answers(), self.all(".ranking .answer")
        rows[[text.rpartition(": ")[2] for text in texts].index(name)].click()  # without the kind, which is not seen
        self.until(lambda: self.all(".reasons .why"), f"there are reasons for {name}")

    def add(self, head: str, relation: str, tail: str) -> None:
        for name, text in (("head", head), ("relation", relation), ("tail", tail)):
            self.write(f"#edit-{name}", text)
        self.click("#edit-add")
