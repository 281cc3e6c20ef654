# SPDX-License-Identifier: Apache-2.0
"""A PostGIS database that osm2pgsql filled (default schema) to features: two queries an area, whatever its number of
cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import shapely

from ..errors import FileError, InputError, import_extra
from ._collect import Collector
from .features import Bounds, Features, TagRule
from .osm import ODBL

_CONNECT_SECONDS = 15
_FETCH_ROWS = 20_000


def is_postgres(source: str) -> bool:
    """Whether a source names a database."""
    return source.startswith(("postgresql://", "postgres://"))


def read_postgis(
    dsn: str,
    layers: Sequence[Sequence[TagRule]],
    *,
    bounds: Bounds | None = None,
    levels: bool = False,
    hours: bool = False,
    prefix: str = "planet_osm",
) -> Features:
    """What `geoelastic.sources.osm.read_osm` reads from the file that the database was filled with.

    Tags are columns, or keys of the `tags` column if the import was made with ``--hstore``. The parts of a
    multipolygon that osm2pgsql keeps in several rows are one feature again.
    """
    collector = Collector(layers, bounds, levels=levels, hours=hours)
    wanted = collector.wanted
    with _connected(dsn) as connection:
        schema = _Schema(connection, prefix)
        missing = [key for key in wanted if not schema.has(key)]
        rows = list(schema.select(f"{prefix}_point", wanted, collector.keys, bounds))
        points = shapely.from_wkb(np.array([row[-1] for row in rows], dtype=object))
        tags = (dict(zip(wanted, row[1:-1], strict=True)) for row in rows)
        choices = np.array([collector.choose(each, "node") for each in tags], dtype=np.int64)
        lat, lon, counts = shapely.get_y(points), shapely.get_x(points), choices > 0
        collector.add_points(lat[counts], lon[counts], choices[counts])
        for row in schema.select(f"{prefix}_polygon", wanted, collector.keys, bounds):
            choice = collector.choose(dict(zip(wanted, row[1:-1], strict=True)), "area")
            if choice:
                kind = "relation" if row[0] < 0 else "way"  # as osm2pgsql tells them apart
                collector.add_shape(row[-1], choice, f"{kind}/{abs(row[0])}")
        info = {
            "source": f"PostgreSQL database '{connection.info.dbname}'",
            "timestamp": schema.timestamp(),
            "licence": ODBL,
            "missing keys": missing,
        }
    return collector.features(info)


class _Schema:
    """Which tables and columns there are, and the queries on them."""

    def __init__(self, connection: Any, prefix: str) -> None:
        self._connection, self._prefix, self._sql = connection, prefix, import_extra("psycopg.sql", "postgis")
        self._srid: dict[str, int] = {}
        names = [f"{prefix}_point", f"{prefix}_polygon"]
        with connection.cursor() as cursor:
            cursor.execute("SELECT to_regclass('geometry_columns') IS NOT NULL")
            if cursor.fetchone()[0]:
                query = "SELECT f_table_name, srid FROM geometry_columns WHERE f_table_name = ANY(%s)"
                cursor.execute(query + " AND f_geometry_column = 'way'", (names,))
                self._srid = dict(cursor.fetchall())
            query = (
                "SELECT table_name, column_name, udt_name FROM information_schema.columns WHERE table_name = ANY(%s)"
            )
            cursor.execute(query, (names,))
            self._columns = {(t, c): kind for t, c, kind in cursor.fetchall()}
        absent = [name for name in names if name not in self._srid]
        if absent:
            raise InputError(
                f"the database must have the tables {' and '.join(absent)}: fill it with osm2pgsql (default schema)"
            )

    def has(self, key: str) -> bool:
        """Whether the tables can answer for a tag."""
        return any(self._expression(f"{self._prefix}_{kind}", key) is not None for kind in ("point", "polygon"))

    def _expression(self, table: str, key: str) -> Any:
        sql = self._sql
        if (table, key) in self._columns:
            return sql.Identifier(key)
        kind = self._columns.get((table, "tags"))
        if kind == "hstore":
            return sql.SQL("tags->{}").format(sql.Literal(key))
        if kind in ("json", "jsonb"):
            return sql.SQL("tags->>{}").format(sql.Literal(key))
        return None

    def select(
        self, table: str, wanted: list[str], keys: list[str], bounds: Bounds | None
    ) -> Iterator[tuple[Any, ...]]:
        """(osm_id, a value for each wanted tag, WKB in degrees) of objects that have a key and touch the bounds."""
        sql = self._sql
        found = {key: self._expression(table, key) for key in wanted}
        present = [found[key] for key in keys if found[key] is not None]
        if not present:
            return
        # Points are single rows; the rows of a split multipolygon share its number and tags.
        point = table.endswith("_point")
        query = sql.SQL(
            "SELECT osm_id, {columns}, ST_AsBinary(ST_Transform({way}, 4326)) FROM {table} {where} {group}"
        ).format(
            columns=sql.SQL(", ").join(expression or sql.SQL("NULL::text") for expression in found.values()),
            way=sql.SQL("way" if point else "ST_Collect(way)"),
            table=sql.Identifier(table),
            where=sql.SQL("WHERE ({}){}").format(
                sql.SQL(" OR ").join(sql.SQL("{} IS NOT NULL").format(e) for e in present),
                self._near(table, bounds),
            ),
            group=sql.SQL("" if point else "GROUP BY osm_id, " + ", ".join(str(i + 2) for i in range(len(wanted)))),
        )
        with self._connection.cursor(name=f"geoelastic_{table}") as cursor:
            cursor.itersize = _FETCH_ROWS
            cursor.execute(query)
            yield from cursor

    def _near(self, table: str, bounds: Bounds | None) -> Any:
        """All rows of the objects that have a row near the bounds: shares need the whole of a multipolygon."""
        sql = self._sql
        if bounds is None:
            return sql.SQL("")
        lat_min, lon_min, lat_max, lon_max = bounds
        boxes = [(lon_min, min(lon_max, 180.0))] + ([(-180.0, lon_max - 360)] if lon_max > 180 else [])
        tests = sql.SQL(" OR ").join(
            sql.SQL("way && ST_Transform(ST_MakeEnvelope({}, {}, {}, {}, 4326), {})").format(
                *map(sql.Literal, (west, lat_min, east, lat_max, self._srid[table]))
            )
            for west, east in boxes
        )
        return sql.SQL(" AND osm_id IN (SELECT osm_id FROM {} WHERE {})").format(sql.Identifier(table), tests)

    def timestamp(self) -> str | None:
        """The data's date, where the import noted it."""
        with self._connection.cursor() as cursor:
            cursor.execute("SELECT to_regclass('osm2pgsql_properties') IS NOT NULL")
            if not cursor.fetchone()[0]:
                return None
            cursor.execute(
                "SELECT value FROM osm2pgsql_properties "
                "WHERE property IN ('replication_timestamp', 'import_timestamp') ORDER BY property DESC"
            )
            row = cursor.fetchone()
        return str(row[0]) if row else None


@contextmanager
def _connected(dsn: str) -> Iterator[Any]:
    """A read-only connection; errors name neither the user nor the password."""
    psycopg = import_extra("psycopg", "postgis")
    try:
        connection = psycopg.connect(dsn, connect_timeout=_CONNECT_SECONDS)
    except psycopg.ProgrammingError:
        raise InputError("'dsn' must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE") from None
    except psycopg.OperationalError as error:
        raise FileError(_why_not_connected(str(error))) from None
    with connection:
        connection.read_only = True
        try:
            yield connection
        except psycopg.Error as error:
            reason = (error.diag.message_primary or type(error).__name__)[:200]
            raise FileError(f"the database could not answer: {reason}") from None


def _why_not_connected(message: str) -> str:
    """A cause in our own words: the driver's message repeats what was given."""
    text = message.lower()
    if "authentication" in text or ("role" in text and "does not exist" in text) or "no password" in text:
        return "the database refused the user name or password"
    if "database" in text and "does not exist" in text:
        return "the server has no database of that name"
    if "timeout" in text or "timed out" in text:
        return f"the database server did not answer within {_CONNECT_SECONDS} seconds"
    return "the database server cannot be reached: is the host and port right, and is it running?"
