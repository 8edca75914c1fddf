from fake_tree import FakeTree


class CheckTraceHash(FakeTree):
    def sim(self, preset, script):
        self.write(f"build/{preset}/bin/tiphys-sim", f"#!/bin/sh\n{script}\n")
        (self.root / f"build/{preset}/bin/tiphys-sim").chmod(0o755)

    def test_wants_the_same_hash_everywhere(self):
        self.sim("dev", 'echo "seed $2"; echo "trace hash 12ab"')
        self.sim("asan", 'echo "seed $2"; echo "trace hash 12ab"')
        self.assert_passes("check-trace-hash", "dev", "asan")
        self.sim("asan", 'echo "trace hash 12ac"')
        self.assert_fails("asan: 12ac", "check-trace-hash", "dev", "asan")

    def test_wants_a_run_that_succeeds(self):
        self.sim("dev", 'echo "trace hash 12ab"; exit 1')
        self.assert_fails("ended with 1", "check-trace-hash", "dev")
        self.sim("dev", "echo done")
        self.assert_fails("the line 'done'", "check-trace-hash", "dev")
