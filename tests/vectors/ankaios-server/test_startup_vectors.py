"""How ank-server starts, or says why not, compared with what a stock server was seen to do (20-startup-failures.json).

Where ours says something else on purpose, differences/20-startup-failures.json names the row of differences/rows.json
that explains it, and what ours says. The words before the first colon, which name the stage, are always the same.
TIPHYS_UPDATE=1 writes what ours says; the rows are for people to fill in.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parents[1] / "system"))
import harness  # noqa: E402

LIST = FOLDER / "differences/20-startup-failures.json"
INSECURE = "!!!ANKSERVER IS STARTED IN INSECURE MODE (-k, --insecure) -> TLS is disabled!!!"
RECORD = re.compile(r"^\[\S+ (ERROR|WARN |INFO |DEBUG)[^\]]*\] ")


def read(path):
    return json.loads(path.read_text()) if path.exists() else {}


def records(log, level):
    """The texts of that level, with the lines that continue them."""
    found = []
    current = None
    for line in log.splitlines():
        if begin := RECORD.match(line):
            current = begin[1].strip()
            if current == level:
                found.append(line[begin.end():])
        elif current == level:
            found[-1] += "\n" + line
    return found


def answers(program):
    """Whether the start is over: a server that listens may still refuse the state that it shall begin with."""
    address = re.search(r" address=(\S+) version=", program.log())
    return address and subprocess.run([harness.PROGRAMS / "ank", "-k", "-s", f"http://{address[1]}", "get", "agents"],
                                      stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def observe(scenario):
    """What the program does with the scenario's words, files and environment, in the form of the recording."""
    with tempfile.TemporaryDirectory(prefix="tiphys-startup-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)

        def filled_in(text):
            # Every server asks for a port of its own.
            return text.replace("{{dir}}", name).replace("{{port}}", "0")

        for file, content in (scenario.get("files") or {}).items():
            (folder / file).write_text(filled_in(content["text"]))
            (folder / file).chmod(int(str(content["mode"]), 8))
        words = [filled_in(word) for word in scenario["args"]]
        for key, option, file in (("startup_manifest", "--startup-manifest", "startup.yaml"),
                                  ("config_toml", "-x", "server.conf")):
            if scenario[key] is not None:
                (folder / file).write_text(filled_in(scenario[key]))
                words += [option, str(folder / file)]
        environment = {key: filled_in(value) for key, value in (scenario.get("env") or {}).items()}
        program = harness.Program("ank-server", words, folder, environment)
        harness.wait_until(lambda: not program.lives() or answers(program), "an answer or an end", program.log)
        running = program.lives()
        code = program.terminate() if running else program.ended()
        log = program.log().replace(name, "{{dir}}")
    if running and code != 0:
        raise AssertionError(f"{scenario['name']}: ended with {code}\n{log}")
    errors = records(log, "ERROR")
    observed = {"running": running, "exit_code": None if running else code, "error": errors[0] if errors else None,
                "warnings": [text for text in records(log, "WARN") if text != INSECURE]}
    if not running and code in (0, 2):      # the one writes to standard output, the other to standard error
        observed |= {"stdout": log if code == 0 else "", "stderr": log if code == 2 else ""}
    return observed


def stage(text):
    return text.split(":", 1)[0]


class StartupVectors(unittest.TestCase):
    maxDiff = None

    def test_go_as_recorded_or_as_listed(self):
        scenarios = json.loads((FOLDER / "20-startup-failures.json").read_text())
        listed = read(LIST)
        rows = read(FOLDER / "differences/rows.json")
        updating = "TIPHYS_UPDATE" in os.environ
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            all_observed = list(pool.map(observe, scenarios))
        found = {}
        for scenario, observed in zip(scenarios, all_observed):
            name = scenario["name"]
            ours = {key: value for key, value in observed.items() if (value or None) != (scenario.get(key) or None)}
            entry = listed.get(name, {"row": "", "ours": {}})
            if ours:
                found[name] = {"row": entry["row"], "ours": ours}
            with self.subTest(name):
                if observed["error"] and scenario["error"]:
                    self.assertEqual(stage(observed["error"]), stage(scenario["error"]))
                if not updating:
                    self.assertEqual(entry["ours"], ours)
                if ours:
                    self.assertIn(entry["row"], rows)
        self.assertEqual(set(), set(listed) - {scenario["name"] for scenario in scenarios})
        print(f"20-startup-failures: {len(scenarios)} scenarios, {len(found)} as listed")
        if updating:
            LIST.write_text(json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    unittest.main()
