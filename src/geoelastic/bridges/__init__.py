# SPDX-License-Identifier: Apache-2.0
"""To other people's tools: OpenDP, H3, MovingPandas. Each module needs its own package, and nothing else imports it."""
