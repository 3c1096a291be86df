"""Draws boxes on the photographs that have some, one PNG for all:

    draw.py <folder of PPMs> <boxes.txt> <PNG>

A line of boxes.txt is: photograph, network, how it is computed, left, top, right,
bottom. COLOURS has those that are drawn.
"""

import pathlib
import sys

from PIL import Image, ImageDraw

COLOURS = {
    ("tiny_face_detector", "float"): "lime",
    ("tiny_face_detector", "equalized-int8"): "red",
    ("ssd_mobilenetv1", "float"): "cyan",
    ("ssd_mobilenetv1", "int8-minmax-bias"): "orange",
}


def main():
    folder, boxes, target = map(pathlib.Path, sys.argv[1:4])
    images = {}
    for line in boxes.read_text().splitlines():
        name, network, row, *corners = line.split()
        if (network, row) not in COLOURS:
            continue
        if name not in images:
            images[name] = Image.open(folder / (name + ".ppm"))
        ImageDraw.Draw(images[name]).rectangle(
            [float(corner) for corner in corners],
            outline=COLOURS[network, row], width=2)
    sheet = Image.new("RGB", (max(1, sum(i.width for i in images.values())),
                              max([1] + [i.height for i in images.values()])))
    left = 0
    for image in images.values():
        sheet.paste(image, (left, 0))
        left += image.width
    sheet.save(target)


if __name__ == "__main__":
    main()
