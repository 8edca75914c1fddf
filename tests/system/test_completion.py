"""Words of ank are completed in real shells, from the files that get installed, with names from a running server.

    $(tools/setup --python) tools/run-unittests -k "Zsh.*" tests/system
"""

import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

import harness
import terminal
from harness import manifest, workload

BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"
MANIFEST = manifest({"web": workload("agent_A"), "worker": workload("agent_A"), "db": workload("agent_B")},
                    configs={"colours": "red", "sizes": {"small": "1"}})

# bash gives a function the words; which they are is said here.
BASH = r"""
source %(library)s
_completion_loader ank
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_ank ank "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
((${#COMPREPLY[@]})) && printf '%%s\n' "${COMPREPLY[@]}"
exit 0
"""

# zsh knows candidates only while somebody edits a line; whatever is added there is written into a file too.
ZSH = r"""
fpath=(%(share)s/zsh/site-functions $fpath)
autoload -Uz compinit && compinit -u -d %(folder)s/zcompdump
zstyle ':completion:*' verbose no
compadd() {
    local -a hits
    if [[ " $* " != *' -'[OAD]* ]]; then
        builtin compadd -A hits "$@"
        print -rl -- $hits >>%(folder)s/hits
    fi
    builtin compadd "$@"
}
ask() {
    : >%(folder)s/hits
    zle list-choices
    mv %(folder)s/hits %(folder)s/answer
    BUFFER=
}
zle -N ask
bindkey '^I' ask
PS1='ready> '
"""


