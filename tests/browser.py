"""A real browser for tests of pages; they are skipped, and say so, where there is none."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

NEEDS_BROWSER = [
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no chromium with chromedriver on this machine"),
    # One browser at a time.
    pytest.mark.xdist_group("browser"),
    pytest.mark.slow,
]

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1400,900"
)

HOSTILE = [
    "<script>document.title='owned'</script>",
    "</script><img src=x onerror=\"document.title='owned'\">",
    "\"'`onmouseover=alert(1)",
    "$$\\href{javascript:alert(1)}{x}$$",
    "abc\u202edcba",
    "line\u2028break\x00",
]
"""Values that a page must show as text."""


@contextmanager
def browser(profile: Path) -> Iterator[Any]:
    """Chromium with a profile of its own, which logs what pages complain about and what they fetch."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={profile}")
    options.binary_location = CHROMIUM or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def wait(driver: Any, condition: str) -> None:
    """Until a condition in JavaScript is true."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(driver, 60, poll_frequency=0.05).until(lambda d: d.execute_script(f"return {condition}"))


def forget_logs(driver: Any) -> None:
    """Leave the page there is, and forget what it logged."""
    driver.get("about:blank")
    driver.get_log("browser")
    driver.get_log("performance")


def complaints(driver: Any) -> list[Any]:
    """What has been complained about on the console since it was last asked."""
    return [entry for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def fetched(driver: Any) -> list[str]:
    """What has been fetched since it was last asked, but for what pages hold themselves."""
    asked = [
        message["params"]["request"]["url"]
        for message in (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
        if message["method"] == "Network.requestWillBeSent"
    ]
    return [url for url in asked if not url.startswith(("data:", "blob:"))]
