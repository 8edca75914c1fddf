"""What the checks in this folder share: which files there are, and how a result is reported."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def files(root, *suffixes, under=""):
    """Tracked files and new ones that git does not ignore, relative to root and sorted."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted({pathlib.PurePosixPath(name) for name in listed
                   if name.startswith(under) and name.endswith(suffixes or ("",))
                   and (root / name).is_file()})


def report(check, problems, good):
    """Prints the problems, or one line when there are none; answers with the exit code."""
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(f"{check}: {len(problems)} problem{'s' * (len(problems) > 1)}", file=sys.stderr)
        return 1
    print(f"{check}: {good}")
    return 0
