"""Makes templates with contexts, the same for the same seed, of everything that the template language has.

A template is grown together with the values it will find: a path is taken from the context as it is at that place, so
most templates render. Some are then broken on purpose, by a wrong name here and there or by a change of the text.
"""
import collections
import json
import random

WORDS = ["alpha", "beta", "x", "Grüße", "漢字", "a b", "10", "9", "1.5", "true", "line1\nline2", "one\ntwo\n", "a\n\nb", "", "{{s}}", "<a>&\"'", "\\", "\ttab", "é"]
KEYS = ["a", "b", "c", "name", "port", "my-key", "under_score", "k0", "0", "1", "len", "this", "größe", "$d", "x:y"]
SPACE = ["", "", "", " ", "  ", "\n", "\n\n", "\n  ", "  \n", "\r\n", "\t", " \t\n", "\n    "]
TEXTS = ["text", "a: b", "{", "}", "} }", "\\", "\\\\", "$", "%", "ü", "漢", "- ", "'", "\"", "end", "\u00a0", "[x]", "|"]
NUMBERS = ["0", "1", "2", "-1", "10", "1.5", "0.0", "-0", "1E3", "2.5E-3", "18446744073709551615", "18446744073709551616",
           "-9223372036854775809", "0.1", "1.0", "100000000000000000000", "1E16", "0.00001", "0.000001", "123456789.125"]
ORDERS = ["eq", "ne", "gt", "gte", "lt", "lte"]
HELPERS = ["if", "unless", "each", "with", "lookup", "raw", "log", "and", "or", "not", "len", *ORDERS]
MAX_DEPTH = 4


class Place:
    """What names mean at a place of the template."""

    def __init__(self, context, outer=None, variables=(), names=None):
        self.context = context
        self.outer = outer
        self.variables = variables
        self.names = names or {}


