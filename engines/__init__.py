"""Models behind small protocols: OCR, embeddings, chat. They know no tables."""

import os

# Official builds of ONNX Runtime send events to Microsoft unless this is set before it is loaded, and keep a
# number of the device in the user's cache; turned off later, one event has left (its Privacy.md). It is set
# here because every process that reads comes by: the worker, its pool, the workers of a cluster.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
