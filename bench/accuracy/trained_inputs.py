# SPDX-License-Identifier: BSD-3-Clause
"""Inputs for trained networks: drawn and synthesized from fixed seeds, or cut from files of pinned wheels. The same on every machine but
for the last digits of its libm."""

from __future__ import annotations

import io
import random
import zipfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

# A sequence is what a network sees one after the other with its own states: a list of calls, each a tuple of arrays.
Sequences = list[list[tuple[np.ndarray, ...]]]

WORDS = """the of and to in is that for it with as his on be at by had are but from or have an they which one you were all her she there would their we
him been has when who will no more if out so up said what its about than into them can only other time new some could these two may first then do any
like my now over such our man me even most made after also did many off before must well back through years much where your way down should because
long each just those people too little state good very make world still see own men work day get here old life both between being under three never know
same last another while us might great year come since against go came right used take himself few house use place during without again home around
small however found went say part once general high upon school every""".split()
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def alone(arrays: list[np.ndarray]) -> Sequences:
    """Each with a batch of 1 and nothing before or behind it."""
    return [[(np.ascontiguousarray(array[None]),)] for array in arrays]


class Fonts:
    """DejaVu's faces, those of matplotlib's wheel."""

    def __init__(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as files:
            names = sorted(n for n in files.namelist() if "/DejaVu" in n and n.endswith(".ttf") and "Display" not in n)
            self.faces = [files.read(name) for name in names]

    def draw(self, rng: random.Random, size: int) -> ImageFont.FreeTypeFont:
        """One of them."""
        return ImageFont.truetype(io.BytesIO(rng.choice(self.faces)), size)


def word(rng: random.Random) -> str:
    """English, a number or a code."""
    kind = rng.random()
    if kind < 0.6:
        text = rng.choice(WORDS)
    elif kind < 0.75:
        text = "".join(rng.choice("0123456789") for _ in range(rng.randint(2, 6)))
    else:
        text = "".join(rng.choice(LETTERS + "-.:/%") for _ in range(rng.randint(3, 8)))
    return text.upper() if rng.random() < 0.15 else text.capitalize() if rng.random() < 0.3 else text


def line(fonts: Fonts, rng: random.Random, width: int) -> np.ndarray:
    """A line of text, 48 pixels high, with blur and noise; 1 channel is blue, as OpenCV has it. From -1 to 1, and 0 behind its end."""
    font, text = fonts.draw(rng, 32), ""
    for _ in range(rng.randint(1, 4)):
        longer = (text + " " + word(rng)).strip()
        if font.getlength(longer) > width - 10:
            break
        text = longer
    text = text or "ok"
    paper, ink = [rng.randint(190, 255) for _ in range(3)], [rng.randint(0, 80) for _ in range(3)]
    if rng.random() >= 0.8:
        paper, ink = ink, paper
    used = min(width, int(font.getlength(text)) + rng.randint(4, 12))
    image = Image.new("RGB", (used, 48), tuple(paper))
    ImageDraw.Draw(image).text((rng.randint(2, 4), rng.randint(2, 8)), text, font=font, fill=tuple(ink))
    if rng.random() < 0.4:
        image = image.filter(ImageFilter.GaussianBlur(rng.random() * 1.2))
    pixels = np.asarray(image).astype(np.float32)
    noise = np.random.default_rng(rng.randint(0, 1 << 30)).normal(0, rng.random() * 10, pixels.shape)
    made = np.zeros((3, 48, width), np.float32)
    made[:, :, :used] = np.clip(pixels + noise, 0, 255)[:, :, ::-1].transpose(2, 0, 1) / 127.5 - 1
    return made


def lines(fonts: Fonts, count: int, width: int, seed: int, turned: bool = False) -> Sequences:
    """Lines of text; with `turned` every second one is upside down."""
    rng, made = random.Random(seed), []
    for i in range(count):
        one = line(fonts, rng, width)
        if turned and i % 2:
            one = np.ascontiguousarray(one[:, ::-1, ::-1])
        made.append(one)
    return alone(made)


def captchas(fonts: Fonts, count: int, seed: int) -> Sequences:
    """Four characters in grey, crossed by lines."""
    rng, made = random.Random(seed), []
    for _ in range(count):
        font = fonts.draw(rng, 44)
        image = Image.new("L", (160, 64), rng.randint(200, 255))
        draw, x = ImageDraw.Draw(image), 6.0
        for _ in range(4):
            letter = rng.choice("abcdefghkmnpqrstuvwxyzABCDEFGHKMNPRSTUVWXYZ23456789")
            draw.text((x, rng.randint(0, 10)), letter, font=font, fill=rng.randint(0, 100))
            x += font.getlength(letter) + rng.randint(-2, 3)
        for _ in range(3):
            draw.line([rng.randint(0, 160), rng.randint(0, 64), rng.randint(0, 160), rng.randint(0, 64)], fill=rng.randint(60, 180))
        made.append((np.asarray(image).astype(np.float32) / 127.5 - 1)[None])
    return alone(made)


def pages(fonts: Fonts, count: int, side: int, seed: int) -> Sequences:
    """Pages of a few lines in several sizes."""
    rng, made = random.Random(seed), []
    for _ in range(count):
        image = Image.new("RGB", (side, side), tuple(rng.randint(200, 255) for _ in range(3)))
        draw, y = ImageDraw.Draw(image), 8
        while y < side - 40:
            size = rng.choice([14, 18, 24, 30])
            text = " ".join(word(rng) for _ in range(rng.randint(1, 4)))
            draw.text((rng.randint(4, 80), y), text, font=fonts.draw(rng, size), fill=tuple(rng.randint(0, 80) for _ in range(3)))
            y += size + rng.randint(6, 30)
        made.append((np.asarray(image).astype(np.float32)[:, :, ::-1] / 127.5 - 1).transpose(2, 0, 1))
    return alone(made)


class Photographs:
    """Pictures of scikit-image's wheel: people, animals, things, textures; and 100 faces of LFW with as many other places, 25 x 25."""

    NAMES = ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "motorcycle_left.png", "camera.png", "hubble_deep_field.jpg")

    def __init__(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as files:
            of = {name: Image.open(io.BytesIO(files.read(f"skimage/data/{name}"))).convert("RGB") for name in self.NAMES}
            patches = np.load(io.BytesIO(files.read("skimage/data/lfw_subset.npy")))
        self.images = list(of.values())
        self.person = of["astronaut.png"]
        self.patches = [Image.fromarray((255 * patch).clip(0, 255).astype(np.uint8)).convert("RGB") for patch in patches]

    def crops(self, count: int, height: int, width: int, seed: int, people: float) -> list[np.ndarray]:
        """Cut, mirrored, dimmed and noisy, channels x height x width from 0 to 255; a share of them from the picture of a person."""
        rng, made = random.Random(seed), []
        for _ in range(count):
            image = self.person if rng.random() < people else rng.choice(self.images)
            most = min(image.width / width, image.height / height)
            scale = rng.uniform(0.4, 1) * most
            w, h = int(width * scale), int(height * scale)
            left, top = rng.randint(0, image.width - w), rng.randint(0, (image.height - h) // (2 if image is self.person else 1))
            made.append(varied(image.crop((left, top, left + w, top + h)).resize((width, height), Image.Resampling.BILINEAR), rng))
        return made

    def faces(self, count: int, side: int, seed: int) -> list[np.ndarray]:
        """Half of them faces, half other places of the same pictures."""
        rng = random.Random(seed)
        chosen = [self.patches[rng.randrange(100) + 100 * (i % 2)] for i in range(count)]
        return [varied(image.resize((side, side), Image.Resampling.BILINEAR), rng) for image in chosen]


def varied(image: Image.Image, rng: random.Random) -> np.ndarray:
    """Perhaps mirrored, with another contrast and noise."""
    pixels = np.asarray(image).astype(np.float32)
    if rng.random() < 0.5:
        pixels = pixels[:, ::-1]
    noise = np.random.default_rng(rng.randint(0, 1 << 30)).normal(0, rng.random() * 6, pixels.shape)
    return np.clip(pixels * rng.uniform(0.6, 1.2) + noise, 0, 255).astype(np.float32).transpose(2, 0, 1)


def scaled(crops: list[np.ndarray], offset: float, factor: float) -> Sequences:
    """(pixel - offset) * factor."""
    return alone([(crop - np.float32(offset)) * np.float32(factor) for crop in crops])


def speech(seconds: float, rate: int, rng: np.random.Generator) -> np.ndarray:
    """Vowels of three formants, hisses, noise and silence."""
    parts: list[np.ndarray] = []
    while sum(map(len, parts)) < seconds * rate:
        n = int(rate * rng.uniform(0.1, 0.4))
        kind = rng.random()
        if kind < 0.3:
            parts.append(rng.normal(0, 10 ** rng.uniform(-4, -2.3), n))
            continue
        if kind < 0.45:
            sound = np.diff(rng.normal(0, 1, n), prepend=0) * 0.05
        else:
            sound = vowel(np.arange(n) / rate, rate, rng)
        parts.append(sound * np.minimum(1, np.minimum(np.arange(n), np.arange(n)[::-1]) / (0.02 * rate)))
    sound = np.concatenate(parts)[:int(seconds * rate)]
    return (sound + rng.normal(0, 10 ** rng.uniform(-4, -2.5), len(sound))).clip(-1, 1).astype(np.float32)


def vowel(t: np.ndarray, rate: int, rng: np.random.Generator) -> np.ndarray:
    """Harmonics of a voice that wavers."""
    pitch = rng.uniform(90, 240) * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(1, 4) * t) + 0.05 * rng.normal() * t)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    formants = [(rng.uniform(250, 850), 80), (rng.uniform(850, 2400), 120), (rng.uniform(2300, 3200), 180)]
    sound = np.zeros(len(t))
    for harmonic in range(1, 40):
        frequency = pitch.mean() * harmonic
        if frequency > rate / 2:
            break
        gain = sum(1 / (1 + ((frequency - middle) / width) ** 2) for middle, width in formants)
        sound += gain / harmonic**0.5 * np.sin(harmonic * phase)
    return sound * rng.uniform(0.05, 0.3)


