# SPDX-License-Identifier: Apache-2.0
"""What a person recognises a place by: water, coast, main roads and names, drawn quietly with every map of it."""

from .context import KINDS, Context, Name, context_from_parts, context_to_parts

__all__ = ["KINDS", "Context", "Name", "context_from_parts", "context_to_parts"]
