"""Queries over Spark data frames: the same call for finite frames and for streams.

>>> import augury.spark  # needs pip install 'augury[spark]'
"""

from augury.hosts.spark.config import Pipeline, read_pipeline
from augury.hosts.spark.explained import explain
from augury.hosts.spark.files import match_files
from augury.hosts.spark.match import match, match_all
from augury.hosts.spark.methods import install
from augury.hosts.spark.pipeline import run_pipeline
from augury.hosts.spark.session import embedded_session
from augury.hosts.spark.tables import register, register_any_query

__all__ = [
    "Pipeline",
    "embedded_session",
    "explain",
    "install",
    "match",
    "match_all",
    "match_files",
    "read_pipeline",
    "register",
    "register_any_query",
    "run_pipeline",
]
