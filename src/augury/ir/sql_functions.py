"""All scalar functions and operators of SQL."""

from __future__ import annotations

from augury.ir.sql_logic import LOGIC_FUNCTIONS
from augury.ir.sql_numbers import ARITHMETIC, NUMBER_FUNCTIONS
from augury.ir.sql_scalar import ScalarFunction
from augury.ir.sql_text import TEXT_FUNCTIONS
from augury.ir.sql_times import TIME_FUNCTIONS

FUNCTIONS: dict[str, ScalarFunction] = {
    **ARITHMETIC,
    **LOGIC_FUNCTIONS,
    **TEXT_FUNCTIONS,
    **NUMBER_FUNCTIONS,
    **TIME_FUNCTIONS,
}
"""Functions by name in lower case, operators by sign or keyword; messages list them in this order."""
