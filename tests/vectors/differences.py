"""Lists of where ours goes otherwise than what was recorded: by name the row that explains it, and what comes instead."""

import json


def read(path):
    """What a JSON file holds; nothing if it is not there."""
    return json.loads(path.read_text()) if path.exists() else {}


def written(found):
    """The text of a list, one line for each thing that differs."""
    entries = []
    for name, entry in sorted(found.items()):
        parts = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry["ours"].items())
        entries.append(f"{json.dumps(name)}: {{\n \"row\": {json.dumps(entry['row'])},\n \"ours\": {{\n{parts}\n }}\n}}")
    return "{\n" + ",\n".join(entries) + "\n}\n"
