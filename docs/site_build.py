# SPDX-License-Identifier: Apache-2.0
"""`./run docs`: these pages as a site. The build is strict (a link or an anchor that leads nowhere is an error), and
what it makes asks nobody for anything: no fonts, scripts or pictures from elsewhere. Both are part of the tests.

    ./run docs                 build, and serve at http://127.0.0.1:8751
    ./run docs --build OUT     build into a folder and nothing else
"""

from __future__ import annotations

import argparse
import functools
import http.server
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
#: What a browser loads by itself, as opposed to links that somebody follows.
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=["']?(https?:)?//[^"'\s>]+"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|icon|preconnect|dns-prefetch|modulepreload))"""
    r"""[^>]*\bhref=["']?(https?:)?//[^"'\s>]+"""
    r"""|@import\s+(?:url\()?["']?(https?:)?//|\burl\(["']?(https?:)?//""",
    re.IGNORECASE,
)


def build(out: Path) -> int:
    """Sphinx's own exit code: 0 if there was nothing to warn about."""
    from sphinx.cmd.build import build_main

    return build_main(["-q", "-W", "--keep-going", "-b", "html", "-d", str(out / ".trees"), str(HERE), str(out)])


def remote_requests(out: Path) -> list[str]:
    """What pages, styles and scripts would load from elsewhere."""
    found = []
    for path in sorted(out.rglob("*")):
        if path.suffix in (".html", ".css"):
            hits = _LOADED.finditer(path.read_text(encoding="utf-8"))
            found += [f"{path.relative_to(out)}: {hit.group()}" for hit in hits]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run docs")
    parser.add_argument("--build", type=Path, metavar="OUT", help="build into this folder and nothing else")
    parser.add_argument("--port", type=int, default=8751)
    given = parser.parse_args()
    out = given.build or HERE / ".site"
    failed = build(out)
    remote = remote_requests(out)
    sys.stderr.write("".join(f"loads from elsewhere: {line}\n" for line in remote))
    if failed or remote or given.build:
        return int(bool(failed or remote))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(out))
    with http.server.ThreadingHTTPServer(("127.0.0.1", given.port), handler) as server:
        sys.stderr.write(f"http://127.0.0.1:{given.port} (Ctrl-C ends it)\n")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
