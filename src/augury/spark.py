"""Queries over Spark data frames: the same call for finite frames and for streams.

>>> import augury.spark  # needs pip install 'augury[spark]'
"""

from augury.hosts.spark.match import match
from augury.hosts.spark.session import embedded_session

__all__ = ["embedded_session", "match"]
