"""The process that Spark forks its Python workers from, with what every one of them needs loaded beforehand.

It is named by the setting `spark.python.daemon.module`.
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
    # Workers collect garbage after every task: what is loaded here is none, and need not be looked at again.
    gc.collect()
    gc.freeze()
    manager()