class Maker:
    def __init__(self, seed):
        self.random = random.Random(f"template {seed}")
        self.used = collections.Counter()
        self.partials = []      # those that may be used: name, and what it expects of its context
        self.context = {}

    def case(self):
        """A template, its context, and how often each construct is in it."""
        self.context = {alias: self.value(2) for alias in self.some(["s", "t", "n", "l", "m", "lo", "nl", "num", "e", "my-al", "1a"], 6)}
        self.context |= {"s": "text", "e": "", "l": ["x", "y"], "lo": [{"name": "n1", "port": "80"}, {"name": "n2"}],
                         "n": {"a": "1", "b": {"c": "deep", "l": ["p"]}}}
        text = self.part(Place(self.context), 0)
        if self.chance(0.2):
            text = self.broken(text)
        return text, self.context, self.used

    # --- chance ---

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, choices):
        return self.random.choice(choices)

    def some(self, choices, most):
        return self.random.sample(choices, self.random.randint(0, min(most, len(choices))))

    def use(self, construct):
        self.used[construct] += 1

    # --- contexts ---

    def value(self, depth):
        kind = self.random.random()
        if depth == 0 or kind < 0.5:
            return self.pick(WORDS)
        if kind < 0.75:
            return [self.value(depth - 1) for _ in range(self.random.randint(0, 3))]
        return {key: self.value(depth - 1) for key in self.some(KEYS, 4)}

    def children(self, value):
        if isinstance(value, dict):
            return list(value.items())
        if isinstance(value, list):
            return [(str(i), item) for i, item in enumerate(value)]
        return []

    # --- paths ---

    def path(self, place, wanted=None):
        """A path and the value it leads to; of the wanted kind if there is one."""
        if self.chance(0.04):
            self.use("missing path")
            return self.pick(["nope", "n.nope", "l.9", "../nope", "@root.nope", "@foo", "this.nope", "s.x", "lo.name", "l.foo"]), None
        found = [self.walk(place) for _ in range(6 if wanted else 1)]
        fitting = [pair for pair in found if isinstance(pair[1], wanted)] if wanted else found
        return self.pick(fitting or found)

    def walk(self, place):
        start, prefix = place.context, ""
        kind = self.random.random()
        if kind < 0.1:
            self.use("@root")
            start, prefix = self.context, "@root" + self.pick("./")
        elif kind < 0.25 and place.outer:
            self.use("../")
            start, prefix = place.outer.context, "../"
            if self.chance(0.3) and place.outer.outer:
                start, prefix = place.outer.outer.context, "../../"
        elif kind < 0.35 and place.names:
            self.use("block parameter")
            name = self.pick(sorted(place.names))
            return self.below(name, place.names[name])
        elif kind < 0.4:
            self.use("beyond the outermost block")
            prefix = "../" * 5
        elif kind < 0.5:
            prefix = self.pick(["this.", "./", "this/"])
            self.use(prefix)
        children = self.children(start)
        if not children or (not prefix and self.chance(0.1)):
            self.use("this")
            return ("this" if not prefix.startswith("..") else prefix + "this"), (start if prefix.startswith("..") else place.context)
        key, value = self.pick(children)
        return self.below(prefix + self.segment(key), value)

    def below(self, path, value):
        while self.children(value) and self.chance(0.5):
            key, value = self.pick(self.children(value))
            path += self.pick("../") + self.segment(key)
            self.use("path of several segments")
        return path, value

    def segment(self, key):
        if self.chance(0.15):
            self.use("[segment]")
            return f"[{key}]"
        return key

    # --- parameters ---

    def string(self, text):
        self.use("string literal")
        quoted = json.dumps(text, ensure_ascii=self.chance(0.3))
        if self.chance(0.3) and "\\" not in quoted:
            self.use("single quotes")
            return "'" + quoted[1:-1].replace("'", "\\'") + "'"
        return quoted

    def literal(self, depth=0):
        """A literal and its value."""
        kind = self.random.random()
        if kind < 0.4:
            text = self.pick(WORDS)
            return self.string(text), text
        if kind < 0.65:
            self.use("number literal")
            text = self.pick(NUMBERS)
            return text, json.loads(text)
        if kind < 0.8 or depth > 1:
            self.use("word literal")
            return self.pick([("true", True), ("false", False), ("null", None)])
        items = [self.json_literal(depth + 1) for _ in range(self.random.randint(0, 3))]
        if self.chance(0.5):
            self.use("list literal")
            return "[" + self.pick([",", ", "]).join(text for text, _ in items) + "]", [value for _, value in items]
        self.use("map literal")
        keys = [self.pick(KEYS) for _ in items]
        return ("{" + ", ".join(json.dumps(k, ensure_ascii=False) + ":" + text for k, (text, _) in zip(keys, items)) + "}",
                dict(zip(keys, [value for _, value in items])))

    def json_literal(self, depth):
        text, value = self.literal(depth)
        return (json.dumps(value, ensure_ascii=False), value) if text.startswith("'") else (text, value)

    def call(self, place, depth):
        """A helper with its parameters, without brackets, and about what it gives."""
        helper = self.pick(["lookup", "len", "and", "or", "not", *ORDERS])
        self.use(helper)
        if helper == "lookup":
            path, container = self.path(place, (list, dict))
            if isinstance(container, list) and container:
                index = self.random.randrange(len(container))
                return f"lookup {path} {index}", container[index]
            if isinstance(container, dict) and container:
                key = self.pick(sorted(container))
                return f"lookup {path} {self.string(key)}", container[key]
            return f"lookup {path} {self.parameter(place, depth + 1)[0]}", None
        count = {"len": 1, "not": 1}.get(helper, 2)
        if helper in ("and", "or"):
            count = self.random.randint(0, 3)
        if self.chance(0.03):
            self.use("missing parameter")
            count -= 1
        parameters = [self.parameter(place, depth + 1)[0] for _ in range(max(count, 0))]
        if self.chance(0.05):
            self.use("hash of a helper")
            parameters.append(f"{self.pick(KEYS[:5])}={self.parameter(place, depth + 1)[0]}")
        return " ".join([helper, *parameters]), True

    def parameter(self, place, depth, wanted=None):
        """A parameter and about what its value is."""
        kind = self.random.random()
        if kind < 0.55:
            return self.path(place, wanted)
        if kind < 0.6 and place.variables:
            return self.variable(place), 1
        if kind < 0.8 or depth >= MAX_DEPTH:
            return self.literal()
        text, value = self.call(place, depth)
        if " " not in text:
            text += " " + self.path(place)[0]
        self.use("subexpression")
        space = self.pick(["", "", " "])
        return f"({space}{text}{space})", value

    def variable(self, place):
        name = self.pick(place.variables)
        self.use("@" + name)
        if self.chance(0.2) and place.outer and place.outer.variables:
            self.use("@../variable")
            return "@../" + self.pick(place.outer.variables)
        return "@" + name

    # --- text and tags ---

    def tag(self, content, opening="{{", closing="}}", may_strip_before=True):
        before, after = self.pick(SPACE[:6]), self.pick(SPACE[:6])
        tilde = ["", ""]
        if self.chance(0.12):
            self.use("~ before or after")
            tilde = self.pick([["~", ""], ["", "~"], ["~", "~"]])
        if not may_strip_before and self.chance(0.98):
            tilde[0] = ""
        return f"{opening}{tilde[0]}{content[0]}{before}{content[1:]}{after}{tilde[1]}{closing}" \
            if content[0] in "#*>^/&" else f"{opening}{tilde[0]}{before}{content}{after}{tilde[1]}{closing}"

    def text(self):
        pieces = [self.pick(SPACE), self.pick(TEXTS), self.pick(SPACE)]
        if self.chance(0.1):
            self.use("escape")
            pieces.insert(self.random.randint(0, 3), self.pick(["\\{{x}}", "\\\\{{s}}", "\\{{{x}}}", "\\{{{{x}}}}", "\\\\\\{{@root.s}}"]))
        return "".join(pieces)

    def part(self, place, depth):
        """Some elements. Blocks often stand on lines of their own."""
        makers = [self.text, self.text, lambda: self.expression(place, depth), lambda: self.expression(place, depth)]
        if depth < MAX_DEPTH:
            makers += [lambda: self.block(place, depth), lambda: self.block(place, depth), lambda: self.partial(place, depth),
                       lambda: self.partial(place, depth), lambda: self.inline(place, depth)]
        makers += [self.comment, self.raw_block, lambda: self.logged(place, depth)]
        return "".join(self.pick(makers)() for _ in range(self.random.randint(1, 5 - depth if depth < 3 else 2)))

    def comment(self):
        self.use("comment")
        line = self.pick(["", "\n", "\n  "])
        return line + self.pick(["{{! c }}", "{{!-- c {{s}} --}}", "{{!}}", "{{!-- a\nb --}}", "{{!----}}", "{{!-x}}"]) + self.pick(["", "\n", " "])

    def raw_block(self):
        self.use("raw block")
        tilde = self.pick(["", "", "", "~"])
        body = self.text().replace("{{{{", "{{") + self.pick(["{{x}}", "", "{{#if}}"]) + self.pick(SPACE)
        return self.pick(SPACE) + "{{{{" + tilde + self.pick(["raw", "raw", " raw ", "raw s"]) + "}}}}" + body + "{{{{/raw" + tilde + "}}}}" + self.pick(SPACE)

    def logged(self, place, depth):
        self.use("log")
        level = self.pick(["", "", ' level="warn"', " level='DEBUG'", ' level="nope"' if self.chance(0.2) else "", " level=s" if self.chance(0.1) else ""])
        return "{{log " + " ".join(self.parameter(place, depth)[0] for _ in range(self.random.randint(0, 3))) + level + "}}"

    def expression(self, place, depth):
        kind = self.random.random()
        if kind < 0.1 and place.variables:
            return self.tag(self.variable(place))
        if kind < 0.6:
            self.use("{{path}}")
            content = self.path(place)[0]
        elif kind < 0.9:
            self.use("{{helper}}")
            content = self.call(place, depth)[0]
        elif kind < 0.95:
            self.use("{{(subexpression)}}")
            content = "(" + self.call(place, depth)[0] + ")"
        else:
            self.use("helper of a block without block, or unknown")
            content = self.pick(["if s", "each l", "with n", "unless e", "raw", "foo s", "foo", "each", "len"])
        form = self.random.random()
        if form < 0.75:
            return self.tag(content)
        if form < 0.85:
            self.use("{{{triple}}}")
            return self.tag(content, "{{{", "}}}")
        if form < 0.9:
            self.use("{{~{triple}~}}")
            return "{{~{" + content + "}~}}"
        self.use("{{&path}}")
        return self.tag("&" + self.path(place)[0])

    def on_lines(self):
        return self.pick(["", "", "\n", "\n  ", "  \n", " "])

    # --- blocks ---

    def block(self, place, depth):
        helper = self.pick(["if", "if", "unless", "each", "each", "with", "eq", "and", "not", "lookup", "raw", "len", "foo"] if self.chance(0.5)
                           else ["if", "each", "each", "with"])
        self.use("{{#" + helper + "}}" if helper != "foo" else "unknown block")
        opening, inner, names = self.opening(helper, place, depth)
        text = self.on_lines() + self.tag("#" + opening + names) + self.on_lines() + self.part(inner, depth + 1)
        while self.chance(0.2):
            self.use("{{else helper}}")
            link, link_inner, link_names = self.opening(self.pick(["if", "if", "each", "with", "unless"]), place, depth)
            word = self.pick(["else", "else", "else", "^"])
            text += self.on_lines() + self.tag(f"{word} {link}{link_names}", may_strip_before=False) + self.on_lines() + self.part(link_inner, depth + 1)
        if self.chance(0.4):
            word = self.pick(["else", "else", "^"])
            self.use("{{" + word + "}}")
            text += self.on_lines() + self.tag(word).replace("^ ", "^") + self.on_lines() + self.part(place, depth + 1)
        closing = helper if not self.chance(0.02) else self.pick(["if", "each", ""])
        return text + self.on_lines() + self.tag("/" + closing) + self.on_lines()

    def opening(self, helper, place, depth):
        """What stands in the tag, what names mean inside the block, and the names it gives."""
        names = ""
        if helper in ("if", "unless", "not"):
            option = self.pick(["", "", "", " includeZero=true"])
            return f"{helper} {self.parameter(place, depth)[0]}{option}", place, names
        if helper == "each":
            path, value = self.parameter(place, depth, (list, dict))
            items = self.children(value)
            variables = ["index", "first", "last"] + (["key"] if isinstance(value, dict) else [])
            inner = Place(items[0][1] if items else "", place, variables, dict(place.names))
            if self.chance(0.3):
                self.use("as |value|")
                names = " as |v|"
                inner.names["v"] = inner.context
                if self.chance(0.5):
                    self.use("as |value key|")
                    names = " as |v k|"
                    inner.names["k"] = "0"
            return f"each {path}", inner, names
        if helper == "with":
            path, value = self.parameter(place, depth, (list, dict))
            inner = Place(value, place, (), dict(place.names))
            if self.chance(0.3):
                self.use("with as |value|")
                names = " as |w|"
                inner.names["w"] = value
            return f"with {path}", inner, names
        if helper == "lookup":
            return self.pick(["lookup l 0", "lookup @root.l 1", "lookup n 'a'"]), place, names
        if helper in ("raw", "foo"):
            return helper, place, names
        count = 1 if helper == "len" else 2
        return " ".join([helper, *(self.parameter(place, depth)[0] for _ in range(count))]), place, names

    # --- partials ---

    def inline(self, place, depth):
        """The definition of a partial; it uses only those before it, so that none contains itself."""
        self.use("{{#*inline}}")
        known = len(self.partials)
        name = f"p{self.random.randrange(10**6)}"
        wants = self.pick([{"v": "x"}, {}, {"a": "1", "b": {"c": "d"}}, {"v": "one\ntwo\n", "w": ["x"]}])
        context = dict(wants) if wants else place.context
        body = self.on_lines() + self.part(Place(context), depth + 1) + (self.pick(["{{> @partial-block}}", "\n  {{> @partial-block}}\n"]) if self.chance(0.2) else "")
        del self.partials[known:]
        self.partials.append((name, wants, "@partial-block" in body))
        written = self.string(name) if not self.chance(0.03) else self.pick(["5", "nope", "s", ""])
        text = self.tag(f"#*inline {written}") + body + self.on_lines() + self.tag("/inline")
        if self.chance(0.03):
            self.use("unknown decorator")
            text += self.pick(["{{*foo}}", "{{*inline 'x'}}", "{{#*foo 's'}}x{{/foo}}"])
        return self.on_lines() + text + self.on_lines()

    def partial(self, place, depth):
        if not self.partials or self.chance(0.3):
            return self.indent(place, depth)
        name, wants, needs_block = self.pick(self.partials)
        written = name
        if self.chance(0.1):
            self.use("{{> (subexpression)}}")
            written = f"(lookup [{json.dumps(name)}] 0)"
        parameters = ""
        if wants and self.chance(0.95):
            self.use("partial with hash")
            parameters = "".join(f" {key}={self.constant(value)}" for key, value in wants.items())
            if self.chance(0.3):
                self.use("partial with context and hash")
                parameters = f" {self.parameter(place, depth)[0]}{parameters}"
        elif self.chance(0.3):
            self.use("partial with context")
            parameters = f" {self.parameter(place, depth, dict)[0]}"
        if needs_block or self.chance(0.2):
            self.use("{{#> partial}}")
            if self.chance(0.2):
                self.use("{{#> unknown}}")
                name = written = "unknown"
            closing = name if written == name else ""
            if written != name:
                written = name
                closing = name
            return self.on_lines() + self.tag(f"#>{written}{parameters}") + self.part(place, depth + 1) + self.tag(f"/{closing}") + self.on_lines()
        if self.chance(0.03):
            written = "unknown"
        self.use("{{> partial}}")
        return self.pick(SPACE) + self.tag(f">{written}{parameters}") + self.pick(SPACE)

    def constant(self, value):
        return json.dumps(value)

    def indent(self, place, depth):
        self.use("{{> indent}}")
        content = f" content={self.parameter(place, depth, str)[0]}" if not self.chance(0.03) else ""
        return self.pick(SPACE) + self.tag(f">indent{content}") + self.pick(SPACE)

    # --- errors ---

    def broken(self, text):
        """The text with a small change; often it is no template any more."""
        self.use("changed text")
        for _ in range(self.random.randint(1, 2)):
            at = self.random.randint(0, len(text))
            kind = self.random.random()
            if kind < 0.4:
                text = text[:at] + text[at + self.random.randint(1, 3):]
            elif kind < 0.8:
                text = text[:at] + self.pick(["{", "}", "{{", "}}", "~", "#", "/", "(", ")", "|", " ", "\"", "'", "=", ".", "@", "[", "]", "!", ">", "*", "^", "&",
                                              "else", "as", " as |x|", "-", "\\", "\n", ",", "{{else}}", "{{/if}}", "{{#if s}}", "{{^}}", "é"]) + text[at:]
            else:
                text = text[:at]
        return text


def cases(count, first_seed=1):
    """So many (template, context, constructs)."""
    return [Maker(seed).case() for seed in range(first_seed, first_seed + count)]
