"""Photographs of Debian's python3-skimage and python3-sklearn as detectors of
faces want them: scaled to fit a square, black to the right and below, binary PPM.

    photos.py <folder to unpack packages in> <folder for the PPMs>

Those named calibration-... are for choosing the parameters of activations alone:
other pictures, and faces of skimage's lfw_subset, 25 pixels wide, enlarged.

The packages are downloaded and unpacked, not installed. Needs apt-get, dpkg-deb
and python3-pil.
"""

import array
import pathlib
import subprocess
import sys

from PIL import Image, ImageOps

SIZE = 416
FILES = {
    "python3-skimage": [
        "skimage/data/astronaut.png", "skimage/data/camera.png",
        "skimage/data/chelsea.png", "skimage/data/coffee.png",
        "skimage/data/coins.png"
    ],
    "python3-sklearn": [
        "sklearn/datasets/images/china.jpg",
        "sklearn/datasets/images/flower.jpg"
    ],
}

CALIBRATION = [
    "hubble_deep_field.jpg", "ihc.png", "motorcycle_left.png", "retina.jpg",
    "rocket.jpg"
]
# For lfw_subset, whose first half are faces.
FACE_SIZE = 25
FACE_PICTURES = 10


def find(package, unpacked):
    """The folder of a package's Python modules."""
    modules = pathlib.Path("usr/lib/python3/dist-packages")
    name = package.replace("python3-", "")
    if (pathlib.Path("/") / modules / name).is_dir():
        return pathlib.Path("/") / modules
    if not (unpacked / modules / name).is_dir():
        subprocess.run(["apt-get", "-qq", "download", package],
                       cwd=unpacked, check=True)
        archive = next(unpacked.glob(package + "_*.deb"))
        subprocess.run(["dpkg-deb", "-x", archive.name, "."],
                       cwd=unpacked, check=True)
    return unpacked / modules


def fit(image):
    """The image in the upper left of the square."""
    square = Image.new("RGB", (SIZE, SIZE))
    scale = SIZE / max(image.size)
    size = tuple(max(1, round(length * scale)) for length in image.size)
    square.paste(image.resize(size, Image.BILINEAR))
    return square


def face_pictures(path):
    """Pictures of two faces each, of other sizes in each picture."""
    data = path.read_bytes()
    header = 10 + int.from_bytes(data[8:10], "little")
    if b"'<f8'" not in data[:header]:
        sys.exit(f"{path} has no doubles")
    values = array.array("d", data[header:])
    pixels = FACE_SIZE * FACE_SIZE
    for i in range(FACE_PICTURES):
        picture = Image.new("RGB", (SIZE, SIZE), (90, 90, 90))
        for j in range(2):
            first = (2 * i + j) * pixels
            face = Image.frombytes(
                "L", (FACE_SIZE, FACE_SIZE),
                bytes(round(255 * v) for v in values[first:first + pixels]))
            size = 60 + 14 * i
            picture.paste(
                face.resize((size, size), Image.BICUBIC).convert("RGB"),
                (10 + 200 * j, 10 + 15 * i + 20 * j))
        yield picture


def main():
    unpacked, photos = map(pathlib.Path, sys.argv[1:3])
    for folder in (unpacked, photos):
        folder.mkdir(parents=True, exist_ok=True)
    for package, files in FILES.items():
        folder = find(package, unpacked)
        for name in files:
            image = Image.open(folder / name).convert("RGB")
            stem = pathlib.Path(name).stem
            fit(image).save(photos / (stem + ".ppm"))
            if stem == "astronaut":
                # More faces: the other way round, smaller, and nearer.
                fit(ImageOps.mirror(image)).save(photos /
                                                 "astronaut-mirrored.ppm")
                small = Image.new("RGB", (900, 900))
                small.paste(image, (200, 150))
                fit(small).save(photos / "astronaut-small.ppm")
                fit(image.crop((100, 0, 356, 256))).save(
                    photos / "astronaut-near.ppm")
    data = find("python3-skimage", unpacked) / "skimage/data"
    for name in CALIBRATION:
        image = Image.open(data / name).convert("RGB")
        stem = pathlib.Path(name).stem
        fit(image).save(photos / f"calibration-{stem}.ppm")
    for i, picture in enumerate(face_pictures(data / "lfw_subset.npy")):
        picture.save(photos / f"calibration-faces-{i}.ppm")


if __name__ == "__main__":
    main()
