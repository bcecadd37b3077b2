#!/usr/bin/env python3
"""tensorboard_read.py - read a folder of event files with TensorBoard: scalars, texts, hparams.

usage: tensorboard_read.py FOLDER [TAG]

Prints one line a tag: kind, tag, number of points, first and last step and value;
with TAG every point of it. Ends with status 1 when nothing can be read.
"""
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2


def hparams(accumulator, tag):
    data = accumulator.SummaryMetadata(tag).plugin_data
    message = plugin_data_pb2.HParamsPluginData.FromString(data.content)
    return str(message).replace("\n", " ")


def text(tensor):
    return tensor.string_val[0].decode() if tensor.string_val else "?"


def main():
    accumulator = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0})
    accumulator.Reload()
    tags = accumulator.Tags()
    seen = 0
    for tag in tags["scalars"]:
        points = accumulator.Scalars(tag)
        seen += len(points)
        print("scalar", tag, len(points), points[0].step, points[0].value, points[-1].step, points[-1].value)
        if tag in sys.argv[2:]:
            for p in points:
                print(" ", p.step, p.value)
    for tag in tags["tensors"]:
        points = accumulator.Tensors(tag)
        seen += len(points)
        if tag.startswith("_hparams_/"):
            print("hparams", tag, hparams(accumulator, tag))
        else:
            print("text", tag, len(points), points[-1].step, repr(text(points[-1].tensor_proto)))
    return 0 if seen else 1


sys.exit(main())
