"""Tools about nothing that is stored: arithmetic, and the clock."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from datetime import datetime
from typing import Annotated

from pydantic import Field

from assistant.tools.context import ToolContext
from assistant.tools.tool import ToolFailed, tool
from store.core.translation import N_

Expression = Annotated[str, Field(description="Such as 2*(3+4), sqrt(2), 17 % 5 or round(1/3, 4).")]


@tool(reaches=N_("nothing but the numbers it is given"))
def calculator(context: ToolContext, expression: Expression) -> object:
    """Works out an arithmetic expression exactly; call it for any calculation instead of doing it
    in your head. Knows + - * / // % ** and parentheses, abs, round, floor, ceil, sqrt, min and max."""
    return {"result": calculate(expression)}


@tool(reaches=N_("this computer's clock"))
def get_current_datetime(context: ToolContext) -> object:
    """Gives the date and time of now in the person's zone in ISO form with its offset, and as epoch seconds;
    call it before turning words such as "an hour ago" into `start` and `end`."""
    now = datetime.fromtimestamp(context.now_ms / 1000, context.zone)
    return {
        "iso": now.isoformat(timespec="seconds"),
        "epoch_seconds": context.now_ms // 1000,
        "timezone": str(context.zone),
    }


# -- arithmetic that cannot run code and cannot run away --------------------------------------
#
# The expression is parsed by Python's own parser into a tree, and only the nodes listed here are
# worked out: numbers, operators and a few functions of mathematics. Whole numbers stay exact up to
# `MAX_BITS`, and every operation is bounded before it is made, so that ``9**9**9`` is refused at once.

MAX_CHARS = 500
MAX_BITS = 4096
"""About 1,233 digits."""

Number = int | float


def calculate(expression: str) -> Number:
    """The value of an arithmetic expression. Raises `ToolFailed`."""
    text = " ".join(expression.split())
    for sign, python in (("×", "*"), ("÷", "/"), ("^", "**"), ("−", "-")):
        text = text.replace(sign, python)
    if not text:
        raise ToolFailed("The expression is empty.")
    if len(text) > MAX_CHARS:
        raise ToolFailed(f"The expression is longer than {MAX_CHARS} characters.")
    try:
        return _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ToolFailed("This is not an arithmetic expression.") from error
    except ZeroDivisionError as error:
        raise ToolFailed("Division by zero.") from error
    except OverflowError as error:
        raise ToolFailed("The result is too large.") from error
    except ValueError as error:
        raise ToolFailed(f"{error}".capitalize() + ".") from error


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):
            return _checked(value)
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _OPERATORS:
            return _checked(_OPERATORS[type(sign)](_value(operand)))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _checked(_OPERATORS[type(sign)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            values = [_value(argument) for argument in arguments]
            if name not in _FUNCTIONS:
                raise ToolFailed(f"There is no function {name[:40]!r}.")
            try:
                return _checked(_FUNCTIONS[name](*values))
            except TypeError as error:
                raise ToolFailed(f"{name} does not take {len(values)} values.") from error
    raise ToolFailed(f"Only numbers, + - * / // % ** and {', '.join(sorted(_FUNCTIONS))} are known.")


def _checked(value: object) -> Number:
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= MAX_BITS:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, int | float):
        raise ToolFailed("The result is too large.")
    raise ToolFailed("The result is not a real number.")


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        if base not in (-1, 0, 1) and exponent * base.bit_length() > 2 * MAX_BITS:
            raise ToolFailed("The result is too large.")
        return int(base**exponent)
    result = base**exponent
    if isinstance(result, complex):
        raise ToolFailed("The result is not a real number.")
    return float(result)


def _rounded(value: Number, digits: Number = 0) -> Number:
    if not isinstance(digits, int) or not -400 <= digits <= 400:
        raise ToolFailed("round takes a whole number of digits.")
    return round(value, digits) if digits else round(value)


_OPERATORS: dict[type, Callable[..., Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "abs": abs,
    "round": _rounded,
    "floor": math.floor,
    "ceil": math.ceil,
    "sqrt": math.sqrt,
    "min": min,
    "max": max,
}
