"""Copies what a build of an image gets of a folder: the files that its .dockerignore leaves.

    context.py FOLDER TARGET

The last pattern that fits a path, or a folder above it, decides, as in Docker's documentation of the file.
"""

import os
import re
import shutil
import sys


def expression(pattern):
    """The regular expression of a pattern: `**` stands for any folders, `*` for a part of a name."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(parts.get(token, re.escape(token)) for token in tokens))


def rules(text):
    for line in map(str.strip, text.splitlines()):
        if line and not line.startswith("#"):
            is_kept = line.startswith("!")
            yield expression(line.removeprefix("!").strip("/")), is_kept


def is_kept(path, patterns):
    parts = path.split("/")
    places = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    kept = True
    for pattern, keeps in patterns:
        if any(pattern.fullmatch(place) for place in places):
            kept = keeps
    return kept


def main():
    folder, target = sys.argv[1:]
    with open(os.path.join(folder, ".dockerignore"), encoding="utf-8") as file:
        patterns = list(rules(file.read()))
    for place, folders, names in os.walk(folder):
        # Nobody wants the many files that Cargo and git write.
        folders[:] = [name for name in folders if name not in ("target", ".git")]
        for name in names:
            path = os.path.relpath(os.path.join(place, name), folder)
            if is_kept(path, patterns):
                copy = os.path.join(target, path)
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                shutil.copy2(os.path.join(folder, path), copy)


main()
