"""Parser of SQL statements: MATCH_RECOGNIZE clauses by Augury, the rest by sqlglot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import Dialect, ErrorLevel, Token, TokenType, exp
from sqlglot.errors import ParseError, TokenError, UnsupportedError
from sqlglot.parser import Parser

from augury.errors import Diagnostic, HostError, QueryError, suggestion
from augury.match_recognize.clause import read_clause
from augury.match_recognize.cursor import VALUES, Cursor
from augury.match_recognize.syntax import Clause
from augury.source import Source, Span

WHOLE_TEXT = 1_000_000_000
"""Characters of context in an error of sqlglot: all of them, so that their number is the position of the error."""


class RowPatternTable(exp.Expression):
    """A table factor with a MATCH_RECOGNIZE clause: `this` is its input."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "clause": True, "alias": False}


class _RowPatternParser:
    """The mixin for parsers of all dialects that parses row patterns behind a table."""

    source: Source

    def _parse_table(self, *args: Any, **options: Any) -> exp.Expression | None:
        table: exp.Expression | None = super()._parse_table(*args, **options)  # type: ignore[misc]
        while table is not None and self._curr.token_type is TokenType.MATCH_RECOGNIZE:  # type: ignore[attr-defined]
            clause = read_clause(Cursor(self, self.source))  # type: ignore[arg-type]
            alias = self._parse_table_alias()  # type: ignore[attr-defined]
            table = RowPatternTable(this=table, clause=clause, alias=alias)
        return table


@dataclass(slots=True)
class Statement:
    """A query whose row patterns are replaced by tables, one after another, until it is plain SQL."""

    source: Source
    tree: exp.Query

    def row_patterns(self) -> list[RowPatternTable]:
        """The remaining row patterns, each after the ones that it reads."""
        found = list(self.tree.find_all(RowPatternTable))
        return sorted(found, key=lambda node: clause_of(node).span.start)

    def names(self) -> Iterator[str]:
        """Column names used outside of row patterns, in lower case."""
        for column in self.tree.find_all(exp.Column):
            yield column.name.lower()


def is_whole(statement: Statement, node: RowPatternTable) -> bool:
    """Whether a statement returns all columns and rows of one row pattern: `SELECT * FROM t MATCH_RECOGNIZE (...)`."""
    tree = statement.tree
    said = {name for name, value in tree.args.items() if value}
    if type(tree) is not exp.Select or said != {"expressions", "from_"} or tree.args["from_"].this is not node:
        return False
    (first, *others) = tree.expressions
    return type(first) is exp.Star and not others and not any(first.args.values())


def clause_of(node: RowPatternTable) -> Clause:
    """The clause of a table factor."""
    clause = node.args["clause"]
    assert isinstance(clause, Clause)
    return clause


def read_statement(source: Source, dialect: str) -> Statement:
    """Parse a text that holds one query."""
    try:
        known = Dialect.get_or_raise(dialect)
    except ValueError:
        names = [name for name in Dialect.classes if name]
        raise HostError("A790", f"unknown SQL dialect `{dialect}`", suggestion(dialect, sorted(names))) from None
    try:
        tokens = known.tokenize(source.text)
        statements = [s for s in _parser(known, source).parse(_marked(tokens), source.text) if s is not None]
    except ParseError as e:
        raise _unreadable(e, source) from e
    except TokenError as e:
        end = len(source.text)
        message = "a string, a quoted name or a comment is not closed"
        raise QueryError([Diagnostic("A701", message, Span(end, end + 1))], source) from e
    except RecursionError:
        raise QueryError([Diagnostic("A704", "the statement is nested too deeply", Span(0, 1))], source) from None
    if len(statements) != 1:
        help = "give one SELECT"
        message = f"the text holds {len(statements)} statements" if statements else "the text holds no statement"
        raise QueryError([Diagnostic("A707", message, Span(0, 1), "", help)], source)
    tree = statements[0]
    if not isinstance(tree, exp.Query):
        message = "only queries can be run"
        raise QueryError([Diagnostic("A707", message, Span(0, 1), "not a query", "give one SELECT")], source)
    for node in tree.find_all(RowPatternTable):
        for query in clause_of(node).queries:
            inner = query.find(RowPatternTable)
            if inner is not None:
                place = clause_of(inner).span
                word = Span(place.start, place.start + len("MATCH_RECOGNIZE"))
                message = "MATCH_RECOGNIZE cannot stand in an expression of another MATCH_RECOGNIZE"
                help = "put it in the input instead: FROM (SELECT ... MATCH_RECOGNIZE (...)) MATCH_RECOGNIZE (...)"
                raise QueryError([Diagnostic("A708", message, word, "nested", help)], source)
    return Statement(source, tree)


