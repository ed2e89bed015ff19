# SPDX-License-Identifier: BSD-3-Clause
"""Chromium without a window, driven through its DevTools protocol over a pipe: real input, screenshots, page errors."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class headless_chromium:
    """One page. `errors` collects what the page throws or logs as an error."""

    def __init__(self, program=None, patience=60):
        program = program or shutil.which("chromium") or shutil.which("google-chrome")
        if program is None:
            raise RuntimeError("no chromium was found: install it (Debian: apt-get install chromium) or name it")
        self.errors = []
        self.patience = patience
        self._answers, self._last, self._unread = {}, 0, b""
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._commands = os.pipe()
        self._messages, from_browser = os.pipe()
        # The browser reads commands from descriptor 3 and writes messages to 4.
        command = ('exec 3<&"$0" 4>&"$1"; shift; exec "$@" --headless --no-sandbox --disable-gpu '
                   '--disable-dev-shm-usage --remote-debugging-pipe --user-data-dir="$PROFILE" about:blank')
        self._process = subprocess.Popen(
            ["bash", "-c", command, str(to_browser), str(from_browser), program],
            pass_fds=(to_browser, from_browser), env={**os.environ, "PROFILE": self._profile.name},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._session = None
        page = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        os.close(self._commands)
        os.close(self._messages)
        self._profile.cleanup()

    def call(self, method, **parameters):
        """What the protocol's method answers."""
        self._last += 1
        number = self._last
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self.patience
        while number not in self._answers:
            self._receive(end - time.monotonic(), method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']['text']}")
        return answer["result"].get("value")

    def wait_for(self, expression):
        """Until the expression is true."""
        end = time.monotonic() + self.patience
        while not self.evaluate(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"{expression} did not become true in {self.patience} s; page errors: {self.errors}")
            time.sleep(0.05)

    def screenshot(self, path):
        # Twice, because the first may show the frame before.
        for _ in range(2):
            image = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(image))

    def _receive(self, patience, method):
        if patience <= 0 or not select.select([self._messages], [], [], patience)[0]:
            raise TimeoutError(f"{method}: no answer in {self.patience} s")
        received = os.read(self._messages, 1 << 20)
        if not received:
            raise RuntimeError(f"{method}: the browser ended with status {self._process.wait()}")
        *messages, self._unread = (self._unread + received).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
            elif message["method"] == "Runtime.exceptionThrown":
                details = message["params"]["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description", details["text"]))
            elif message["method"] == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
                self.errors.append(message["params"]["entry"]["text"])
