#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Screenshots of the built site in headless Chromium, of a desktop and a phone. Usage: screenshots.py [--output FOLDER] [PAGE...]

They are for people to look at. Needs Chromium (Debian: chromium) and the site, which build.py makes.
"""
import argparse
import functools
import http.server
import pathlib
import shutil
import subprocess
import sys
import threading

SITE = pathlib.Path(__file__).resolve().parent.parent.parent / "build" / "site"
PAGES = ("index.html", "guides/from_pytorch.html", "how_it_works.html", "reference/layers_matrix.html")
SIZES = {"desktop": "1400,1600", "phone": "500,1600"}  # Chromium opens no window that is narrower than 500


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the site, without which there is no search."""

    def log_message(self, *_) -> None:
        pass


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=SITE.parent / "site_screenshots")
    parser.add_argument("pages", nargs="*", default=PAGES)
    options = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        print("expected Chromium in PATH, found none: install chromium", file=sys.stderr)
        return 1
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options.output.mkdir(parents=True, exist_ok=True)
    for page in options.pages:
        for device, size in SIZES.items():
            made = options.output / f"{pathlib.PurePath(page).with_suffix('').as_posix().replace('/', '_')}_{device}.png"
            subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size}",
                            f"--screenshot={made}", f"http://127.0.0.1:{server.server_port}/{page}"],
                           check=True, capture_output=True, timeout=120)
            print(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
