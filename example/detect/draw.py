"""Draws boxes on the photographs that have some, one PNG for all:

    draw.py <folder of PPMs> <boxes.txt> <PNG>

A line of boxes.txt is: photograph, network, left, top, right, bottom. float's
boxes are green, those of equalized-int8 red, others are left out.
"""

import pathlib
import sys

from PIL import Image, ImageDraw

COLOURS = {"float": "lime", "equalized-int8": "red"}


def main():
    folder, boxes, target = map(pathlib.Path, sys.argv[1:4])
    images = {}
    for line in boxes.read_text().splitlines():
        name, network, *corners = line.split()
        if network not in COLOURS:
            continue
        if name not in images:
            images[name] = Image.open(folder / (name + ".ppm"))
        ImageDraw.Draw(images[name]).rectangle(
            [float(corner) for corner in corners],
            outline=COLOURS[network], width=2)
    sheet = Image.new("RGB", (max(1, sum(i.width for i in images.values())),
                              max([1] + [i.height for i in images.values()])))
    left = 0
    for image in images.values():
        sheet.paste(image, (left, 0))
        left += image.width
    sheet.save(target)


if __name__ == "__main__":
    main()
