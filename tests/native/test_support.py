"""The library as a kernel of its own."""

from inspect import isfunction

from augury.native.support import MODULES, support_source


def test_every_function_of_the_library_is_an_entry() -> None:
    functions = [
        name
        for module in MODULES
        for name, value in vars(module).items()
        if isfunction(value) and value.__module__ == module.__name__
    ]
    assert sorted(support_source().entries) == sorted(functions)
    assert support_source().text.count("@kernel\n") == len(functions)
