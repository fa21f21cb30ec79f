"""Expressions as source text.

Null is part of the value where it can be: NaN for floats, -1 for strings (which are dictionary codes). Integers and
booleans carry a second expression that says whether they are null. Logic is three-valued, so a predicate has two
texts: when it is true, and when it is false. Every text comes with what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from augury.codegen.common.constants import FLOATS, Constants, ValueSet, kind_of, orders_strings
from augury.ir.functions import BUILTINS
from augury.ir.normal_form import OPPOSITE
from augury.ir.predicate import (
    Aggregate,
    And,
    Arithmetic,
    Call,
    Compare,
    Expr,
    InRound,
    IsNull,
    ListLength,
    Literal,
    Member,
    Negate,
    Not,
    Or,
    Ref,
    children,
)
from augury.schema import FLOAT, ColumnType, Kind

__all__ = ["NEVER", "Code", "Leaf", "Read", "as_float", "false", "kind_of", "leaves", "read_by", "true", "value"]

NEVER = ""
"""The null text of what is never null."""


@dataclass(frozen=True, slots=True)
class Code:
    """A value as text; `kind` is `i`nteger, `f`loat, `s`tring code, `b`oolean or `l`ist (then `value` is the event).

    `reads` are the arrays and local variables with data of events that the text mentions, each once (the cells of a run
    are not among them): whoever writes a statement around it asks here what has to be loaded, not the text.
    """

    value: str
    kind: str
    null: str = NEVER
    reads: tuple[str, ...] = ()

    def is_null(self) -> str:
        match self.kind:
            case "f":
                return f"isnan({self.value})"
            case "s":
                return f"({self.value} < 0)"
            case _:
                return self.null or "False"

    def as_float(self) -> str:
        if self.kind == "f":
            return self.value
        return f"to_float({self.value}, {self.null})" if self.null else f"float({self.value})"


Leaf: TypeAlias = "Ref | Aggregate | ListLength"
Read: TypeAlias = "Callable[[Leaf], Code]"
"""How a piece of a run, or of an event, is read at the place the text is for."""


def read_by(codes: Iterable[Code]) -> tuple[str, ...]:
    """The names that these texts read, each once, in the order they mention them.

    >>> read_by([Code("x < y", "b", reads=("x", "y")), Code("y > z", "b", reads=("y", "z"))])
    ('x', 'y', 'z')
    """
    return tuple(dict.fromkeys(name for code in codes for name in code.reads))


def leaves(e: Expr) -> Iterator[Leaf]:
    """The references of an expression to events and lists, from left to right; aggregates are not looked into.

    >>> from augury.schema import FLOAT
    >>> a, b = Ref("a", "x", FLOAT), Ref("b", "x", FLOAT)
    >>> [leaf.variable for leaf in leaves(And((Compare("<", a, b), IsNull(a))))]
    ['a', 'b', 'a']
    """
    if isinstance(e, Ref | Aggregate | ListLength):
        yield e
        return
    for child in children(e):
        yield from leaves(child)


def true(e: Expr, read: Read, constants: Constants) -> Code:
    """A test that holds iff `e` is true; never null."""
    match e:
        case And(operands):
            return _join(" and ", [true(o, read, constants) for o in operands])
        case Or(operands):
            return _join(" or ", [true(o, read, constants) for o in operands])
        case Not(operand):
            return false(operand, read, constants)
        case Compare(operator, left, right):
            return _compare(operator, *_operands(left, right, read, constants))
        case Member(operand):
            wanted = value(operand, read, constants)
            sets, items = constants.value_sets(e)
            found = [_known(wanted, _among(wanted, s)) for s in sets]
            return _join(" or ", [*found, *(_compare("=", wanted, value(i, read, constants)) for i in items)])
        case IsNull(operand):
            code = value(operand, read, constants)
            return _test(code.is_null(), code)
        case _:
            code = value(e, read, constants)
            return _test(_unless(code.null, f"{code.value} != 0"), code)


def false(e: Expr, read: Read, constants: Constants) -> Code:
    """A test that holds iff `e` is false, which is not the same as not true; never null."""
    match e:
        case And(operands):
            return _join(" or ", [false(o, read, constants) for o in operands])
        case Or(operands):
            return _join(" and ", [false(o, read, constants) for o in operands])
        case Not(operand):
            return true(operand, read, constants)
        case Compare(operator, left, right):
            return _compare(OPPOSITE[operator], *_operands(left, right, read, constants))
        case Member(operand):
            wanted = value(operand, read, constants)
            sets, items = constants.value_sets(e)
            missing = [_known(wanted, _among(wanted, s), negated=True) for s in sets]
            return _join(" and ", [*missing, *(_compare("!=", wanted, value(i, read, constants)) for i in items)])
        case IsNull(operand):
            code = value(operand, read, constants)
            return _test(f"not {code.is_null()}", code)
        case _:
            code = value(e, read, constants)
            return _test(_unless(code.null, f"{code.value} == 0"), code)


def value(e: Expr, read: Read, constants: Constants) -> Code:
    """The text of a value."""
    match e:
        case Literal(None, type):
            return Code("0", kind_of(type), "True")
        case Literal(bool() | int() | float() | str(), type):
            return _literal(e, kind_of(type), constants)
        case Literal():
            raise AssertionError("a list is computed by the host")
        case Ref() | Aggregate() | ListLength():
            return read(e)
        case InRound():
            raise AssertionError("groups are not compiled")
        case Arithmetic(operator, left, right, type):
            return _arithmetic(operator, *_operands(left, right, read, constants), type)
        case Negate(operand, type):
            return _arithmetic("-", Code("0", "i"), value(operand, read, constants), type)
        case Call(function, arguments, type):
            codes = [value(a, read, constants) for a in arguments]
            return replace(_call(function, codes, type, constants), reads=read_by(codes))
        case Compare() | And() | Or() | Not() | Member() | IsNull():
            yes, no = true(e, read, constants), false(e, read, constants)
            return Code(f"int({yes.value})", "b", f"(not ({yes.value}) and not ({no.value}))", read_by([yes, no]))
        case _:
            assert_never(e)


def as_float(e: Expr, read: Read, constants: Constants) -> Code:
    """The text of a number, which is compared or computed with a float: an integer constant is one from the start."""
    match e:
        case Literal(int(number)) if not isinstance(number, bool):
            return _literal(e, "f", constants)
        case _:
            return value(e, read, constants)


def _operands(left: Expr, right: Expr, read: Read, constants: Constants) -> tuple[Code, Code]:
    """The texts of two values that are compared or computed with; `x > 10` and `x > 10.5` are alike for a float x."""
    kinds = kind_of(left.type), kind_of(right.type)
    text = as_float if "f" in kinds and kinds[0] != kinds[1] else value
    return text(left, read, constants), text(right, read, constants)


def _literal(e: Literal, kind: str, constants: Constants) -> Code:
    text = constants.literal(e, kind)
    return Code(text, kind, reads=constants.reads(kind, text))


def _test(text: str, *codes: Code) -> Code:
    """A text that is true or not, made of `codes`."""
    return Code(text, "b", reads=read_by(codes))


def _compare(operator: str, left: Code, right: Code) -> Code:
    kinds = {left.kind, right.kind}
    if kinds == {"s"}:
        known = f"{left.value} >= 0 and {right.value} >= 0"
        if not orders_strings(operator, left.kind, right.kind):
            return _test(f"({left.value} {_python(operator)} {right.value} and {known})", left, right)
        text = f"({known} and string_rank[{left.value}] {operator} string_rank[{right.value}])"
        return _test(text, left, right, Code("string_rank", "l", reads=("string_rank",)))
    if "f" in kinds:
        x, y = left.as_float(), right.as_float()
        # With NaN on either side every comparison is false, except Python's `!=`.
        text = f"({x} < {y} or {x} > {y})" if operator == "!=" else f"({x} {_python(operator)} {y})"
        return _test(text, left, right)
    text = f"{left.value} {_python(operator)} {right.value}"
    return _test(_unless(_either(left.null, right.null), text), left, right)


def _among(wanted: Code, items: ValueSet) -> Code:
    """A test whether a value that is not null is one of a set."""
    x = wanted.as_float() if items.array == FLOATS else wanted.value
    text = f"in_set({items.array}, {items.first}, {items.end}, {x})"
    return replace(_test(text, wanted), reads=(items.array, *items.reads, *wanted.reads))


def _known(wanted: Code, test: Code, *, negated: bool = False) -> Code:
    """The code `test` restricted to values that are not null."""
    null, text = wanted.is_null(), f"not {test.value}" if negated else test.value
    return replace(test, value=f"({text})" if null == "False" else f"(not {null} and {text})")


def _arithmetic(operator: str, left: Code, right: Code, type: ColumnType) -> Code:
    reads = read_by([left, right])
    if left.kind == right.kind == "i" and operator != "/":
        null = _either(left.null, right.null)
        match operator:
            case "+" | "-" | "*":
                name = {"+": "add", "-": "subtract", "*": "multiply"}[operator]
                overflows = f"{name}_overflows({left.value}, {right.value})"
                return Code(f"({left.value} {operator} {right.value})", "i", _either(null, overflows), reads)
            case _:
                return Code(f"remainder({left.value}, {right.value})", "i", _either(null, f"{right.value} == 0"), reads)
    x, y = left.as_float(), right.as_float()
    match operator:
        case "/":
            text = f"divide({x}, {y})"
        case "%":
            text = f"float_remainder({x}, {y})"
        case _:
            text = f"({x} {operator} {y})"
    if type.kind in (Kind.DURATION, Kind.TIMESTAMP):
        # Ticks are whole: a part of a duration is cut off towards zero.
        return Code(f"whole({text})", "i", f"not_whole({text})", reads)
    return Code(text, "f", reads=reads)


def _call(function: str, arguments: list[Code], type: ColumnType, constants: Constants) -> Code:
    first = arguments[0]
    match function:
        case "abs":
            if first.kind == "f":
                return Code(f"abs({first.value})", "f")
            return Code(f"abs({first.value})", "i", _either(first.null, f"{first.value} == INT_MIN"))
        case "sqrt" | "exp" | "ln":
            return Code(f"{function}_or_nan({first.as_float()})", "f")
        case "floor" | "ceil":
            if first.kind == "i":
                return first
            rounded = f"{function}_or_nan({first.value})"
            return Code(f"whole({rounded})", "i", f"not_whole({rounded})")
        case "round":
            return _round(arguments)
        case "least" | "greatest" | "coalesce":
            return _choose(function, arguments, type)
        case "dot":
            left, right = arguments
            return Code(f"dot({left.value}, {right.value})", "f")
        case _ if function in BUILTINS:
            raise AssertionError(f"`{function}` is computed by the host")
        case _:
            return _registered(constants.functions[function], arguments, type)


def _registered(name: str, arguments: list[Code], type: ColumnType) -> Code:
    """A call of a Python function, which is not asked about nulls."""
    call = f"{name}({', '.join(a.value for a in arguments)})"
    null = _either(*(a.is_null() for a in arguments if a.kind == "f" or a.null))
    match kind_of(type):
        case "f":
            return Code(f"(nan if {null} else float({call}))" if null else f"float({call})", "f")
        case kind:
            return Code(f"(0 if {null} else int({call}))" if null else f"int({call})", kind, null)


def _round(arguments: list[Code]) -> Code:
    first, *places = arguments
    places_text = places[0].value if places else "0"
    if first.kind == "i":
        null = _either(first.null, places[0].null if places else NEVER)
        overflows = f"round_overflows({first.value}, {places_text})"
        return Code(f"round_integer({first.value}, {places_text})", "i", _either(null, overflows))
    text = f"round_float({first.value}, {places_text})"
    if places and places[0].null:
        text = f"(nan if {places[0].null} else {text})"
    return Code(text, "f")


def _choose(function: str, arguments: list[Code], type: ColumnType) -> Code:
    """The text of least, greatest and coalesce, pairwise from the left; null only when all are."""
    result = arguments[0]
    if type == FLOAT:
        text = result.as_float()
        for a in arguments[1:]:
            text = f"float_{function}({text}, {a.as_float()})"
        return Code(text, "f")
    for a in arguments[1:]:
        left, right = result.is_null(), a.is_null()
        text = f"integer_{function}({result.value}, {left}, {a.value}, {right})"
        if result.kind == "s" or a.kind == "s":
            result = Code(f"({result.value} if {result.value} >= 0 else {a.value})", "s")
        else:
            both = f"({left} and {right})" if result.null and a.null else NEVER
            result = Code(text, "b" if type.kind is Kind.BOOL else "i", both)
    return result


def _python(operator: str) -> str:
    return "==" if operator == "=" else operator


def _either(*nulls: str) -> str:
    present = [n for n in nulls if n]
    return present[0] if len(present) == 1 else f"({' or '.join(present)})" if present else NEVER


def _unless(null: str, text: str) -> str:
    return f"(not {null} and {text})" if null else f"({text})"


def _join(word: str, tests: Sequence[Code]) -> Code:
    return _test(f"({word.join(test.value for test in tests)})", *tests)
