"""Programs that stop at a step of theirs, for as long as a test wants."""

import os
import shlex
import shutil


class Steps:
    """A folder through which test and program speak: `pause` names the step, `reached` the process that waits there."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def pause_at(self, step):
        """Whoever comes there stays there."""
        (self.folder / "reached").unlink(missing_ok=True)
        self.write("pause", step)

    def reached(self):
        """The process that waits at the step."""
        path = self.folder / "reached"
        return int(path.read_text()) if path.exists() else None

    def go_on(self):
        (self.folder / "pause").unlink(missing_ok=True)

    def write(self, name, text):
        fresh = self.folder / f"{name}.fresh"
        fresh.write_text(text)
        fresh.rename(self.folder / name)


SCRIPT = """#!/bin/sh
case $1 in
  kube | volume) command=$1-$2 ;;
  *) command=$1 ;;
esac
step() {{
  [ "$(cat {folder}/pause 2>/dev/null)" = "$command:$1" ] || return 0
  echo $$ >{folder}/reached.$$
  mv {folder}/reached.$$ {folder}/reached
  while [ -e {folder}/pause ]; do sleep 0.05; done
}}
step begin
{program} "$@"
code=$?
step done
exit $code
"""


class InFront(Steps):
    """Stands in front of a real engine in PATH and stops before or after one of its commands: `run:begin`, `kube-play:done`."""

    def __init__(self, folder, program, environment):
        super().__init__(folder)
        path = environment.get("PATH", os.environ["PATH"])
        script = folder / program
        script.write_text(SCRIPT.format(folder=shlex.quote(str(folder)), program=shlex.quote(shutil.which(program, path=path))))
        script.chmod(0o755)
        self.environment = {"PATH": f"{folder}:{path}"}