def recordings(count: int, samples: int, seed: int) -> Sequences:
    """Sounds at 16 kHz, from -1 to 1."""
    rng = np.random.default_rng(seed)
    return alone([speech(samples / 16000, 16000, rng)[:samples] for _ in range(count)])


def speech_frames(seconds: list[float], seed: int) -> Sequences:
    """Sequences at 16 kHz in frames of 512 samples with the 64 before them; the network's state follows."""
    rng = np.random.default_rng(seed)
    made: Sequences = []
    for length in seconds:
        sound = np.concatenate([np.zeros(64, np.float32), speech(length, 16000, rng)])
        made.append([(sound[None, at:at + 576],) for at in range(0, len(sound) - 576, 512)])
    return made


def notes(seconds: float, rate: int, rng: np.random.Generator) -> np.ndarray:
    """Plucked notes, some at once."""
    n = int(seconds * rate)
    sound = np.zeros(n)
    for _ in range(int(seconds * rng.uniform(2, 6))):
        pitch, start = 440 * 2 ** ((rng.integers(40, 85) - 69) / 12), int(rng.uniform(0, n))
        length = min(n - start, int(rate * rng.uniform(0.2, 1.2)))
        if length < 200:
            continue
        t = np.arange(length) / rate
        note = sum(np.sin(2 * np.pi * pitch * h * t) * np.exp(-t * h * 1.5) / h ** rng.uniform(1, 2)
                   for h in range(1, 9) if pitch * h < rate / 2)
        sound[start:start + length] += note * np.minimum(1, t / 0.005) * np.minimum(1, t[::-1] / 0.02) * rng.uniform(0.05, 0.3)
    return (sound + rng.normal(0, 1e-4, n)).clip(-1, 1).astype(np.float32)


