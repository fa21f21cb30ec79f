"""Queries over Spark data frames: the same call for finite frames and for streams.

>>> import augury.spark  # needs pip install 'augury[spark]'
"""

from augury.hosts.spark.batch.files import match_files
from augury.hosts.spark.explained import explain
from augury.hosts.spark.match import match, match_all
from augury.hosts.spark.methods import install
from augury.hosts.spark.options import SparkOptions
from augury.hosts.spark.pipeline.config import Pipeline, read_pipeline
from augury.hosts.spark.pipeline.run import run_pipeline
from augury.hosts.spark.rules import RuleFrames, match_rules, publish_rules
from augury.hosts.spark.session import embedded_session
from augury.hosts.spark.sql.row_patterns import explain_sql, sql
from augury.hosts.spark.sql.tables import register, register_any_query
from augury.hosts.spark.stream.pruning import prune_rules

__all__ = [
    "Pipeline",
    "RuleFrames",
    "SparkOptions",
    "embedded_session",
    "explain",
    "explain_sql",
    "install",
    "match",
    "match_all",
    "match_files",
    "match_rules",
    "prune_rules",
    "publish_rules",
    "read_pipeline",
    "register",
    "register_any_query",
    "run_pipeline",
    "sql",
]
