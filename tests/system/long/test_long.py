"""What takes minutes; only `./test --long` runs it.

    $(tools/setup --python) tools/run-unittests tests/system/long
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import test_many  # noqa: E402


class Thousand(test_many.Many):
    COUNT = 1000
    PAUSE = 2


if __name__ == "__main__":
    unittest.main()
