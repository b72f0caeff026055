"""Checks a parts list: it is valid by the schema of CycloneDX, and has each crate of the program.

    cargo tree … --prefix none --format '{p}' | parts.py LIST Cargo.lock PROGRAM
"""

import json
import sys
import tomllib
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

place, lock, program = sys.argv[1:]
text = Path(place).read_text()
parts = json.loads(text)
if invalid := JsonStrictValidator(SchemaVersion.from_version(parts["specVersion"])).validate_str(text):
    sys.exit(f"{place} is not valid: {invalid}")
if (named := parts["metadata"]["component"]["name"]) != program:
    sys.exit(f"{place} is the list of {named}, not of {program}")

# The checksums of the crates. Those of this repository have none.
checksums = {
    (crate["name"], crate["version"]): crate.get("checksum")
    for crate in tomllib.loads(Path(lock).read_text())["package"]
}
listed = {(part["name"], part["version"]): part for part in parts["components"]}
# Lines such as `serde v1.0.2`, `serde_derive v1.0.2 (proc-macro)` and `serde v1.0.2 (*)`.
crates = {tuple(line.split()[:2]) for line in sys.stdin if line.strip()}
crates = {(name, version.removeprefix("v")) for name, version in crates} - {(program, parts["metadata"]["component"]["version"])}
if len(crates) < 50:
    sys.exit(f"only {len(crates)} crates are said to be in {program}")
wrong = []
for crate in sorted(crates):
    part = listed.get(crate)
    if part is None:
        wrong.append(f"{' '.join(crate)} is missing")
        continue
    checksum = {one["content"] for one in part.get("hashes", []) if one["alg"] == "SHA-256"}
    expected = {checksums[crate]} - {None}
    if checksum != expected:
        wrong.append(f"{' '.join(crate)} has the checksum {checksum}, and Cargo.lock has {expected}")
    if not part.get("licenses"):
        wrong.append(f"{' '.join(crate)} has no licence")
if unknown := listed.keys() - checksums.keys():
    wrong.append(f"Cargo.lock has none of {sorted(unknown)}")
if wrong:
    sys.exit(f"{place}:\n" + "\n".join(wrong))
print(f"{program}: {len(listed)} parts, with the {len(crates)} crates of the program")
