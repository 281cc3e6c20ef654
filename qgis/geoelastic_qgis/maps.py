# SPDX-License-Identifier: Apache-2.0
"""Algorithms about metrics: building one, checking one, and how far off its reports are."""

from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsProcessingOutputBoolean,
    QgsProcessingOutputNumber,
    QgsProcessingOutputString,
    QgsProcessingParameterBoolean,
    QgsProcessingParameterExtent,
    QgsProcessingParameterFile,
    QgsProcessingParameterFileDestination,
    QgsProcessingParameterNumber,
    QgsProcessingParameterRasterDestination,
)

from .algorithm import METRIC_FILES, WGS84, Algorithm
from .program import run

#: Metres of a degree of latitude, near enough for the size of an area that is rounded up to cells.
_DEGREE_KM = 111.32


class BuildMetric(Algorithm):
    NAME = "build"
    TITLE = "Build a metric"
    TAGS = ("osm", "metric", "mass")
    HELP = """Builds an elastic metric: from an OpenStreetMap extract (.osm.pbf, .osm), a table of points or polygons
(.csv, .parquet, .geojson, .gpkg), a raster (.tif), or synthetic:city. Every place gets the same crowd to hide in at
every level of privacy; the result is checked at every location, sharpened, and written as one file.

Without an extent, the dense part of the source is taken. Private in the city: the radius within which an average place
of the city is hidden. Private in empty land: the same where nothing is.

The log tells in metres how far off reports will be, and whether the map is large enough."""

    def initAlgorithm(self, configuration=None):
        self.addParameter(QgsProcessingParameterFile("SOURCE", "OpenStreetMap extract, table or raster"))
        self.addParameter(
            QgsProcessingParameterExtent("EXTENT", "Area (empty: the dense part of the source)", optional=True)
        )
        for name, title, default in (
            ("CELL", "Side of a cell, in metres", 100),
            ("R_SMALL", "Private in the city, in metres", 300),
            ("R_LARGE", "Private in empty land, in metres", 3000),
        ):
            self.addParameter(
                QgsProcessingParameterNumber(
                    name, title, QgsProcessingParameterNumber.Double, defaultValue=default, minValue=1
                )
            )
        self.addParameter(
            QgsProcessingParameterFile("RECIPE", "Recipe: what counts, and how much", extension="toml", optional=True)
        )
        self.addParameter(QgsProcessingParameterBoolean("SHARPEN", "Sharpen (half the noise)", defaultValue=True))
        self.addParameter(QgsProcessingParameterFileDestination("OUTPUT", "Metric", METRIC_FILES))
        self.addOutput(QgsProcessingOutputNumber("LOCATIONS", "Locations"))
        self.addOutput(QgsProcessingOutputString("VERDICT", "Whether the map is any good"))

    def processAlgorithm(self, parameters, context, feedback):
        output = self.parameterAsFileOutput(parameters, "OUTPUT", context)
        arguments = ["build", self.parameterAsString(parameters, "SOURCE", context), "-o", output]
        for name, option in (("CELL", "--cell"), ("R_SMALL", "--r-small"), ("R_LARGE", "--r-large")):
            arguments += [option, self.parameterAsDouble(parameters, name, context)]
        recipe = self.parameterAsFile(parameters, "RECIPE", context)
        if recipe:
            arguments += ["--recipe", recipe]
        if not self.parameterAsBoolean(parameters, "SHARPEN", context):
            arguments.append("--no-sharpen")
        answer = run(arguments + self._area(parameters, context), feedback)
        checkup = answer.get("checkup", {})
        feedback.pushInfo(answer.get("claim", ""))
        for line in (checkup.get("verdict"), *checkup.get("advice", ())):
            if line:
                feedback.pushInfo(line)
        return {"OUTPUT": output, "LOCATIONS": answer["locations"], "VERDICT": checkup.get("verdict", "")}

    def _area(self, parameters, context):
        extent = self.parameterAsExtent(parameters, "EXTENT", context, QgsCoordinateReferenceSystem(WGS84))
        if extent.isNull() or extent.isEmpty():
            return []
        from math import cos, radians

        centre = extent.center()
        width = extent.width() * _DEGREE_KM * cos(radians(centre.y()))
        height = extent.height() * _DEGREE_KM
        return ["--center", f"{centre.y():.7f},{centre.x():.7f}", "--size", f"{width:.4f}", "--height", f"{height:.4f}"]


class VerifyMetric(Algorithm):
    NAME = "verify"
    TITLE = "Verify a metric"
    TAGS = ("check", "guarantee")
    HELP = """Checks a metric, also a stranger's, from what will be sampled, by code that shares nothing with the
builders, and says in one paragraph what it claims. It holds if every location and every edge does, and if the claim is
at least the README's promise or that of another policy (.toml)."""

    def initAlgorithm(self, configuration=None):
        self.add_metric()
        self.addParameter(
            QgsProcessingParameterFile(
                "POLICY", "Policy (empty: the README's promise)", extension="toml", optional=True
            )
        )
        self.addOutput(QgsProcessingOutputBoolean("HOLDS", "Whether it holds"))
        self.addOutput(QgsProcessingOutputString("CLAIM", "What it claims"))

    def processAlgorithm(self, parameters, context, feedback):
        arguments = ["verify", self.parameterAsFile(parameters, "METRIC", context)]
        policy = self.parameterAsFile(parameters, "POLICY", context)
        if policy:
            arguments += ["--require", policy]
        answer = run(arguments, feedback, may_fail=True)
        feedback.pushInfo(answer["claim"])
        if answer["ok"]:
            feedback.pushInfo("It holds.")
        else:
            feedback.reportError("It does NOT hold: do not use this file.")
        return {"HOLDS": answer["ok"], "CLAIM": answer["claim"]}


class ErrorRaster(Algorithm):
    NAME = "error"
    TITLE = "Expected error of reports"
    TAGS = ("raster", "utility")
    HELP = """How far off a report is on average, in metres, for each place of a metric: a raster to lay over any map.
The error is computed at as many places as are asked for and carried to the cells around them."""

    def initAlgorithm(self, configuration=None):
        self.add_metric()
        self.addParameter(
            QgsProcessingParameterNumber("POINTS", "Places at which it is computed", defaultValue=4000, minValue=1)
        )
        self.addParameter(QgsProcessingParameterRasterDestination("OUTPUT", "Expected error"))

    def processAlgorithm(self, parameters, context, feedback):
        output = self.parameterAsOutputLayer(parameters, "OUTPUT", context)
        metric = self.parameterAsFile(parameters, "METRIC", context)
        points = self.parameterAsInt(parameters, "POINTS", context)
        run(["map", metric, "error", "--points", points, "-o", output], feedback)
        return {"OUTPUT": output}
