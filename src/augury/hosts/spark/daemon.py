"""The process from which Spark forks its Python workers, with everything preloaded that they need.

The setting `spark.python.daemon.module` names it.
"""

from __future__ import annotations

import gc

from pyspark.daemon import manager

import augury.hosts.spark.batch.files
import augury.hosts.spark.stream.processor
from augury.jit.compile import preload

PRELOADED = (augury.hosts.spark.batch.files, augury.hosts.spark.stream.processor)

if __name__ == "__main__":
    preload()
    # Workers collect garbage after every task; frozen objects are not visited again.
    gc.collect()
    gc.freeze()
    manager()
