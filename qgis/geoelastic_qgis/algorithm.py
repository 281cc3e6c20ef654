# SPDX-License-Identifier: Apache-2.0
"""What all algorithms share: names, help, icons, and files for what is only on its way to the command line."""

import tempfile
from contextlib import contextmanager
from pathlib import Path

from qgis.core import (
    QgsCoordinateReferenceSystem,
    QgsFeatureRequest,
    QgsFields,
    QgsProcessingAlgorithm,
    QgsProcessingException,
    QgsProcessingParameterFile,
    QgsVectorFileWriter,
)

WGS84 = "EPSG:4326"
METRIC_FILES = "Metrics (*.geoelastic)"


class Algorithm(QgsProcessingAlgorithm):
    """NAME, TITLE, HELP and TAGS are the class's own; the rest is QGIS's way of asking for them."""

    NAME = TITLE = HELP = ""
    TAGS = ()

    def createInstance(self):
        return type(self)()

    def name(self):
        return self.NAME

    def displayName(self):
        return self.TITLE

    def shortHelpString(self):
        return self.HELP

    def tags(self):
        return ["privacy", *self.TAGS]

    def icon(self):
        return self.provider().icon()

    def add_metric(self):
        """The parameter that most algorithms begin with."""
        self.addParameter(QgsProcessingParameterFile("METRIC", "Metric (.geoelastic)", fileFilter=METRIC_FILES))


@contextmanager
def passing_folder():
    """A folder for what the command line reads: nobody else's to see, and gone afterwards. It holds true places."""
    with tempfile.TemporaryDirectory(prefix="geoelastic-") as folder:
        yield Path(folder)


def write_source(source, path, driver, context, feedback, *, attributes=True, options=()):
    """The features of a source as a file in degrees."""
    settings = QgsVectorFileWriter.SaveVectorOptions()
    settings.driverName = driver
    settings.layerOptions = list(options)
    fields = source.fields() if attributes else QgsFields()
    degrees = QgsCoordinateReferenceSystem(WGS84)
    writer = QgsVectorFileWriter.create(
        str(path), fields, source.wkbType(), degrees, context.transformContext(), settings
    )
    if writer.hasError() != QgsVectorFileWriter.NoError:
        raise QgsProcessingException(writer.errorMessage())
    request = QgsFeatureRequest().setDestinationCrs(degrees, context.transformContext())
    if not attributes:
        request.setNoAttributes()
    for feature in source.getFeatures(request):
        if feedback.isCanceled():
            break
        writer.addFeature(feature)
    del writer  # writes the rest


def in_degrees(source, context):
    """The features of a source, in degrees."""
    return source.getFeatures(
        QgsFeatureRequest().setDestinationCrs(QgsCoordinateReferenceSystem(WGS84), context.transformContext())
    )
