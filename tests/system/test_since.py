"""`ank describe` says since when a workload is in its state.

    $(tools/setup --python) tools/run-unittests -k 'Since.*' tests/system
"""

import re
import unittest

import harness
from harness import workload

SECONDS_OF = {"d": 86400, "h": 3600, "m": 60, "s": 1}


class Since(harness.Case):
    def ages(self, server, *names):
        """Seconds by the name of the workload, as described."""
        said = self.ank(server, "describe", "workload", *names)
        ages = {}
        for name, since in re.findall(r"(?m)^Workload: +(\S+)\nState: .*\nSince: +(.*)$", said):
            shown = re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \((.*) ago\)", since)
            self.assertIsNotNone(shown, said)
            ages[name] = sum(int(part[:-1]) * SECONDS_OF[part[-1]] for part in shown[1].split())
        return ages

    def test_a_new_state_is_younger_than_one_that_lasts(self):
        server = self.server()
        self.apply(server, {"old": workload("nobody"), "web": workload("nobody"), "stray": workload("")})
        self.assertEqual(self.ages(server, "web", "old", "stray").keys(), {"old", "web", "stray"})
        self.wait_until(lambda: self.ages(server, "web")["web"] >= 2, "web has been waiting for 2 s")
        self.apply(server, {"web": workload("nobody", "sleep 2000")})
        ages = self.ages(server, "web", "old")
        self.assertGreaterEqual(ages["old"], ages["web"] + 2)


if __name__ == "__main__":
    unittest.main()