def _parser(dialect: Dialect, source: Source) -> Parser:
    modifiers = dict(dialect.parser_class.QUERY_MODIFIER_PARSERS)
    modifiers.pop(TokenType.MATCH_RECOGNIZE, None)
    body = {"QUERY_MODIFIER_PARSERS": modifiers, "source": source}
    kind = type("RowPatternParser", (_RowPatternParser, dialect.parser_class), body)
    parser = kind(dialect=dialect, error_level=ErrorLevel.IMMEDIATE, error_message_context=WHOLE_TEXT)
    assert isinstance(parser, Parser)
    return parser


def _marked(tokens: list[Token]) -> list[Token]:
    """Mark MATCH_RECOGNIZE as a keyword, which is a name in dialects without row patterns."""
    for token in tokens:
        if token.text.upper() == "MATCH_RECOGNIZE" and token.token_type not in VALUES:
            token.token_type = TokenType.MATCH_RECOGNIZE
    return tokens


def _unreadable(error: ParseError, source: Source) -> QueryError:
    first: dict[str, Any] = dict(error.errors[0]) if error.errors else {}
    start = len(first.get("start_context") or "")
    word = first.get("highlight") or ""
    message = str(first.get("description") or error).rstrip(".")
    message = re.sub(r"<Token .*>", f"`{word}`", message, flags=re.DOTALL)
    message = message[:1].lower() + message[1:]
    if message.startswith("invalid expression / Unexpected token"):
        message = f"`{word}` is not expected here" if word else "the statement ends too early"
    return QueryError([Diagnostic("A701", message, Span(start, start + max(1, len(word))), "here")], source)


def input_of(node: RowPatternTable) -> tuple[str | None, str]:
    """The table that a clause reads, if its input is just a table, and the prefix that its columns may have."""
    table = node.this
    alias = table.args.get("alias")
    name = table.alias_or_name
    simple = (
        type(table) is exp.Table
        and isinstance(table.this, exp.Identifier)
        and not table.args.get("db")
        and not (alias is not None and alias.columns)
        and not any(table.args.get(key) for key in ("sample", "joins", "pivots", "laterals", "version"))
        and table.name.lower() not in {cte.alias.lower() for cte in _visible(node)}
    )
    return (table.name if simple else None), name


def tables_read(node: RowPatternTable) -> frozenset[str]:
    """The names of tables that the input of a clause reads, through named queries of WITH as well; in lower case."""
    named = {cte.alias.lower(): cte for cte in _visible(node)}
    found: set[str] = set()
    pending: list[exp.Expr] = [node.this]
    while pending:
        for table in pending.pop().find_all(exp.Table):
            name = table.name.lower()
            if name not in found:
                found.add(name)
                pending += [named[name]] if name in named else []
    return frozenset(found)


def input_query(node: RowPatternTable) -> exp.Query:
    """A query for the input of a clause."""
    return _with(exp.select("*").from_(node.this.copy()), node)


def subquery(node: RowPatternTable, query: exp.Query) -> exp.Query:
    """A subquery in an expression of a clause, with the CTEs that it can use."""
    return _with(query.copy(), node)


