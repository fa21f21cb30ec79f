"""Queries over Spark data frames: the same call for finite frames and for streams.

>>> import augury.spark  # needs pip install 'augury[spark]'
"""

from augury.hosts.spark.match import match, match_all
from augury.hosts.spark.session import embedded_session
from augury.hosts.spark.tables import register, register_any_query

__all__ = ["embedded_session", "match", "match_all", "register", "register_any_query"]
