# SPDX-License-Identifier: Apache-2.0
"""The plugin, which only brings the provider, and the provider, which only lists the algorithms."""

from pathlib import Path

from processing.core.ProcessingConfig import ProcessingConfig, Setting
from qgis.core import QgsApplication, QgsProcessingProvider
from qgis.PyQt.QtGui import QIcon

from .layers import CarveFences, ReleaseTraces, ReportPlaces
from .maps import BuildMetric, ErrorRaster, VerifyMetric
from .program import SETTING

ICON = QIcon(str(Path(__file__).with_name("icon.svg")))


class Plugin:
    def __init__(self):
        self._provider = None

    def initProcessing(self):
        self._provider = Provider()
        QgsApplication.processingRegistry().addProvider(self._provider)

    def initGui(self):
        self.initProcessing()

    def unload(self):
        QgsApplication.processingRegistry().removeProvider(self._provider)


class Provider(QgsProcessingProvider):
    def id(self):
        return "geoelastic"

    def name(self):
        return "geoelastic"

    def longName(self):
        return "geoelastic: location privacy with a guarantee"

    def icon(self):
        return ICON

    def load(self):
        ProcessingConfig.settingIcons[self.name()] = ICON
        ProcessingConfig.addSetting(
            Setting(self.name(), SETTING, "Command (empty: geoelastic on the PATH)", "", valuetype=Setting.FILE)
        )
        ProcessingConfig.readSettings()
        self.refreshAlgorithms()
        return True

    def unload(self):
        ProcessingConfig.removeSetting(SETTING)

    def loadAlgorithms(self):
        for kind in (BuildMetric, VerifyMetric, ErrorRaster, CarveFences, ReportPlaces, ReleaseTraces):
            self.addAlgorithm(kind())

    def supportedOutputVectorLayerExtensions(self):
        return ["gpkg", "fgb", "geojson"]  # what the command line writes

    def supportedOutputRasterLayerExtensions(self):
        return ["tif"]

    def supportsNonFileBasedOutput(self):
        return False
