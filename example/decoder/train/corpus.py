#!/usr/bin/env python3
"""Writes the training and held-out texts of the decoder example.

    corpus.py FOLDER   writes FOLDER/train.txt, pages.txt and licenses.txt

The texts are those of Debian 12's packages base-files (the licenses), manpages
and manpages-dev (sections 2 to 5 and 7 of the manual), which must be installed
with their pages; groff (package groff-base) renders them. Held out:
licenses.txt, two of the licenses, and pages.txt, every 50th page.
"""
import gzip
import hashlib
import os
import re
import subprocess
import sys

LICENSES = "/usr/share/common-licenses"
HELD_OUT_LICENSES = ["Artistic", "CC0-1.0"]
# Licenses are 3% of the text otherwise.
LICENSE_COPIES = 4
HELD_OUT_PAGE = 50


def ascii_only(text):
    text = text.replace("\u2018", "'").replace("\u2019", "'")
    text = text.replace("\u201c", '"').replace("\u201d", '"')
    text = text.replace("\t", "        ").replace("\f", "")
    return "".join(c if c == "\n" or " " <= c <= "~" else "?" for c in text)


def licenses():
    for name in sorted(os.listdir(LICENSES)):
        path = os.path.join(LICENSES, name)
        if os.path.islink(path):  # to the newest version of a license
            continue
        with open(path, encoding="utf-8") as file:
            yield name, ascii_only(file.read())


def pages():
    """Each manual page as text of 78 columns, in the order of file names."""
    paths = set()
    for package in "manpages", "manpages-dev":
        listing = subprocess.run(["dpkg", "-L", package], check=True,
                                 capture_output=True, text=True).stdout
        paths |= {line for line in listing.split("\n")
                  if re.match(r"/usr/share/man/man[23457]/.*\.gz$", line)}
    for path in sorted(paths):
        if os.path.islink(path):
            continue
        with gzip.open(path) as file:
            source = file.read()
        if source.startswith(b".so ") or b"\n.so man" in source:
            continue
        text = subprocess.run(
            ["groff", "-mandoc", "-Tascii", "-P-cbou", "-rHY=0", "-t"],
            input=source, capture_output=True, check=True).stdout
        text = ascii_only(text.decode("ascii", "replace"))
        # Undoes the justification, but keeps indentation.
        text = re.sub(r"(?<=\S) {2,}(?=\S)", " ", text)
        yield re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="ascii") as file:
        file.write(text)
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()
    print(f"{name}: {len(text)} characters, sha256 {digest[:16]}")


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    kept, held_out = [], []
    for index, page in enumerate(pages()):
        (held_out if index % HELD_OUT_PAGE == 0 else kept).append(page)
    all_licenses = dict(licenses())
    held_out_licenses = [all_licenses.pop(name) for name in HELD_OUT_LICENSES]
    kept += list(all_licenses.values()) * LICENSE_COPIES
    write(folder, "train.txt", "\n".join(kept))
    write(folder, "pages.txt", "\n".join(held_out))
    write(folder, "licenses.txt", "\n".join(held_out_licenses))


if __name__ == "__main__":
    main()
