# SPDX-License-Identifier: Apache-2.0
"""Algorithms about layers: fences carved, places reported, traces released.

What the command line reads of a layer lies in a folder that nobody else can read and that is gone afterwards.
"""

import csv

from qgis.core import (
    QgsProcessing,
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingOutputNumber,
    QgsProcessingParameterBoolean,
    QgsProcessingParameterEnum,
    QgsProcessingParameterFeatureSource,
    QgsProcessingParameterField,
    QgsProcessingParameterFile,
    QgsProcessingParameterFileDestination,
    QgsProcessingParameterNumber,
    QgsProcessingParameterVectorDestination,
)
from qgis.PyQt.QtCore import QDate, QDateTime, Qt

from .algorithm import METRIC_FILES, Algorithm, in_degrees, passing_folder, write_source
from .program import run

OUTSIDE = ("error", "drop", "snap")


class CarveFences(Algorithm):
    NAME = "carve"
    TITLE = "Carve fences"
    TAGS = ("fence", "home", "work")
    HELP = """Cuts the polygons of a layer into a metric as fences: inside a fence all places are the same, so that
nothing tells where in it somebody is. What that takes away from the outside is repaired, and the result is checked."""

    def initAlgorithm(self, configuration=None):
        self.add_metric()
        self.addParameter(QgsProcessingParameterFeatureSource("FENCES", "Fences", [QgsProcessing.TypeVectorPolygon]))
        self.addParameter(QgsProcessingParameterFileDestination("OUTPUT", "Fenced metric", METRIC_FILES))

    def processAlgorithm(self, parameters, context, feedback):
        output = self.parameterAsFileOutput(parameters, "OUTPUT", context)
        source = self.parameterAsSource(parameters, "FENCES", context)
        if source.featureCount() == 0:
            raise QgsProcessingException("the layer of fences is empty")
        with passing_folder() as folder:
            fences = folder / "fences.geojson"
            write_source(source, fences, "GeoJSON", context, feedback, attributes=False)
            metric = self.parameterAsFile(parameters, "METRIC", context)
            run(["fence", "carve", metric, "--fence", fences, "-o", output], feedback)
        return {"OUTPUT": output}


class ReportPlaces(Algorithm):
    NAME = "sanitize"
    TITLE = "Report a layer of places"
    TAGS = ("report", "noise", "points")
    HELP = """Replaces every point of a layer by a private report, drawn through a metric with the operating system's
randomness. Columns that may tell the place (an address, a venue, an altitude) are left out unless they are to be kept.
Rows outside the map or in its frame are an error, dropped, or moved inside.

With a key file, the same place always gets the same report (sticky): averaging many reports then gains nothing. Best
guess: each report is replaced by the best guess that the map alone allows, which is nearer and costs nothing."""

    def initAlgorithm(self, configuration=None):
        self.add_metric()
        self.addParameter(QgsProcessingParameterFeatureSource("INPUT", "Places", [QgsProcessing.TypeVectorPoint]))
        self.addParameter(
            QgsProcessingParameterEnum("OUTSIDE", "Places outside the map or in its frame", OUTSIDE, defaultValue=0)
        )
        self.addParameter(QgsProcessingParameterBoolean("REMAP", "Best guess", defaultValue=False))
        self.addParameter(
            QgsProcessingParameterFile("STICKY", "Key for the same report at the same place", optional=True)
        )
        self.addParameter(
            QgsProcessingParameterField(
                "KEEP",
                "Keep these columns though they may tell the place",
                "",
                "INPUT",
                allowMultiple=True,
                optional=True,
            )
        )
        self.addParameter(QgsProcessingParameterVectorDestination("OUTPUT", "Reports"))
        self.addOutput(QgsProcessingOutputNumber("REPORTED", "Reports"))
        self.addOutput(QgsProcessingOutputNumber("DROPPED", "Rows left out"))

    def processAlgorithm(self, parameters, context, feedback):
        output = self.parameterAsOutputLayer(parameters, "OUTPUT", context)
        with passing_folder() as folder:
            places = folder / "places.fgb"
            source = self.parameterAsSource(parameters, "INPUT", context)
            write_source(source, places, "FlatGeobuf", context, feedback, options=["SPATIAL_INDEX=NO"])
            arguments = [
                "sanitize",
                self.parameterAsFile(parameters, "METRIC", context),
                "--input",
                places,
                "-o",
                output,
            ]
            arguments += ["--outside", OUTSIDE[self.parameterAsEnum(parameters, "OUTSIDE", context)]]
            if self.parameterAsBoolean(parameters, "REMAP", context):
                arguments.append("--remap")
            key = self.parameterAsString(parameters, "STICKY", context)
            if key:
                arguments += ["--sticky", key]
            for column in self.parameterAsFields(parameters, "KEEP", context):
                arguments += ["--keep", column]
            answer = run(arguments, feedback)
        if answer["withheld"]:
            feedback.pushInfo(f"left out, since they may tell the place: {', '.join(answer['withheld'])}")
        return {"OUTPUT": output, "REPORTED": answer["reports"], "DROPPED": answer["rows"] - answer["reports"]}


