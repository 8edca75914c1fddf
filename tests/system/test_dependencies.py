"""Workloads that depend on each other, on two agents, with each engine.

    $(tools/setup --python) tools/run-unittests -k 'Dependencies*' tests/system
"""

import unittest

import engines


class BothDirections:
    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.here = self.agent(self.one, self.unique("here")).agent_name
        self.there = self.agent(self.one, self.unique("there")).agent_name

    def states_of(self, name):
        """All instances of one workload: more than one while an old one goes and a new one comes."""
        return sorted(state for workload_name, _, _, state, _ in self.instances(self.one) if workload_name == name)

    def workload(self, *words, **more):
        return self.engine.workload(*words, **more)

    def ids(self, agent):
        return self.engine.ids(agent)

    def delete(self, name):
        self.ank(self.one, "--no-wait", "delete", "workload", name)

    # [stest->swdd~agent-enqueues-unfulfilled-create~1]
    # [stest->swdd~agent-handles-new-workload-operations]
    # [stest->swdd~agent-handles-workloads-with-fulfilled-dependencies~1]
    def test_starts_when_what_it_needs_is_there_on_whichever_agent(self):
        self.apply(self.one, {"web": self.workload(self.there, dependencies={"db": "ADD_COND_RUNNING", "init": "ADD_COND_SUCCEEDED"}),
                              "free": self.workload(self.there)})
        self.wait_for(self.one, web="Pending(WaitingToStart)", free="Running(Ok)")
        self.apply(self.one, {"db": self.workload(self.here)})
        self.wait_for(self.one, db="Running(Ok)")
        self.assertEqual(self.states_of("web"), ["Pending(WaitingToStart)"])
        self.assertEqual(set(self.ids(self.there)), {"free"})
        self.apply(self.one, {"init": self.workload(self.there, "true")})
        self.wait_for(self.one, web="Running(Ok)", init="Succeeded(Ok)")
        self.delete("init")
        self.wait_for(self.one, init=None)
        self.assertEqual(self.states_of("web"), ["Running(Ok)"], "what has started stays")

    # [stest->swdd~agent-enqueues-unfulfilled-delete~1]
    # [stest->swdd~agent-handles-workloads-with-fulfilled-dependencies~1]
    def test_stops_when_those_that_need_it_have_stopped(self):
        self.apply(self.one, {"db": self.workload(self.here), "web": self.workload(self.there, dependencies={"db": "ADD_COND_RUNNING"})})
        self.wait_for(self.one, db="Running(Ok)", web="Running(Ok)")
        before = self.ids(self.here)
        self.delete("db")
        self.wait_for(self.one, db="Stopping(WaitingToStop)", web="Running(Ok)")
        self.assertEqual(self.ids(self.here), before)
        self.delete("web")
        self.wait_for(self.one, db=None, web=None)
        self.assertEqual((self.ids(self.here), self.ids(self.there)), ({}, {}))


class Updates:
    # [stest->swdd~agent-handles-update-with-fulfilled-delete~1]
    def test_an_update_gives_way_at_once_and_comes_when_it_may(self):
        self.apply(self.one, {"web": self.workload(self.there)})
        self.wait_for(self.one, web="Running(Ok)")
        self.apply(self.one, {"web": self.workload(self.there, engines.STAYS_TOO, dependencies={"init": "ADD_COND_SUCCEEDED"})})
        self.wait_until(lambda: self.states_of("web") == ["Pending(WaitingToStart)"], "the new web waits alone")
        self.assertEqual(self.ids(self.there), {})
        self.apply(self.one, {"init": self.workload(self.here, "true")})
        self.wait_for(self.one, web="Running(Ok)")

    # [stest->swdd~agent-enqueues-update-with-unfulfilled-delete~1]
    def test_an_update_of_what_others_need_waits_for_them(self):
        self.apply(self.one, {"db": self.workload(self.here), "web": self.workload(self.there, dependencies={"db": "ADD_COND_RUNNING"})})
        self.wait_for(self.one, db="Running(Ok)", web="Running(Ok)")
        before = self.ids(self.here)
        self.apply(self.one, {"db": self.workload(self.here, engines.STAYS_TOO)})
        self.wait_until(lambda: "Stopping(WaitingToStop)" in self.states_of("db"), "the old db waits")
        self.assertEqual(self.ids(self.here), before)
        self.delete("web")
        self.wait_until(lambda: self.states_of("db") == ["Running(Ok)"], "the new db is alone")
        self.assertNotEqual(self.ids(self.here), before)


class Dependencies(Updates, BothDirections, engines.PodmanCase):
    """podman"""


class DependenciesKube(BothDirections, engines.KubeCase):
    """podman-kube"""


class DependenciesContainerd(Updates, BothDirections, engines.ContainerdCase):
    """containerd"""


if __name__ == "__main__":
    unittest.main()