def input_sql(node: RowPatternTable, functions: Sequence[str]) -> str:
    """The query for the input of a clause in DuckDB's SQL."""
    return duckdb_sql(input_query(node), functions)


def subquery_sql(node: RowPatternTable, query: exp.Query, functions: Sequence[str]) -> str:
    """A subquery in an expression of a clause in DuckDB's SQL."""
    return duckdb_sql(subquery(node, query), functions)


def _visible(node: exp.Expression) -> list[exp.CTE]:
    """CTEs visible at a node, the outermost first."""
    levels: list[list[exp.CTE]] = []
    inside: exp.Expr | None = node
    while inside is not None:
        parent = inside.parent
        named = None if parent is None else parent.args.get("with_")
        if isinstance(parent, exp.With):
            # The node is in one of these CTEs, which sees only those before it.
            ctes = parent.expressions
            levels.append(ctes[: next(k for k, cte in enumerate(ctes) if cte is inside)])
        elif isinstance(named, exp.With) and named is not inside:
            levels.append(named.expressions)
        inside = parent
    found: dict[str, exp.CTE] = {}
    for level in reversed(levels):
        for cte in level:
            found.pop(cte.alias.lower(), None)
            found[cte.alias.lower()] = cte
    return list(found.values())


def _with(query: exp.Query, node: RowPatternTable) -> exp.Query:
    visible = _visible(node)
    if not visible:
        return query
    own = query.args.get("with_")
    ctes = [cte.copy() for cte in visible] + ([] if own is None else list(own.expressions))
    query.set("with_", exp.With(expressions=ctes))
    return query


def replace(node: RowPatternTable, table: str, columns: Sequence[str]) -> None:
    """Replace a row pattern by a table, whose columns get the names of the alias."""
    alias = node.args.get("alias")
    name = exp.to_identifier(table, quoted=True) if alias is None else alias.this
    renamed = (
        [exp.to_identifier(c, quoted=True) for c in columns] if alias is None or not alias.columns else alias.columns
    )
    factor = exp.Table(this=exp.to_identifier(table, quoted=True), alias=exp.TableAlias(this=name, columns=renamed))
    node.replace(factor)


def alias_columns(node: RowPatternTable) -> list[str]:
    """The column names of the alias, if it has any."""
    alias = node.args.get("alias")
    return [] if alias is None else [column.name for column in alias.columns]


def duckdb_sql(tree: exp.Query, functions: Sequence[str]) -> str:
    """A query in DuckDB's SQL; `functions` are the names for Trino's division, which keeps integers."""
    (divide,) = functions

    def changed(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Div) and node.args.get("typed"):
            return exp.Anonymous(this=divide, expressions=[node.this, node.expression])
        return node

    try:
        return tree.copy().transform(changed).sql(dialect="duckdb", unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as e:
        raise HostError("A791", f"DuckDB cannot say this part of the statement: {e}") from e


def spark_sql(tree: exp.Query) -> str:
    """A query in Spark's SQL.

    Trino divides integers as integers, Spark as doubles: a division of two integers is translated to an integer one.
    """

    def changed(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Div) and node.args.get("typed"):
            whole = exp.Anonymous(this="typeof", expressions=[node.this.copy()])
            other = exp.Anonymous(this="typeof", expressions=[node.expression.copy()])
            kinds = [exp.Literal.string(k) for k in ("tinyint", "smallint", "int", "bigint")]
            both = exp.and_(exp.In(this=whole, expressions=kinds), exp.In(this=other, expressions=list(kinds)))
            divided = exp.Div(this=node.this, expression=node.expression, typed=False)
            truncated = exp.Cast(this=divided, to=exp.DataType.build("bigint"))
            return exp.Paren(this=exp.Case().when(both, truncated).else_(divided.copy()))
        return node

    try:
        return tree.copy().transform(changed).sql(dialect="spark", unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as e:
        raise HostError("A692", f"Spark cannot say this part of the statement: {e}") from e
