# SPDX-License-Identifier: BSD-3-Clause
"""Writes archive.js: files as JavaScript, because a page opened from a disk may load scripts but fetch nothing.

Usage: pack.py <output> <name>=<file>...

Floats are split into planes, all their first bytes, all their second bytes and so on, which deflate better. Text in
UTF-16 holds 15 bits of deflated data in a character, seven percent more than the data itself; base64 would be a third
more. The byte order mark tells browsers the encoding, whatever a server says. page.js unpacks it.

Then prints how much there is to download.
"""

import json
import sys
import zlib
from pathlib import Path


def deflated(content):
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)  # "deflate-raw" in a browser
    return compressor.compress(content) + compressor.flush()


def smallest(content):
    """(number of planes, the bytes plane after plane)"""
    forms = [(1, content)]
    if len(content) % 4 == 0:
        forms.append((4, b"".join(content[i::4] for i in range(4))))
    return min(forms, key=lambda form: len(deflated(form[1])))


def main():
    output, *arguments = sys.argv[1:]
    files, contents = [], []
    for argument in arguments:
        name, path = argument.split("=", 1)
        planes, content = smallest(Path(path).read_bytes())
        files.append((name, len(content), planes))
        contents.append(content)
    packed = deflated(b"".join(contents))

    characters = len(packed) * 8 // 15 + 1
    bits = f"{int.from_bytes(packed, 'big') << (characters * 15 - len(packed) * 8):0{characters * 15}b}"
    text = "".join(chr(0x1000 + int(bits[i : i + 15], 2)) for i in range(0, len(bits), 15))
    with open(output, "w", encoding="utf-16", newline="\n") as file:
        file.write(f'const archive = {{ files: {json.dumps(files)}, bytes: {len(packed)}, text: "{text}" }};\n')

    sizes = {path.name: path.stat().st_size for path in sorted(Path(output).parent.iterdir())}
    for name, size in [*sizes.items(), ("in all", sum(sizes.values()))]:
        print(f"{name:12}{size:8,} bytes")


if __name__ == "__main__":
    main()
