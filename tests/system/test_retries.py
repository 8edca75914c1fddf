"""Retries and their end, with all engines side by side in one agent.

    $(tools/setup --python) tools/run-unittests -k 'RetriesEnd.*' tests/system
"""

import collections
import re
import unittest

import containerd
import engines
import harness
import kube

RETRIES = 20


def retries(states):
    """Number and cause of each that was seen."""
    return [(int(match[1]), match[2]) for _, info in states if (match := re.match(r"(?s)Retry (\d+) of 20: (.*)", info))]


class RetriesEnd(kube.KubeCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.containerd = containerd.Containerd()
        cls.addClassCleanup(cls.containerd.end)
        cls.environment = cls.environment | cls.containerd.environment

    # [stest->swdd~agent-workload-control-loop-limits-retry-attempts~1]
    # [stest->swdd~agent-workload-control-loop-retry-limit-set-execution-state~2]
    def test_an_image_that_is_nowhere(self):
        server = self.server()
        name = self.agent(server).agent_name
        missing = f"localhost/{self.unique('missing')}:1"
        engine = engines.Kube(self)
        self.apply(server, {"by_podman": harness.workload(name, image=missing, options=["--pull=never"]),
                            "by_kube": engine.workload(name, image=missing),
                            "by_containerd": harness.workload(name, image=missing, runtime="containerd"),
                            "fine": harness.workload(name)})
        seen = collections.defaultdict(list)

        def look():
            states = {each: (state, info) for each, _, _, state, info in self.instances(server) if each != "fine"}
            for each, pair in states.items():
                if not seen[each] or seen[each][-1] != pair:
                    seen[each].append(pair)
            return states.values()
        for number in RETRIES // 3, 2 * RETRIES // 3:
            self.wait_until(lambda: look() and all(dict(retries(states)).keys() & range(number, RETRIES + 1) for states in seen.values()),
                            f"retry {number} of each, or a later one")
        self.wait_until(lambda: all(state == "Pending(StartingFailed)" for state, _ in look()), "all retries end")

        self.assertEqual(set(seen), {"by_podman", "by_kube", "by_containerd"})
        for each, states in seen.items():
            with self.subTest(each):
                *before, (_, last) = states
                self.assertRegex(last, rf"(?s)\ANo more retries: .*{re.escape(missing)}")
                self.assertEqual({state for state, _ in before} - {"Pending(Initial)"}, {"Pending(Starting)"})
                numbers = [number for number, _ in retries(before)]
                self.assertEqual(numbers, sorted(set(numbers)), "they count")
                self.assertLessEqual(numbers[-1], RETRIES)
                self.assertTrue(all(missing in cause for _, cause in retries(before)), before)
        self.assertEqual(self.states(server)["fine"], "Running(Ok)")
        self.assertEqual((list(harness.ids(name)), engine.found(name), engine.left(name)), (["fine"], [], []))


if __name__ == "__main__":
    unittest.main()
