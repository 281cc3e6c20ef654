# SPDX-License-Identifier: Apache-2.0
"""Quality to mass, m(x) = a + b q(x), and the requirement: how much mass must lie within each level."""

from .mass import WHERE_QUALITY_IS, City, Mass, mass_from_quality, read_city
from .requirement import Custom, Linear, Quadratic, Requirement, Step, requirement_from_dict

__all__ = [
    "WHERE_QUALITY_IS", "City", "Custom", "Linear", "Mass", "Quadratic", "Requirement", "Step", "mass_from_quality",
    "read_city", "requirement_from_dict",
]  # fmt: skip