def music(count: int, seed: int) -> Sequences:
    """Windows of 43844 samples at 22050 Hz."""
    rng = np.random.default_rng(seed)
    return alone([notes(43844 / 22050, 22050, rng)[:, None] for _ in range(count)])


def voiced_frames(count: int, seed: int) -> Sequences:
    """1024 samples of a vowel at 16 kHz, less their mean, over their deviation."""
    rng, made = np.random.default_rng(seed), []
    for _ in range(count):
        sound = vowel(np.arange(1024) / 16000, 16000, rng) + rng.normal(0, 10 ** rng.uniform(-4, -2.5), 1024)
        made.append(((sound - sound.mean()) / sound.std()).astype(np.float32))
    return alone(made)


def spectrograms(count: int, seed: int) -> Sequences:
    """160 frames of 40 mel bands of speech at 16 kHz, powers, as librosa makes them of windows of 400 samples each 160."""
    rng = np.random.default_rng(seed)
    window, bands, made = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400), mel_bands(), []
    for _ in range(count):
        sound = np.pad(speech(1.6, 16000, rng), 200)
        frames = np.stack([sound[at:at + 400] for at in range(0, 160 * 160, 160)]) * window
        made.append((np.abs(np.fft.rfft(frames)) ** 2 @ bands.T).astype(np.float32))
    return alone(made)


def mel_bands() -> np.ndarray:
    """Slaney's, 40 triangles of equal area over 201 frequencies up to 8 kHz."""
    step, knee = 200 / 3, 1000.0
    ratio = np.log(6.4) / 27
    mels = np.linspace(0, knee / step + np.log(8000 / knee) / ratio, 42)
    edges = np.where(mels < knee / step, mels * step, knee * np.exp(ratio * (mels - knee / step)))
    f = np.linspace(0, 8000, 201)
    rises = (f - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falls = (edges[2:, None] - f) / (edges[2:] - edges[1:-1])[:, None]
    return np.maximum(0, np.minimum(rises, falls)) * (2 / (edges[2:] - edges[:-2]))[:, None]


def starts_and_ends(wheels: list[Path], count: int, seed: int) -> Sequences:
    """Of files within wheels, as many of each kind as there are kinds: magika's 1024 bytes from the first and up to the last that is no
    space of 4096, and 256 where there are fewer."""
    by_kind: dict[str, list[bytes]] = defaultdict(list)
    rng = random.Random(seed)
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as files:
            entries = sorted((e for e in files.infolist() if 64 <= e.file_size < 4_000_000), key=lambda e: e.filename)
            rng.shuffle(entries)
            for entry in entries:
                kind = Path(entry.filename).suffix.lower()
                if len(by_kind[kind]) < 40:
                    by_kind[kind].append(files.read(entry))
    turns = [of[i] for i in range(40) for _, of in sorted(by_kind.items()) if i < len(of)][:count]
    rng.shuffle(turns)
    made = []
    for data in turns:
        head, tail = data[:4096].lstrip()[:1024], data[-4096:].rstrip()[-1024:]
        made.append(np.array([*head, *[256] * (2048 - len(head) - len(tail)), *tail], np.int32))
    return alone(made)
