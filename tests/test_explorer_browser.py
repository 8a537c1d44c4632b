"""The explorer in a real browser: it opens, a click changes the picture. Skipped without Chromium and its driver."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

webdriver = pytest.importorskip("selenium.webdriver")
exceptions = pytest.importorskip("selenium.common.exceptions")
pytest.importorskip("voila")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="no Chromium with chromedriver"),
]

WAIT_S = 120


@pytest.fixture
def page():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "rdmacc.cli.main", "explore", "--no-browser", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1500"):
        options.add_argument(option)
    options.binary_location = BROWSER
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        assert wait(lambda: answers(port))
        browser.set_page_load_timeout(WAIT_S)
        browser.get(f"http://localhost:{port}/")
        yield browser
    finally:
        browser.quit()
        server.terminate()
        assert server.wait(20) == 128 + signal.SIGTERM
    with pytest.raises(OSError, match="refused"):  # Voila has ended with it
        answers(port)


def answers(port):
    """Tell whether the server takes connections."""
    with socket.create_connection(("127.0.0.1", port), 1):
        return True


def wait(condition):
    """Return what a condition gives as soon as it is true."""
    end = time.monotonic() + WAIT_S
    while True:
        try:
            found = condition()
        except (OSError, exceptions.WebDriverException):
            found = None
        if found or time.monotonic() > end:
            return found
        time.sleep(0.1)


def picture(page):
    """Return the source of the picture that is shown."""
    images = page.find_elements("css selector", "img.widget-image")
    return next((image.get_attribute("src") for image in images if image.is_displayed()), None)


def show(page, title):
    """Click on a tab."""
    tabs = page.find_elements("css selector", ".lm-TabBar-tab, .p-TabBar-tab")
    next(tab for tab in tabs if tab.text == title).click()


def test_it_opens_and_a_choice_changes_the_picture(page):
    before = wait(lambda: picture(page))
    assert before
    chosen = page.find_elements("css selector", "select")[0]
    chosen.find_elements("tag name", "option")[1].click()  # dumbbell
    assert wait(lambda: picture(page) != before)
    assert "dcqcn" in page.find_element("tag name", "body").text
    show(page, "Models")
    before = wait(lambda: picture(page))
    assert before
    chosen = next(one for one in page.find_elements("css selector", "select") if one.is_displayed())
    next(one for one in chosen.find_elements("tag name", "option") if one.text == "RenRate").click()
    assert wait(lambda: picture(page) not in (None, before))
    assert wait(lambda: "RenRate().plot()" in page.find_element("tag name", "body").text)
