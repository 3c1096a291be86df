"""Writes inputs of the text networks: lines and pages that are drawn here.

  python3 pictures.py line|page <width> <height> <folder>

line: one line of text that fills the picture, every second one upside down,
values in [-1, 1]; page: several, with the means of ImageNet. Each is a file of
raw floats, planes of red, green and blue; ten are named calibration-...
"""
import array
import pathlib
import random
import sys

from PIL import Image, ImageDraw, ImageFilter, ImageFont

FONTS = pathlib.Path("/usr/share/fonts/truetype/dejavu")
WORDS = """matrix product kernel vector quantize scale zero point int8 bias
channel depth stride panel epilogue 2048 4096 0.125 99% page line total price
date 12/11/2026 Invoice No. 7731 Hello World Lorem ipsum dolor sit amet""".split()


def noise_of(size, rng):
    """Light and dark that change slowly."""
    small = Image.new("RGB", (6, 4))
    small.putdata([tuple(rng.randrange(170, 256) for _ in range(3))
                   for _ in range(24)])
    return small.resize(size, Image.BICUBIC)


def draw_line(draw, box, rng):
    left, top, right, bottom = box
    name = rng.choice(["DejaVuSans.ttf", "DejaVuSans-Bold.ttf",
                       "DejaVuSerif.ttf", "DejaVuSansMono.ttf"])
    size = int((bottom - top) * rng.uniform(0.55, 0.8))
    font = ImageFont.truetype(str(FONTS / name), size)
    text = rng.choice(WORDS)
    while draw.textlength(text, font) < (right - left) * 0.7:
        text += " " + rng.choice(WORDS)
    color = tuple(rng.randrange(0, 110) for _ in range(3))
    draw.text((left + 3, (top + bottom) // 2), text, color, font, anchor="lm")


def write(image, path, means, deviations):
    values = array.array("f")
    for plane, mean, deviation in zip(image.split(), means, deviations):
        values.extend((v / 255 - mean) / deviation for v in plane.getdata())
    with open(path, "wb") as file:
        values.tofile(file)


def worsen(image, rng):
    """As a camera would: out of focus, and with noise."""
    image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0, 1.5)))
    grain = Image.effect_noise(image.size, rng.uniform(10, 90)).convert("RGB")
    return Image.blend(image, grain, rng.uniform(0, 0.4))


def main():
    kind, width, height = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    folder = pathlib.Path(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(110 if kind == "line" else 14):
        rng = random.Random(i)
        image = noise_of((width, height), rng)
        draw = ImageDraw.Draw(image)
        if kind == "line":
            draw_line(draw, (0, 0, width, height), rng)
            # Recognition takes them upright alone.
            if i % 2 == 1 and width < 300:
                image = image.transpose(Image.ROTATE_180)
            scales = [0.5] * 3, [0.5] * 3
        else:
            top = 8
            while top < height - 24:
                bottom = top + rng.randrange(18, 44)
                left = rng.randrange(0, width // 2)
                right = rng.randrange(left + width // 4, width + 1)
                draw_line(draw, (left, top, right, bottom), rng)
                top = bottom + rng.randrange(4, 24)
            scales = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
        image = worsen(image, rng)
        name = f"calibration-{i}" if i < 10 else f"{kind}-{i}"
        write(image, folder / f"{name}.f32", *scales)


main()
