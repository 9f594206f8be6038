"""What stands in every report and every fingerprint beside the evidence itself.

Each constant changes when the thing it names changes meaning, and only then: a distribution may be
released many times without making judgments of equal evidence look different.
"""

from __future__ import annotations

from typing import Final

PACKAGE_VERSION: Final = "1.0.0"
"""Of the acceptance judge as a whole (this package's public API)."""
POLICY_VERSION: Final = "acceptance-policy-1"
"""Of the instructions to the evaluator and of the aggregate table."""
SCHEMA_VERSION: Final = "acceptance-schema-1"
"""Of the shapes of request, evidence, reply and report."""
CHECKS_VERSION: Final = "acceptance-checks-1"
"""Of the measurable checks."""
