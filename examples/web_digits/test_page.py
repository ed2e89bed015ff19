# SPDX-License-Identifier: BSD-3-Clause
"""Draws digits on the page in headless Chromium, with mouse and finger, and checks what both networks answer.

Usage: test_page.py <folder of the page> [--screenshots <folder>] [--chromium <program>]
"""

import argparse
import tempfile
from pathlib import Path

from handwriting import WRITTEN, smooth
from headless_chromium import headless_chromium

SCREENS = {  # name: width, height, pixels a unit, finger, colours, the digit in the screenshot
    "desktop": (1100, 570, 1, False, "light", "4"),
    "desktop_dark": (1100, 570, 1, False, "dark", "8"),
    "phone": (360, 740, 2, True, "light", "2"),
    "phone_dark": (360, 740, 2, True, "dark", "5"),
    "phone_sideways": (740, 360, 2, True, "dark", "3"),
    "phone_narrow": (320, 568, 2, True, "dark", "6"),
}
NETWORKS = ("int8", "float32")


class page_test:
    def __init__(self, browser, page):
        self.browser, self.page, self.failures, self.checks = browser, page, [], 0

    def check(self, kept, message):
        self.checks += 1
        if not kept:
            self.failures.append(message)
            print(f"FAILED: {message}")

    def open(self, width, height, scale, finger, colours):
        self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                          mobile=finger)
        self.browser.call("Emulation.setTouchEmulationEnabled", enabled=finger)
        self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": colours}])
        self.browser.call("Page.navigate", url=self.page)
        self.browser.wait_for("document.documentElement?.dataset.ready === 'yes'")

    def draw(self, digit, finger):
        """As a hand would: input events of the browser, not of a script in the page."""
        box = self.browser.evaluate("(({left, top, width, height}) => [left, top, width, height])"
                                    "(document.getElementById('board').getBoundingClientRect())")
        left, top, width, height = box

        def place(x, y):  # three quarters of the board high
            return {"x": left + width * (0.25 + 0.5 * x), "y": top + height * (0.12 + 0.76 * y)}

        for stroke in WRITTEN[digit]:
            places = [place(*point) for point in smooth(stroke)]
            if finger:
                self.browser.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[places[0]])
                for point in places[1:]:
                    self.browser.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=[point])
                self.browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
            else:
                button = {"button": "left", "clickCount": 1}
                self.browser.call("Input.dispatchMouseEvent", type="mousePressed", buttons=1, **button, **places[0])
                for point in places[1:]:
                    self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", buttons=1, button="left", **point)
                self.browser.call("Input.dispatchMouseEvent", type="mouseReleased", **button, **places[-1])
        self.browser.wait_for("document.getElementById('spoken').textContent !== ''")

    def answers(self):
        """What the page says of each network: digit, its share, the ten shares, microseconds."""
        text = "document.getElementById('{0}').textContent"
        return {name: self.browser.evaluate(
            f"({{digit: {text.format(name + '-digit')}, sure: parseFloat({text.format(name + '-sure')}),"
            f" microseconds: parseFloat({text.format(name + '-time')}),"
            f" shares: [...document.querySelectorAll('td.{name}')].map(cell => parseFloat(cell.textContent)),"
            f" bars: [...document.querySelectorAll('.bar.{name}')].map(bar => bar.getBoundingClientRect().width)}})")
            for name in NETWORKS}

    def clear(self, key):
        if key:
            for kind in ("keyDown", "keyUp"):
                self.browser.call("Input.dispatchKeyEvent", type=kind, key="Escape", code="Escape")
        else:
            self.browser.evaluate("document.getElementById('clear').click()")
        self.browser.wait_for("document.getElementById('int8-digit').textContent === '–'")
        left = self.browser.evaluate("document.getElementById('ink').childNodes.length")
        self.check(left == 0, f"cleared, but {left} strokes are left")

    def check_digit(self, digit, finger):
        self.draw(digit, finger)
        answers = self.answers()
        for name, answer in answers.items():
            shares, bars = answer["shares"], answer["bars"]
            self.check(answer["digit"] == digit, f"a drawn {digit} is read as {answer['digit']} by {name}: {shares}")
            self.check(answer["sure"] == max(shares) and abs(sum(shares) - 100) < 0.6, f"{name}'s shares: {answer}")
            self.check(bars.index(max(bars)) == shares.index(max(shares)), f"{name}'s longest bar: {answer}")
            self.check(0 < answer["microseconds"] < 1e5, f"{name}'s time: {answer}")
        print(digit, "finger" if finger else "mouse", *(f"{name} reads {answer['digit']}, {answer['sure']} %, "
              f"{answer['microseconds']:.0f} us" for name, answer in answers.items()), sep="  ")

    def check_layout(self, name, finger):
        self.check(not self.browser.evaluate("document.documentElement.scrollWidth > innerWidth"),
                   f"{name}: the page is wider than the screen")
        small = self.browser.evaluate(
            "[...document.querySelectorAll('main *')].filter(one => one.childElementCount === 0"
            " && one.textContent.trim() && parseFloat(getComputedStyle(one).fontSize) < 14)"
            ".map(one => one.textContent)")
        self.check(small == [], f"{name}: smaller than 14 px: {small}")
        wide = self.browser.evaluate("[...document.querySelectorAll('dl div, h1, header p, th, td')]"
                                     ".filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)")
        self.check(wide == [], f"{name}: wider than what it stands in: {wide}")
        seen = "document.getElementById('float32-digit').getBoundingClientRect().bottom <= innerHeight"
        self.check(self.browser.evaluate(seen), f"{name}: the answers are below the screen")
        if finger:
            height = self.browser.evaluate("document.getElementById('clear').getBoundingClientRect().height")
            self.check(height >= 44, f"{name}: the button is {height} px high, too small for a finger")


