#!/usr/bin/env python3
"""prometheus_read.py - parse a page of metrics with the parser of Prometheus. usage: prometheus_read.py FILE...

Prints each family and sample; ends with status 1 when the parser refuses a line, a family has no
help, a counter is not called _total, or a sample carries a time (node_exporter refuses those).
"""
import sys

from prometheus_client.parser import text_string_to_metric_families

for path in sys.argv[1:]:
    with open(path, newline="") as f:
        text = f.read()
    if text and not text.endswith("\n"):
        sys.exit(f"{path}: the last line is cut")
    for family in text_string_to_metric_families(text):
        if not family.documentation or family.type not in ("counter", "gauge"):
            sys.exit(f"{path}: {family.name}: {family.type}, help '{family.documentation}'")
        for s in family.samples:
            if s.timestamp is not None or (family.type == "counter") != s.name.endswith("_total"):
                sys.exit(f"{path}: {s}")
            print(family.type, s.name, s.labels, s.value)
