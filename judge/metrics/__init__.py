"""The offline evaluator: image distances with a documented mapping to the rubric's levels. No model, no network.

client = MetricsClient()          # a JudgeClient like any other
difference_map(reference, candidate)   # the one FLIP picture that report and sheets show
"""

from judge.metrics.client import MetricsClient, metrics_config
from judge.metrics.difference import difference_map

__all__ = ["MetricsClient", "difference_map", "metrics_config"]
