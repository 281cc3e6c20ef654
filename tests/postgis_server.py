# SPDX-License-Identifier: Apache-2.0
"""A throw-away PostgreSQL server with PostGIS, filled by osm2pgsql: the real thing, for tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

USER, PASSWORD = "mapper", "a secret 4 tests"


def missing_parts() -> list[str]:
    """What this machine lacks for such a server."""
    missing = [] if _bin() else ["a PostgreSQL server"]
    if not list(Path("/usr/share/postgresql").glob("*/extension/postgis.control")):
        missing.append("PostGIS")
    if shutil.which("osm2pgsql") is None:
        missing.append("osm2pgsql")
    return missing


def _bin() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[4]))
    return found[-1].parent if found else None


@dataclass(frozen=True)
class Server:
    """A running server; databases are named in its `dsn`."""

    port: int
    folder: Path

    def dsn(self, database: str, *, user: str = USER, password: str = PASSWORD) -> str:
        return f"postgresql://{user}:{password.replace(' ', '%20')}@127.0.0.1:{self.port}/{database}"

    def run_sql(self, database: str, sql: str) -> None:
        import psycopg

        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            connection.execute(sql)

    def fill(self, database: str, extract: Path, *options: str) -> str:
        """A new database with the extract in osm2pgsql's default schema; its dsn."""
        self.run_sql("postgres", f'CREATE DATABASE "{database}"')
        self.run_sql(database, "CREATE EXTENSION postgis")
        self.run_sql(database, "CREATE EXTENSION hstore")
        connect = ["-H", "127.0.0.1", "-P", str(self.port), "-U", USER, "-d", database]
        command = [
            "osm2pgsql",
            "--create",
            "--hstore",
            "--log-level=warn",
            "-C",
            "50",
            *connect,
            *options,
            str(extract),
        ]
        subprocess.run(
            command, check=True, capture_output=True, env={**os.environ, "PGPASSWORD": PASSWORD}, timeout=300
        )
        return self.dsn(database)


@contextlib.contextmanager
def running_server() -> Iterator[Server]:
    """Start a server in a temporary folder and stop it afterwards. PostgreSQL refuses to run as root."""
    tools = _bin()
    assert tools is not None
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="geoelastic-pg-"))
    try:
        if as_user:
            shutil.chown(folder, "postgres")
        secret = folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        data = folder / "data"
        auth = ["--auth-host=scram-sha-256", "--auth-local=trust", f"--username={USER}", f"--pwfile={secret}"]
        _call([*as_user, tools / "initdb", "-D", data, "-E", "UTF8", "--no-sync", *auth])
        control = [*as_user, tools / "pg_ctl", "-D", data]
        port = _start(control, folder)
        try:
            yield Server(port, folder)
        finally:
            _call([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(control: list[str | Path], folder: Path, tries: int = 5) -> int:
    """Start the server on a free port. Somebody else may take the port before the server does: then on another."""
    port = _free_port()
    settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off -c shared_buffers=64MB"
    try:
        _call([*control, "-l", folder / "log", "-w", "-t", "100", "-o", settings, "start"])
    except subprocess.CalledProcessError:
        if tries == 1:
            raise
        return _start(control, folder, tries - 1)
    return port


def _call(command: list[str | Path]) -> None:
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, cwd="/", timeout=120)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
