"""How types and shapes are checked while tests run: as jaxtyping's import hook does, in half the time.

The hook decorates every function of hmem with `jaxtyping.jaxtyped`, which binds each call's arguments to the signature
and checks them twice. Here a function is checked once, by beartype, and only one whose signature has shapes begins a
new scope of dimensions. A function that is called very often is checked the first so many times, and then now and then;
with `pytest --slow` each time.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin

import jaxtyping
from beartype import beartype

jaxtyped = jaxtyping.jaxtyped
LATER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
SCOPE = jaxtyped("context")
ALWAYS, OFTEN = 100, 32  # calls of a function that are checked, and how many there are to each check after these
every_call = False


def install() -> None:
    """To be called before hmem is imported."""
    jaxtyping.jaxtyped = checked  # type: ignore[assignment]


def checked(function: Any = None, *, typechecker: Any) -> Any:
    """In place of `jaxtyping.jaxtyped`, for what the import hook decorates."""
    if function is None:
        return functools.partial(checked, typechecker=typechecker)
    if dataclasses.is_dataclass(function) and isinstance(function, type):
        if "__init__" in vars(function):
            function.__init__ = checked(function.__init__, typechecker=typechecker)  # type: ignore[method-assign]
        return function
    if not inspect.isfunction(function):
        return jaxtyped(function, typechecker=typechecker)
    if _is_generator(function) or _names_a_type(function):
        return _now_and_then(function, jaxtyped(function, typechecker=typechecker))
    within = beartype(function)
    has_shapes = any(map(_has_shape, function.__annotations__.values()))
    return _now_and_then(function, _in_a_scope(function, within) if has_shapes else within)


def _now_and_then(function: Callable[..., Any], within: Callable[..., Any]) -> Callable[..., Any]:
    calls = 0

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > ALWAYS and calls % OFTEN and not every_call:
            return function(*arguments, **options)
        return within(*arguments, **options)

    return call


def _in_a_scope(function: Callable[..., Any], within: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        with SCOPE:
            return within(*arguments, **options)

    return call


def _is_generator(function: Callable[..., Any]) -> bool:
    """Whether the function goes on after it has returned, when its scope has ended."""
    return bool(inspect.unwrap(function).__code__.co_flags & LATER)


def _names_a_type(function: Callable[..., Any]) -> bool:
    """Whether a type has to be looked for first, since it is given in quotes."""
    return any(map(_is_named, function.__annotations__.values()))


def _is_named(annotation: Any) -> bool:
    inner = () if get_origin(annotation) is Literal else get_args(annotation)
    return isinstance(annotation, str) or any(map(_is_named, inner))


def _has_shape(annotation: Any) -> bool:
    is_array = isinstance(annotation, type) and issubclass(annotation, jaxtyping.AbstractArray)
    return is_array or any(map(_has_shape, get_args(annotation)))
