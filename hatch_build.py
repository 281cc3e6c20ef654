# SPDX-License-Identifier: Apache-2.0
"""The README as a package index shows it: outside the repository its relative links lead nowhere.

With an address under `Source` in [project.urls] of pyproject.toml, which `.ci/address` writes, they become absolute;
without one, plain text.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def readme_for_index(text: str, source: str | None, version: str) -> str:
    def outside(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        if source is None:
            return "" if picture else words
        kind = "raw" if picture else "blob"
        return f"{picture}[{words}]({source.rstrip('/')}/{kind}/v{version}/{target})"

    return re.sub(r"\n{3,}", "\n\n", _LINK.sub(outside, text))


class CustomMetadataHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": readme_for_index(text, source, metadata["version"]),
        }
