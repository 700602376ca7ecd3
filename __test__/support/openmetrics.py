"""Reads metrics from standard input with the parser of the Prometheus client and prints them as JSON."""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

families = {}
for family in text_string_to_metric_families(sys.stdin.read()):
    samples = [{"name": s.name, "labels": s.labels, "value": s.value} for s in family.samples]
    families[family.name] = {"type": family.type, "unit": family.unit, "help": family.documentation, "samples": samples}
json.dump(families, sys.stdout)
