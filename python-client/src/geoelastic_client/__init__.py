# SPDX-License-Identifier: Apache-2.0
"""Location reports from a `.geox` map in plain Python: the same report for the same random bytes as geoelastic and its
JavaScript client, nothing but the standard library, and nothing but the report leaves the machine.

    from geoelastic_client import Elastic

    mechanism = Elastic.open("paris.geox")
    report = mechanism.report(48.8606, 2.3376)
"""

from .errors import CheckError, FileError, FrameError, GeoelasticError, InputError, OutsideError
from .ledger import Account, Cost, Ledger, updating
from .mechanism import Elastic, Report
from .metric import LEVEL_UNITS, MASS_UNITS, Metric
from .policy import README
from .randomness import KeyedRandom, RandomSource, ReplayRandom, SeededRandom, SystemRandom, uniform_below
from .sticky import Sticky, load_key, new_key
from .verify import verify

__all__ = [
    "LEVEL_UNITS", "MASS_UNITS", "README", "Account", "CheckError", "Cost", "Elastic", "FileError", "FrameError",
    "GeoelasticError", "InputError", "KeyedRandom", "Ledger", "Metric", "OutsideError", "RandomSource", "ReplayRandom",
    "Report", "SeededRandom", "Sticky", "SystemRandom", "load_key", "new_key", "uniform_below", "updating", "verify",
]  # fmt: skip
__version__ = "0.1.0"
