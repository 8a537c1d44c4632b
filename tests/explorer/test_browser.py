"""The explorer in a real browser: it opens, and clicks change the picture. Skipped without Chromium and its driver."""

import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from http.client import HTTPConnection
from importlib.util import find_spec
from urllib.parse import urlsplit

import pytest

webdriver = pytest.importorskip("selenium.webdriver")
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
exceptions = pytest.importorskip("selenium.common.exceptions")
if find_spec("voila") is None:  # only the server started here imports it, which takes seconds
    pytest.skip("no voila", allow_module_level=True)
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.nightly,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="no Chromium with chromedriver"),
]

WAIT_S = 120
PROGRAM = """
from rdmacc import explorer
from rdmacc.cli.main import app
explorer._CULL_S = 5
app()
"""
"""The command, except that a kernel whose page is closed ends after 5 s."""


@pytest.fixture(scope="module")
def page():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", PROGRAM, "explore", "--no-browser", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    link = server.stdout.readline().split()[-1]
    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1500"):
        options.add_argument(option)
    options.binary_location = BROWSER
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        assert wait(lambda: answers(port))
        browser.set_page_load_timeout(WAIT_S)
        browser.get(link)
        browser.link, browser.process = link, server.pid
        yield browser
    finally:
        browser.quit()
        server.terminate()
        assert server.wait(20) == 128 + signal.SIGTERM
        server.stdout.close()
    with pytest.raises(OSError, match="refused"):  # Voila has ended with it
        answers(port)


def answers(port):
    with socket.create_connection(("127.0.0.1", port), 1):
        return True


def wait(condition):
    """Return a condition's value as soon as it is true."""
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
    images = page.find_elements("css selector", "img.widget-image")
    return next((image.get_attribute("src") for image in images if image.is_displayed()), None)


def show(page, title):
    tabs = page.find_elements("css selector", ".lm-TabBar-tab, .p-TabBar-tab")
    next(tab for tab in tabs if tab.text == title).click()


def sliders(page):
    """Return the handles of the visible sliders that can be moved."""
    handles = page.find_elements("css selector", ".widget-slider:not([disabled]) .noUi-handle")
    return [one for one in handles if one.is_displayed() and one.is_enabled()]


def notes(page):
    found = "document.querySelectorAll('.widget-html div[style]')"
    return page.execute_script(f"return [...{found}].filter(one => one.offsetParent).map(one => one.textContent)")


def test_sliders_move_to_their_ends_and_a_choice_changes_the_picture(page):
    """Three sliders, to test the path from a handle to Python; `test_explorer.py` moves every slider."""
    assert wait(lambda: picture(page))
    boxes = "[...document.querySelectorAll('.widget-box')].filter(one => one.offsetParent)"
    assert page.execute_script(f"return {boxes}.every(one => one.scrollWidth <= one.clientWidth)"), "a box scrolls"
    moved = 0
    for number in {0, len(sliders(page)) // 2, len(sliders(page)) - 1}:
        for key in (Keys.HOME, Keys.END):
            before = picture(page), notes(page)
            handle = sliders(page)[number]
            position = handle.get_attribute("aria-valuenow")
            handle.send_keys(key)
            if sliders(page)[number].get_attribute("aria-valuenow") == position:
                continue
            moved += 1
            assert wait(lambda before=before: (picture(page), notes(page)) != before or "no effect" in str(before))
            assert not any("must" in text for text in notes(page)), (number, key, notes(page))
    assert moved > 3
    before = picture(page)
    chosen = page.find_elements("css selector", "select")[0]
    chosen.find_elements("tag name", "option")[1].click()  # dumbbell
    assert wait(lambda: picture(page) != before)
    assert "dcqcn" in page.find_element("tag name", "body").text
    show(page, "Models")
    before = wait(lambda: picture(page))
    assert before
    chosen = next(one for one in page.find_elements("css selector", "select") if one.is_displayed())
    next(one for one in chosen.find_elements("tag name", "option") if "REN take" in one.text).click()
    assert wait(lambda: picture(page) not in (None, before))
    assert wait(lambda: "RenRate().plot()" in page.find_element("tag name", "body").text)


def status(link, path="", **headers):
    """Return the status of a request, without following where it leads."""
    parts = urlsplit(link)
    with closing(HTTPConnection(parts.hostname, parts.port, timeout=30)) as connection:
        connection.request("GET", path or f"{parts.path}?{parts.query}", headers=headers)
        with connection.getresponse() as response:
            return response.status


def kernels(server):
    found = subprocess.run(["pgrep", "-f", "--parent", str(server)], capture_output=True, text=True, check=False)
    return found.stdout.split()


def test_only_the_link_opens_it_and_each_visit_has_one_kernel(page):
    assert wait(lambda: picture(page))
    parts = urlsplit(page.link)
    assert parts.hostname == "127.0.0.1"
    assert len(parts.query) > 30
    assert status(page.link, "/") == 302  # to the login page
    assert status(page.link, "/?token=guess") == 302
    assert status(page.link, Host="evil.example") == 403
    socket_path = "/api/kernels/00000000-0000-0000-0000-000000000000/channels"
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Origin": "http://evil.example"}  # fmt: skip
    assert status(page.link, socket_path, **upgrade) == 403
    with pytest.raises(OSError, match="refused"):  # not on the machine's other addresses
        socket.create_connection(("127.0.0.2", parts.port), 1)
    (server,) = kernels(page.process)
    assert wait(lambda: len(kernels(server)) == 1)
    page.refresh()
    assert wait(lambda: picture(page))
    assert wait(lambda: len(kernels(server)) == 1)
    page.get("about:blank")
    assert wait(lambda: not kernels(server))
