"""Which test files are those of changed code, and which of them a run was restricted to."""

import pytest

from verdikt.turns.own_tests import Selection, find_own_tests


@pytest.mark.parametrize(
    ("changed", "files", "own"),
    [
        ("cart.py", ("cart.py", "test_cart.py", "test_util.py"), ("test_cart.py",)),
        ("src/cart.py", ("src/cart.py", "tests/unit/test_cart.py"), ("tests/unit/test_cart.py",)),
        ("src/cart.ts", ("src/cart.ts", "src/cart.spec.ts", "e2e/cart.spec.ts"), ("src/cart.spec.ts",)),
        ("a/Cart.java", ("a/Cart.java", "a/test/CartTest.java"), ("a/test/CartTest.java",)),
        ("cart.go", ("cart.go", "cart_test.go", "price/price_test.go"), ("cart_test.go",)),
        ("cart.go", ("cart.go", "shop_test.go", "price/cart_test.go"), ("shop_test.go",)),
        ("a/index.js", ("a/index.js", "b/index.js", "b/index.test.js"), ()),
        ("util.py", ("util.py", "test_cart.py"), ()),
        ("README.md", ("README.md", "test_readme.py"), ()),
        ("gone.py", ("test_gone.py",), ()),
    ],
)
def test_tests_of_a_file_bear_its_name(changed: str, files: tuple[str, ...], own: tuple[str, ...]) -> None:
    """The name tells, and the directory where several files have the same one."""
    assert find_own_tests([changed], files).get(changed, ()) == own


@pytest.mark.parametrize(
    ("places", "test", "is_held"),
    [
        ((), "tests/test_cart.py", True),
        (("tests",), "tests/unit/test_cart.py", True),
        (("tests/web",), "tests/unit/test_cart.py", False),
        (("test_util.py",), "test_cart.py", False),
        (("",), "test_cart.py", True),
        (("",), "cart_test.go", True),
        (("",), "price/price_test.go", False),
        (("/...",), "price/price_test.go", True),
        (("price/...",), "price/tax/tax_test.go", True),
        (("price",), "price/tax/tax_test.go", False),
    ],
)
def test_run_holds_the_tests_below_its_places(places: tuple[str, ...], test: str, is_held: bool) -> None:
    """Packages of Go are run one by one, unless `...` says otherwise; elsewhere a directory has all below it."""
    assert Selection(places).holds(test) is is_held