class Lines:
    """The same lines for each shell; each says how to ask it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        prefix = tempfile.TemporaryDirectory(prefix="tiphys-installed-")
        cls.addClassCleanup(prefix.cleanup)
        subprocess.run(["cmake", "--install", harness.PROGRAMS.parent, "--component", "completions", "--prefix", prefix.name],
                       check=True, stdout=subprocess.DEVNULL)
        cls.share = pathlib.Path(prefix.name, "share")

    def setUp(self):
        super().setUp()
        self.one = self.server("-m", self.file("startup.yaml", MANIFEST))
        self.here = self.folder / "here"
        self.here.mkdir()
        for name in "one.yaml", "two words.yaml", "other.txt":
            (self.here / name).touch()
        (self.here / "sub").mkdir()
        (self.here / "sub/below.yaml").touch()
        self.variables = {"PATH": f"{harness.PROGRAMS}:/usr/local/bin:/usr/bin:/bin", "XDG_DATA_DIRS": f"{self.share}:/usr/share",
                          "HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder), "TERM": "xterm", "LC_ALL": "C.UTF-8"}

    def offered(self, line, *expected, server=True):
        """The line has exactly these candidates; names may take until the server has time."""
        if server:
            line = line.replace("ank", f"ank -k -s {self.one.url}", 1)
        seen = []

        def right():
            seen[:] = self.candidates(line)
            return sorted(seen) == sorted(expected)
        harness.wait_until(right, f"{line!r} offers {expected}", lambda: f"but {seen}")

    def test_commands(self):
        self.offered("ank ge", "get", server=False)
        self.offered("ank get wor", "workload", server=False)
        self.offered("ank get workloads", "workloads", server=False)
        self.offered("ank help des", "describe", server=False)
        self.offered("ank explain workload.re", "workload.restartPolicy", server=False)
        self.offered("ank delete ", "workload", "config", "help", "--help", server=False)

    def test_options_and_their_values(self):
        self.offered("ank --re", "--response-timeout", server=False)
        self.offered("ank get state -", "-o", "-h", server=False)
        self.offered("ank get state -o ", "yaml", "json", server=False)
        self.offered("ank wait workload --for s", "succeeded", server=False)
        self.offered("ank --color=a", *self.after("--color=", "auto", "always"), server=False)

    def test_names(self):
        self.offered("ank get workload w", "web", "worker")
        self.offered("ank delete workload web d", "db")
        self.offered("ank logs -f d", "db")
        self.offered("ank delete config ", "colours", "sizes", "--help")

    def test_agents(self):
        agent = self.agent(self.one, words=["-t", "zone=inside"])
        self.offered("ank describe agent st", agent.agent_name)
        self.offered(f"ank get state agents.{agent.agent_name}.", f"agents.{agent.agent_name}.status", f"agents.{agent.agent_name}.tags")

    def test_masks(self):
        self.offered("ank get state desiredState.workloads.w", "desiredState.workloads.web", "desiredState.workloads.worker")
        self.offered("ank get events agents desiredState.c", "desiredState.configs", "desiredState.configs.colours",
                     "desiredState.configs.sizes")

    def test_files(self):
        self.offered("ank apply o", "one.yaml", "other.txt", server=False)
        self.offered("ank apply one.yaml sub/b", "sub/below.yaml", server=False)
        self.offered("ank apply su", "sub/", server=False)
        self.offered("ank -x ot", "other.txt", server=False)
        self.offered("ank set state desiredState.configs.colours on", "one.yaml")
        self.offered(f"ank apply {self.here}/sub/", f"{self.here}/sub/below.yaml", server=False)

    def test_settings_come_from_the_environment_and_the_config_file_too(self):
        config = self.folder / ".config/ankaios/ank.conf"
        config.parent.mkdir(parents=True)
        config.write_text(f'version = "v1"\nserver_url = "{self.one.url}"\ninsecure = true\n')
        self.offered("ank get workload we", "web", server=False)
        config.unlink()
        self.variables |= {"ANK_SERVER_URL": self.one.url, "ANK_INSECURE": "true"}
        self.offered("ank get workload we", "web", server=False)

    def test_no_server_means_no_names_and_no_noise(self):
        self.one.kill()
        self.offered("ank get workload ", "--agent", "--state", "--watch", "-o", "--no-headers", "--sort-by", "--help")
        self.offered("ank get workload w")

    def after(self, beginning, *values):
        """Candidates for the value that stands after '=' in a word."""
        return [beginning + value for value in values]

    def run_shell(self, words):
        run = subprocess.run([str(word) for word in words], env=self.variables, cwd=self.here, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=harness.SECONDS)
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        return run.stdout.splitlines()

    def check_keys(self, shell, *more):
        """What is typed into a shell, and what it makes of it; each on a line of its own."""
        begin_anew = ""
        for keys, shown in [(f"ank -k -s {self.one.url} get workl\twe\t", "get workload web"),
                            ("ank wait workload --for=ru\t", "--for=running"),
                            ("ank apply tw\t", "ank apply two\\ words.yaml"),
                            ("ank apply ~/here/on\t", "ank apply ~/here/one.yaml"), *more]:
            shell.type(begin_anew + keys)
            shell.wait_for(shown)
            begin_anew = "\x15"


class Bash(Lines, terminal.Case):
    def candidates(self, line):
        words = [word for part in re.split(r"( )", line) if part != " " for word in re.findall(r"[=:]+|[^=:]+", part) or [""]]
        return self.run_shell(["bash", "--norc", "-c", BASH % {"library": BASH_COMPLETION}, "bash", line, *words])

    def after(self, beginning, *values):
        return values       # bash takes the part before '=' for a word of its own

    def keyboard(self):
        shell = self.terminal("bash", "--norc", "--noprofile", "-i", environment=self.variables | {"PS1": "ready> "})
        shell.wait_for("ready>")
        shell.type(f"source {BASH_COMPLETION}; cd {self.here}; PS1='now> '\r")
        shell.wait_for("\nnow>")
        return shell

    def test_at_the_keyboard(self):
        self.check_keys(self.keyboard(), ("ank apply 'tw\t", "ank apply 'two words.yaml'"),
                        ("ank apply su\tbel\t", "ank apply sub/below.yaml"),
                        ("ank get ev xyz" + 4 * "\x1b[D" + "\t", "ank get events xyz"))


class Zsh(Lines, terminal.Case):
    def setUp(self):
        super().setUp()
        self.shell = None

    def candidates(self, line):
        if self.shell is None or self.shell.variables != self.variables:
            self.shell = self.keyboard(ZSH % {"share": self.share, "folder": self.folder})
        answer = self.folder / "answer"
        answer.unlink(missing_ok=True)
        self.shell.type(line + "\t")
        self.shell.wait_until(answer.exists, f"zsh has looked for {line!r}")
        return answer.read_text().split("\n")[:-1]

    def keyboard(self, script):
        settings = self.file("settings.zsh", script)
        shell = self.terminal("zsh", "-f", "-i", columns=200, environment=self.variables)
        shell.variables = dict(self.variables)
        shell.type(f"source {settings}; cd {self.here}; PS1='now> '\r")
        shell.wait_for("\nnow>")
        return shell

    def test_at_the_keyboard(self):
        shell = self.keyboard(f"fpath=({self.share}/zsh/site-functions $fpath); autoload -Uz compinit && compinit -u -d {self.folder}/dump")
        self.check_keys(shell, ("ank apply su\tbel\t", "ank apply sub/below.yaml"), ("ank get state -\t", "-- How to write it"))


class Fish(Lines, terminal.Case):
    def candidates(self, line):
        lines = self.run_shell(["fish", "-c", f"complete -C {shlex.quote(line)}"])
        return [each.split("\t")[0] for each in lines]

    def test_descriptions(self):
        lines = self.run_shell(["fish", "-c", "complete -C 'ank get w'"])
        self.assertEqual(lines, ["workload\tShow workloads"])

    def test_at_the_keyboard(self):
        shell = self.terminal("fish", "--private", columns=200, environment=self.variables)
        shell.type(f"cd {self.here}; and echo now; echo and here\r")
        shell.wait_for("\nand here")
        self.check_keys(shell)


if __name__ == "__main__":
    unittest.main()
