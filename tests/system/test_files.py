"""Files that a workload brings with it, with each engine: where they are, what their content is, and when they go.

    $(tools/setup --python) tools/run-unittests -k 'Files*' tests/system
"""

import unittest

import engines

FAILED = "Failed to create workload file: '"


class Start(engines.OneAgent):
    def setUp(self):
        super().setUp()
        self.home = self.worker.run_folder / f"{self.name}_io"

    def inside(self, name, *command):
        return self.engine.inside(self.name, name, *command)

    def logs_of(self, ident):
        """Nothing once the container is gone."""
        try:
            return self.engine.call("logs", ident)
        except AssertionError:
            return ""

    def on_disk(self):
        """The files of all workloads: (workload, path below its folder) and content."""
        return {(path.relative_to(self.home).parts[0].split(".")[0], "/".join(path.relative_to(self.home).parts[1:])): path.read_bytes()
                for path in self.home.rglob("*") if path.is_file()}


class Scenario(Start):
    def test_seen_replaced_and_removed(self):
        first = [{"mountPoint": "/etc/app/text.conf", "data": "a=1\nb=grün\n"},
                 {"mountPoint": "/opt//./some file.bin", "binaryData": "  AAEC\n  /w==\n"}]
        self.apply(self.one, {"web": self.workload(files=first), "plain": self.workload("sleep 2000")})
        self.wait_for(self.one, web="Running(Ok)", plain="Running(Ok)")
        self.assertEqual(self.inside("web", "cat", "/etc/app/text.conf"), "a=1\nb=grün\n")
        self.assertEqual(self.inside("web", "od", "-An", "-tx1", "/opt/some file.bin").split(), ["00", "01", "02", "ff"])
        refused = self.inside("web", "sh", "-c", "(echo more >>/etc/app/text.conf) 2>&1; true")
        self.assertIn("Read-only file system", refused)
        self.assertEqual(self.on_disk(), {("web", "files/etc/app/text.conf"): "a=1\nb=grün\n".encode(),
                                          ("web", "files/opt/some file.bin"): b"\x00\x01\x02\xff"})
        self.assertEqual(len(list(self.home.iterdir())), 1, "what has no files has no folder")

        before = self.ids()
        self.apply(self.one, {"web": self.workload(files=[{"mountPoint": "/etc/app/text.conf", "data": "a=2\n"}])})
        self.wait_until(lambda: self.ids().get("web") not in (None, before["web"]), "the container is another one")
        self.wait_for(self.one, web="Running(Ok)")
        self.assertEqual(self.inside("web", "cat", "/etc/app/text.conf"), "a=2\n")
        self.assertEqual(self.on_disk(), {("web", "files/etc/app/text.conf"): b"a=2\n"})

        self.ank(self.one, "delete", "workload", "web")
        self.assertEqual(list(self.home.iterdir()), [])
        self.assertEqual(self.ids(), {"plain": before["plain"]})

    def test_what_cannot_be_written_is_said_and_others_go_on(self):
        texts = {
            "relative": ({"mountPoint": "etc/a", "data": "x"},
                         "invalid mount point 'etc/a': 'path 'etc/a' is relative, expected absolute path''"),
            "dots": ({"mountPoint": "/etc/../a", "data": "x"},
                     "invalid mount point '/etc/../a': 'path '/etc/../a' contains invalid path components''"),
            "folder": ({"mountPoint": "/etc/", "data": "x"},
                       "invalid mount point '/etc/': ''/etc/' is a directory, expected a file''"),
            "base64": ({"mountPoint": "/b", "binaryData": "AAE"}, "invalid base64 data in '/b': 'Invalid padding''"),
        }
        self.apply(self.one, {name: self.workload(files=[{"mountPoint": "/fine", "data": "x"}, file])
                              for name, (file, _) in texts.items()}
                   | {"fine": self.workload(files=[{"mountPoint": "/fine", "data": "x"}])})
        self.wait_for(self.one, fine="Running(Ok)", **{name: "Pending(StartingFailed)" for name in texts})
        for name, (_, text) in texts.items():
            self.assertEqual(self.info(self.one, name), FAILED + text)
        self.assertEqual(list(self.ids()), ["fine"])
        self.assertEqual(self.on_disk(), {("fine", "files/fine"): b"x"})
        self.ank(self.one, "delete", "workload", *texts, "fine")
        self.assertEqual(list(self.home.iterdir()), [])

    def test_a_link_in_the_way_leads_nowhere(self):
        precious = self.file("precious", "precious")
        files = [{"mountPoint": "/a/b", "data": "x"}]
        self.apply(self.one, {"web": self.workload(files=files)})
        self.wait_for(self.one, web="Running(Ok)")
        folder = next(self.home.iterdir())
        self.ank(self.one, "delete", "workload", "web")
        (folder / "files/a").mkdir(parents=True)
        (folder / "files/a/b").symlink_to(precious)
        self.apply(self.one, {"web": self.workload(files=files)})
        self.wait_for(self.one, web="Pending(StartingFailed)")
        self.assertEqual(self.info(self.one, "web"),
                         f"{FAILED}write failed for '/a/b': 'Could not write to \"{folder}/files/a/b\": it is a symbolic link, "
                         "which is not followed; remove it''")
        self.assertEqual(precious.read_text(), "precious")

    def test_restarts_keep_them(self):
        files = [{"mountPoint": "/a", "data": "here\n"}]
        self.apply(self.one, {"again": self.workload("cat /a", restart="ALWAYS", files=files),
                              "anew": self.workload("cat /a; exit 3", restart="ON_FAILURE", files=files)})

        def both():
            seen = self.ids()
            return seen if {"again", "anew"} <= seen.keys() else None
        first = self.wait_until(both, "both were started")
        self.wait_until(lambda: self.logs_of(first["again"]).count("here\n") > 1, "the same container has run again")
        self.wait_until(lambda: self.ids().get("anew") not in (None, first["anew"]), "another container has taken over")

        def newest_has_read():
            ident = self.ids().get("anew")
            return ident and ident != first["anew"] and "here\n" in self.logs_of(ident)
        self.wait_until(newest_has_read, "the other container has the file, too")

    def test_an_agent_that_comes_back_keeps_them(self):
        files = [{"mountPoint": "/a", "data": "here\n"}]
        self.apply(self.one, {"web": self.workload(files=files), "unneeded": self.workload("sleep 2000", files=files)})
        self.wait_for(self.one, web="Running(Ok)", unneeded="Running(Ok)")
        before = self.ids()
        self.worker.kill()
        self.wait_until(lambda: self.name not in self.connected_agents(self.one), "the agent is gone")
        self.ank(self.one, "--no-wait", "delete", "workload", "unneeded")
        self.agent(self.one, name=self.name, run_folder=self.worker.run_folder)
        self.wait_for(self.one, web="Running(Ok)", unneeded=None)
        self.wait_until(lambda: self.ids() == {"web": before["web"]}, "only the wanted one is left, as it was")
        self.assertEqual(self.inside("web", "cat", "/a"), "here\n")
        self.wait_until(lambda: self.on_disk() == {("web", "files/a"): b"here\n"}, "the files of the other one are gone")
        self.ank(self.one, "delete", "workload", "web")
        self.assertEqual(list(self.home.iterdir()), [])


class Files(Scenario, engines.PodmanCase):
    """podman"""


class FilesContainerd(Scenario, engines.ContainerdCase):
    """containerd"""


class FilesKube(Start, engines.KubeCase):
    """podman-kube takes none."""

    def test_refused_and_nothing_is_left(self):
        self.apply(self.one, {"web": self.workload(files=[{"mountPoint": "/a", "data": "x"}]), "plain": self.workload()})
        self.wait_for(self.one, web="Pending(StartingFailed)", plain="Running(Ok)")
        self.assertEqual(self.info(self.one, "web"), "Workload files are not supported for podman-kube runtime. Use ConfigMaps instead.")
        self.assertEqual((list(self.ids()), self.on_disk()), (["plain"], {}))
        self.ank(self.one, "delete", "workload", "web")
        self.assertEqual(list(self.home.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