class ReleaseTraces(Algorithm):
    NAME = "trace"
    TITLE = "Release traces"
    TAGS = ("trace", "track", "gpx", "trajectory")
    HELP = """Releases whole traces under one guarantee: a place a tick of a public clock, drawn once for the whole day.
The layer holds fixes with a time and, for several people, a name. How often the input was measured does not show;
when it starts and ends does."""

    def initAlgorithm(self, configuration=None):
        self.add_metric()
        self.addParameter(QgsProcessingParameterFeatureSource("INPUT", "Fixes", [QgsProcessing.TypeVectorPoint]))
        self.addParameter(QgsProcessingParameterField("TIME", "Time", "time", "INPUT"))
        self.addParameter(QgsProcessingParameterField("USER", "Whose", "", "INPUT", optional=True))
        self.addParameter(
            QgsProcessingParameterNumber(
                "RATE", "Cost of an hour, per unit of level", QgsProcessingParameterNumber.Double, 0.5, minValue=1e-6
            )
        )
        self.addParameter(
            QgsProcessingParameterNumber(
                "STEP", "Minutes of a tick", QgsProcessingParameterNumber.Integer, 10, minValue=1
            )
        )
        self.addParameter(QgsProcessingParameterFileDestination("OUTPUT", "Released traces", "GeoJSON (*.geojson)"))

    def processAlgorithm(self, parameters, context, feedback):
        output = self.parameterAsFileOutput(parameters, "OUTPUT", context)
        source = self.parameterAsSource(parameters, "INPUT", context)
        time = self.parameterAsString(parameters, "TIME", context)
        user = self.parameterAsString(parameters, "USER", context)
        with passing_folder() as folder:
            fixes = folder / "fixes.csv"
            with fixes.open("w", newline="", encoding="utf-8") as file:
                table = csv.writer(file)
                table.writerow(["lat", "lon", "time", "user"])
                for feature in in_degrees(source, context):
                    if feedback.isCanceled():
                        break
                    at = feature.geometry().asPoint()
                    whose = feature[user] if user else ""
                    table.writerow([repr(at.y()), repr(at.x()), _time(feature[time]), whose])
            rate, step = (
                self.parameterAsDouble(parameters, "RATE", context),
                self.parameterAsInt(parameters, "STEP", context),
            )
            metric = self.parameterAsFile(parameters, "METRIC", context)
            run(["trace", "release", metric, fixes, "--rate", rate, "--step", step, "-o", output], feedback)
        details = QgsProcessingContext.LayerDetails("Released traces", context.project(), "OUTPUT")
        context.addLayerToLoadOnCompletion(output, details)
        return {"OUTPUT": output}


def _time(value):
    """A time as text: fields of dates as ISO 8601 in UTC, others as they are."""
    if isinstance(value, QDate):
        value = QDateTime(value)
    return value.toUTC().toString(Qt.ISODateWithMs) if isinstance(value, QDateTime) else value