def check_broken_archive(test, folder):
    """A damaged network is an error that the page shows."""
    test.browser.call("Page.addScriptToEvaluateOnNewDocument", source="""
        const stream = Response.prototype.arrayBuffer;
        Response.prototype.arrayBuffer = async function () {
          const whole = await stream.call(this);
          const [[, program], [, network]] = archive.files;
          new Uint8Array(whole, program, network).fill(0x20, 8, 16);  // the header's first bytes
          return whole;
        };""")
    test.browser.call("Page.navigate", url=test.page)
    test.browser.wait_for("document.getElementById('error')?.hidden === false")
    message = test.browser.evaluate("document.getElementById('error').textContent")
    print("a damaged network:", message)
    test.check("the int8 network" in message, f"the error does not name the network: {message}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=Path)
    parser.add_argument("--screenshots", type=Path)
    parser.add_argument("--chromium")
    arguments = parser.parse_args()
    screenshots = arguments.screenshots or Path(tempfile.mkdtemp())
    screenshots.mkdir(parents=True, exist_ok=True)

    with headless_chromium(arguments.chromium) as browser:
        test = page_test(browser, (arguments.page / "index.html").resolve().as_uri())
        for name, (width, height, scale, finger, colours, shown) in SCREENS.items():
            test.open(width, height, scale, finger, colours)
            digits = sorted(WRITTEN) if colours == "light" else []
            for digit in digits:
                test.check_digit(digit, finger)
                test.clear(key=not finger)
            if name == "phone":
                browser.screenshot(screenshots / "phone_empty.png")
            test.check_digit(shown, finger)
            test.check_layout(name, finger)
            browser.screenshot(screenshots / f"{name}.png")
        test.check(browser.errors == [], f"the page's errors: {browser.errors}")
        size = sum(path.stat().st_size for path in arguments.page.iterdir())
        # 400,000 is the aim, which it met at 391,000 (docs/next.md); more than this is a step further away.
        test.check(size < 400_000, f"the page has {size} bytes, more than the 400,000 it may have")
        check_broken_archive(test, arguments.page)

    passed = test.checks - len(test.failures)
    print(f"{passed} checks passed, {len(test.failures)} failed; screenshots in {screenshots}")
    raise SystemExit(1 if test.failures else 0)


if __name__ == "__main__":
    main()
