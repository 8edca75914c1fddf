"""What of a recorded run has to be the same; README.md says why. The recorded and our text are brought into one form, then
reduced by the mode of the case, and what is left is compared.
"""

import json
import re

import yaml

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = r"(?:\x1b\[[0-9;]*m)*"
PREFIX = re.compile(rf"(?m)^{COLOUR}(error|warn|debug):{COLOUR}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
TITLE = "WORKLOAD NAME"


# --- one form -------------------------------------------------------------------------------------------------------

def ours(text, places):
    """Our output with the placeholders of the recordings; places: what stands for what."""
    for text_of_ours, placeholder in places:
        text = text.replace(text_of_ours, placeholder)
    return common(TIME.sub("<time>", text))


def recorded(text, has_colours):
    """A recorded text as ours is meant to be: colours only where there is a terminal that wants them."""
    return common(text if has_colours else PREFIX.sub(r"\1:", text))


def common(text):
    """Without what is never the same: load, versions, a resolver's reasons, what debug lines say and how many there are."""
    text = re.sub(r'((?:cpuUsage|freeMemory)"?: ?)\d+', r"\g<1>0", text)
    if "FREE MEMORY" in text:
        # The column is as wide as its longest cell, so its padding goes as well.
        text = re.sub(r"(?m)\d{6,}B *(?=\r?$)", "9B", text)
        text = re.sub(r"\b\d{1,3}%( *)", lambda found: "9%".ljust(len(found[0])), text)
        text = re.sub(r"(?m)(?<=FREE MEMORY) +(?=\r?$)", "", text)
    text = re.sub(r"\A(ank|ank-agent) \d\S*\n\Z", r"\1 <version>\n", text)
    text = re.sub(r"\bversion=\d\S*", "version=<version>", text)
    text = re.sub(r"(cannot resolve '[^']*'): [^.]+", r"\1: <reason>", text)
    debug = rf"{COLOUR}debug:{COLOUR}"
    text = re.sub(rf"(?m)^({debug}) [^\r\n]*", r"\1 {{text}}", text)
    return re.sub(rf"(?m)(^{debug} \{{\{{text\}}\}}\r?\n)\1+", r"\1", text)


# --- the modes ------------------------------------------------------------------------------------------------------

def tables_of(text):
    """What stands before the first table, and the tables with their escape sequences."""
    text = text.replace("\r\n", "\n")
    before, title, rest = text.partition(TITLE)
    if not title:
        return text, []
    pieces = re.split(rf"(?m)^(?:{ESCAPE.pattern})*(?={TITLE})", title + rest)
    return before, [piece for piece in pieces if piece.strip()]


def plain(text):
    """Without escape sequences, and whatever the spinner shows."""
    return re.sub(r" [|/\\-] (?=[A-Z])", " ? ", ESCAPE.sub("", text))


def last_table(text):
    before, tables = tables_of(text)
    return [plain(before), plain(tables[-1]) if tables else None]


def last_table_in_any_order(text):
    before, table = last_table(text)
    return [before, sorted(table.split("\n")) if table else None]


def last_whole_table(text):
    """Of a wait that was broken off: whatever retry it was at."""
    before, tables = tables_of(text)
    height = max((table.count("\n") for table in tables), default=0)
    whole = [table for table in tables if table.count("\n") == height]
    if not whole:
        return [plain(before), None]
    return [plain(before), re.sub(r"Retry \d+(?: of \d+)?", "Retry N", plain(whole[-1])).rstrip("\n")]


def different_tables(text):
    """Each table that is not the one before."""
    before, tables = tables_of(text)
    return [plain(before), [table for at, table in enumerate(tables) if at == 0 or table != tables[at - 1]]]


MODES = {
    "exact": lambda text: text,
    "exit": lambda text: None,
    "yaml": yaml.safe_load,
    "yamldocs": lambda text: list(yaml.safe_load_all(text)),
    "json": json.loads,
    "jsonl": lambda text: [json.loads(line) for line in text.splitlines()],
    "sorted-lines": lambda text: sorted(text.split("\n")),
    "first-line": lambda text: text.split("\n")[0],
    "last-line": lambda text: text.rstrip("\n").split("\n")[-1],
    "lines-2": lambda text: text.split("\n")[:2],
    "panic": bool,
    "cycle": lambda text: re.sub(r"cy[12]", "cyN", text),
    "wait": last_table,
    "wait-sorted": last_table_in_any_order,
    "wait-cut": last_whole_table,
    "frames": different_tables,
}


def reduced(mode, text):
    """A text that is not what the mode reads stays as it is."""
    try:
        return MODES[mode](text)
    except (ValueError, yaml.YAMLError):
        return text


# --- one case -------------------------------------------------------------------------------------------------------

def streams_of(case):
    """Where colours may be, and in which mode to compare."""
    wants_colours = not case["env"].get("NO_COLOR") and case["env"].get("TERM") != "dumb"
    return {"stdout": (bool(case["tty"]) and wants_colours, case["compare"]), "stderr": (False, case["compare_stderr"])}


def expected(case):
    """What the recording says, in one form and reduced."""
    return {"exit": case["exit"]} | {stream: reduced(mode, recorded(case[stream], has_colours))
                                     for stream, (has_colours, mode) in streams_of(case).items()}


def observed(case, exit_code, texts, places):
    """The same of ours; where the words are ours by a rule, what was recorded stands for them."""
    found = {"exit": exit_code}
    wanted = expected(case)
    for stream, (_, mode) in streams_of(case).items():
        text = ours(texts[stream], places)
        if case["env"].get("COMPLETE") == "fish":
            text = re.sub(r"(?m)\t.*$", "", text)       # the recordings leave the descriptions out
        found[stream] = wanted[stream] if rule_for(case, stream, text) else reduced(mode, text)
    return found


def rule_for(case, stream, text):
    """The name of the rule by which a text counts as the recorded one."""
    if case[stream] in ("{{help}}", "{{script}}"):
        return "our-help" if text else None
    begins = r"\A(?:\x1b\[[0-9;]*m)*error:"
    if case["exit"] == 2 and re.match(begins, case[stream]):
        return "usage-errors" if re.match(begins, text) else None
    return None


def differing(wanted, found):
    return {key: found[key] for key in found if found[key] != wanted[key]}
