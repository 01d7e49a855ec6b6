"""Short templates for make_templates.py, one or more for each construct, filter, test and method."""

VARIABLES = {
    "n": 7,
    "x": 2.5,
    "yes": True,
    "nothing": None,
    "text": "  Hello, Wörld! It's a \"test\"\n second line\t",
    "word": "Straße",
    "items": [3, 1, 2],
    "names": ["beta", "Alpha", "gamma", "alpha"],
    "table": {"b": 1, "a": [1, "two", None, 2.0, True], "C": {"k": "v"}, "items": 5},
    "people": [
        {"name": "Ann", "age": 31, "city": "Rome"},
        {"name": "bob", "age": 25, "city": "Oslo"},
        {"name": "Cid", "age": 31, "city": "rome", "tags": ["x", "y"]},
    ],
    "unicode": "naïve 日本 🙂 \u00a0 end",
    "empty": [],
}

EXPRESSIONS = """\
n + 1¦n - 10¦n * 2¦n / 2¦n // 2¦n % 4¦-n // 2¦-n % 4¦2 ** 10¦2 ** -1¦x + n¦x // 1¦-x % 2¦1 / 0¦n % 0¦7.0 // 2¦1e20¦1e16¦123456789.123¦0.1 + 0.2
1e-5¦1.0¦100000.0 * 10¦-0.0¦1_000 + 0x1F + 0b11 + 0o17¦1.5e3¦n == 7.0¦yes == 1¦n < x¦x >= 2.5¦1 < n < 10¦1 < n > 8¦n != 7¦"a" < "b"¦"a" < 1
[1, 2] < [1, 3]¦not n¦n and x¦nothing or "x"¦nothing and x¦n if yes else x¦n if nothing¦"a" ~ n ~ nothing ~ yes ~ x¦"a" + "b"¦"a" + 1¦"a" * 3¦[1] + [2]¦[0] * 3
(1, 2) + (3,)¦3 * "ab"¦"é" in unicode¦"日" in unicode¦3 in items¦4 not in items¦"b" in table¦"z" in table¦1 in "abc"¦missing¦missing == missing¦missing is defined
missing.attribute¦missing ~ "x"¦missing + 1¦table.b¦table["a"]¦table.missing¦table.missing.more¦table["items"]¦table.C.k¦table.a[1]¦table.a[-1]¦table.a[9]¦items[n]
items.0¦word[0]¦word[-2]¦word[1:4]¦word[::-1]¦word[::2]¦word[-3:]¦unicode[6:8]¦items[1:]¦items[:-1]¦items[::-1]¦items[5:]¦items[-2:10]¦items[3:0:-1]¦items[::0]
[1, 2, 3,]¦(1, 2, 3)¦(1,)¦()¦{}¦{"a": 1, "b": [1, {"c": none}]}¦{1: 2, "x": 'y'}¦[true, false, none, 1.5]¦{"k": "it's"}¦["a\\nb", 'tab\\t', "\\u00e9\\x41\\101"]
"quote ' and \\" both"¦'it''s'¦"a" "b"¦nothing¦yes¦[nothing]¦unicode¦[unicode]¦["\\u200b\\x00\\x7f"]
text.strip()¦text.lstrip()¦text.rstrip()¦"xxaxx".strip("x")¦"abcab".strip("ab")¦text.split()¦"a,b,,c".split(",")¦"a,b,c".split(",", 1)¦"a,b,c".rsplit(",", 1)
" a b  c ".split(None, 1)¦" a b  c ".rsplit(None, 1)¦"a b".split("")¦text.splitlines()¦"a\\nb\\r\\nc\\n".splitlines(true)¦word.upper()¦word.lower()¦word.title()¦"hello wORLD it's".title()
"hello WORLD".capitalize()¦"Ab C".swapcase()¦word.startswith("St")¦word.endswith(("x", "ße"))¦word.find("a")¦word.find("z")¦word.index("z")¦"banana".rfind("an")
"banana".count("an")¦"banana".count("")¦"banana".find("an", 2)¦"banana".startswith("na", 2)¦"banana".replace("an", "AN")¦"banana".replace("an", "x", 1)¦"abc".replace("", "-")
", ".join(names)¦"-".join("abc")¦",".join(items)¦"7".zfill(3)¦"-7".zfill(4)¦"ab".center(5, "*")¦"ab".center(6)¦"abc".center(6, "-")¦"abc".center(7, "-")¦"ab".ljust(4) ~ "/"¦"ab".rjust(4)
"12".isdigit()¦"1a".isdigit()¦"ab".isalpha()¦"äb1".isalnum()¦" ".isspace()¦"".isspace()¦"AB".isupper()¦"ab".islower()¦"Ab Cd".istitle()¦"½".isnumeric()¦"٣".isdecimal()
"a=b=c".partition("=")¦"a=b=c".rpartition("=")¦"abc".partition("x")¦"prefix-x".removeprefix("prefix-")¦"x.txt".removesuffix(".txt")¦"a\\tb".expandtabs(4)¦"ΑΣ ΣΑΣ".lower()
"{} and {}".format(1, "b")¦"{1} {0} {name}".format("a", "b", name="c")¦"{:>5}/{:<5}/{:^5}/{:05d}/{:.2f}/{:,}".format("a", "b", "c", 42, 3.14159, 1234567)¦"{0.b}".format(table)
"{!r}".format("a")¦"{:x} {:#x} {:b} {:e} {:%} {:g}".format(255, 255, 5, 12345.678, 0.25, 1e10)¦"{".format()¦"{}".format()¦"%s and %d" % ("a", 3.7)¦"%5.1f/%-5s/%05d/%x/%%" % (2.25, "a", 42, 255)
"%(a)s-%(b)03d" % {"a": "x", "b": 5}¦"%s" % n¦"%s %s" % (1,)¦"%d" % "x"¦"%r" % "x"¦"%s/%s" | format("a", "b")
table.keys() | list¦table.values() | list¦table.items() | list¦table.get("b")¦table.get("zz")¦table.get("zz", 5)¦table.keys()¦table.items()¦{"a": 1}.items()¦{"a": 1}.values()
items.append(4)¦table.update({})¦items.index(1)¦items.count(1)¦items.index(99)¦table.pop("b")¦table.copy() == table¦items.copy()¦n.real_attribute¦word.__class__¦table.__class__
n | abs¦-n | abs¦(-n) | abs¦x | abs¦"a" | abs¦word | capitalize¦word | upper¦"ABC" | lower¦"hello world-foo (bar" | title¦text | trim¦"xax" | trim("x")¦"ab" | center(6) ~ "/"
items | length¦word | length¦table | count¦missing | length¦n | length¦missing | default("d")¦"" | default("d")¦"" | default("d", true)¦nothing | d("x", boolean=true)¦nothing | default("x")
items | first¦items | last¦empty | first¦word | first¦word | last¦items | sort¦items | sort(reverse=true)¦names | sort¦names | sort(case_sensitive=true)¦people | sort(attribute="age") | map(attribute="name") | join(",")
people | sort(attribute="age,name", reverse=true) | map(attribute="name") | list¦items | reverse | list¦word | reverse¦items | sum¦people | sum(attribute="age")¦empty | sum(start=3)¦items | min¦items | max
names | min¦names | max¦people | max(attribute="age")¦empty | min¦items | join¦items | join("-")¦people | join(", ", attribute="name")¦names | join(n)¦items | list¦word | list¦table | list
names | map("upper") | list¦people | map(attribute="tags.0", default="-") | list¦people | map(attribute="tags") | list¦names | map("replace", "a", "o") | list¦items | map("string") | join
items | select("odd") | list¦items | reject("odd") | list¦items | select("gt", 1) | list¦[0, 1, "", "a"] | select | list¦people | selectattr("tags") | map(attribute="name") | list
people | selectattr("tags", "defined") | list | length¦people | rejectattr("age", "equalto", 31) | map(attribute="name") | join¦people | selectattr("city", "in", ["Rome", "Oslo"]) | list | length
names | unique | list¦names | unique(case_sensitive=true) | list¦people | unique(attribute="city") | map(attribute="city") | list¦people | groupby("city") | length¦table | dictsort | map("first") | list
table | dictsort(case_sensitive=true) | map("first") | list¦{"a": 2, "b": 1} | dictsort(by="value")¦{"a": 2, "b": 1} | dictsort(reverse=true)¦table | items | list¦missing | items | list
[1, 2, 3, 4, 5] | batch(2) | list¦[1, 2, 3] | batch(2, 0) | list¦[1, 2, 3, 4, 5] | slice(2) | list¦[1, 2, 3] | slice(2, 0) | list¦"12" | int¦"12.7" | int¦"x" | int¦"x" | int(5)¦"0x1f" | int(0, 16)
x | int¦nothing | int¦yes | int¦" 7 " | int¦"1_000" | int¦"2.5" | float¦"x" | float¦"x" | float(1.5)¦n | float¦"1e3" | float¦x | round¦2.567 | round(2)¦3.5 | round¦2.5 | round¦2.15 | round(1)
2.1 | round(0, "ceil")¦2.9 | round(method="floor")¦n | round¦1234 | round(-2)¦n | string¦table.a | string¦"<a href='x'>&\\"" | e¦"<b>" | escape¦"<b>" | safe¦"a b" | urlencode¦"ä/b?c" | urlencode
{"a b": 1, "c": "ü&"} | urlencode¦"a b  c_d e-f" | wordcount¦"a\\nb\\n\\nc" | indent¦"a\\nb\\n\\nc" | indent(2, true)¦"a\\nb\\n\\nc" | indent(2, blank=true)¦"a\\nb" | indent("> ")¦"foo bar baz qux" | truncate(9)
"foo bar baz qux" | truncate(9, true)¦"foo bar baz qux" | truncate(11)¦"foo bar baz qux" | truncate(11, false, "...", 0)¦"foo" | truncate(3)¦table | attr("get") is callable¦table | attr("b") is defined
table | tojson¦people | tojson(indent=2)¦empty | tojson(indent=2)¦{"a": {}, "b": []} | tojson(indent=4)¦unicode | tojson¦unicode | tojson(ensure_ascii=true)¦"<&>'\\"\\\\\\n\\t\\x01\\x7f" | tojson
table | tojson(separators=(",", ":"))¦{"b": 1, "a": 2} | tojson(sort_keys=true)¦1.0 | tojson¦1e100 | tojson¦nothing | tojson¦(1, 2) | tojson¦{1: 2, none: 3, true: 4} | tojson¦missing | tojson
[1, [2, {"a": [3]}]] | tojson(indent="\\t")¦range(3) | list | tojson¦"a/b" | tojson¦items | map("string") | tojson
n is odd¦n is even¦n is divisibleby 7¦n is divisibleby(2)¦n is number¦x is number¦yes is number¦n is integer¦yes is integer¦x is float¦yes is boolean¦yes is true¦n is true¦nothing is none¦nothing is not none
missing is undefined¦word is string¦table is mapping¦items is sequence¦word is sequence¦n is sequence¦table is iterable¦n is iterable¦missing is iterable¦"abc" is lower¦"ABC" is upper¦n is eq 7¦n is ne(7)
n is gt 5¦n is lessthan 5¦n is ge 7¦3 is in items¦"Str" is in word¦nothing is sameas none¦n is sameas 7¦range is callable¦"upper" is filter¦"nope" is filter¦"odd" is test¦n is nope¦n | nope
n is not odd¦not n is odd¦n is odd and x is float¦items is defined or n¦word is string == true
range(5) | list¦range(2, 8, 3) | list¦range(5, 0, -2) | list¦range(0) | list¦range(200000)¦dict(a=1, b=2)¦dict([("a", 1)], c=3)¦dict(table, b=9).b¦dict() | length
raise_exception("no")¦strftime_now("%Y-%m-%d")¦strftime_now("%d %B %Y, %H:%M")¦strftime_now("%A %b %j %y %%")¦cycler("a", "b").next()¦namespace(a=1).a¦namespace(a=1).b¦namespace({"q": 2}).q¦namespace(_x=1)
[1, 2, 3] | map("nope") | list¦items | selectattr | list¦"a" | replace("a")¦"<b>" | safe + "<i>"¦"<" + ("a" | safe) + ">" + ("<" | e)¦("<b>" | safe) ~ "<"¦"<" | e | e¦"<" | e | safe¦nothing | map("upper") | list¦nothing | select | list¦0 | selectattr("a") | list¦nothing | list¦n.x.y¦"abc"["upper"]()¦table["get"]("b")¦(n)¦((n + 1) * 2)¦[[1, 2], [3]][0][1]¦{"a": {"b": 3}}.a.b¦"a".upper().lower()
"x" if n > 5 else "y" if n > 3 else "z"¦(1 if n > 5) is defined¦-n ** 2¦2 ** 3 ** 2¦- - n¦+n¦-"a"¦not not n¦n in [7] and not yes¦1 + 2 ~ 3 + 4¦"a" ~ 1 + 2¦2 * 3 ~ 4¦n¦float¦string"""

TEMPLATES = ["{{ " + part + " }}" for part in EXPRESSIONS.replace("\n", "¦").split("¦")]

TEMPLATES += [
    "plain text",
    "",
    "\n",
    "a\n\n",
    "a\r\nb\rc\n",
    "{{ n }}\n",
    "{% if yes %}\nx\n{% endif %}\n",
    "  {% if yes %}\n  x\n  {% endif %}\n  y",
    "  {%+ if yes %}\n  x\n  {%+ endif %}\n  y",
    "a  {%- if yes -%}  b  {%- endif -%}  c",
    "a\n\n{{- n -}}\n\nb",
    "a {{ n }} b\n{{ n }}\n\nc",
    "  {{ n }}  \n",
    "  {# comment #}\n  x {# y #} z",
    "a {#- c -#} b",
    "a {# multi\nline #}\nb",
    "x{% raw %} {{ a }} {% if %} {% endraw %}y",
    "x {%- raw -%} a {%- endraw -%} y",
    "  {% raw %}\n a\n  {% endraw %}\n b",
    "{% if n > 10 %}a{% elif n > 5 %}b{% else %}c{% endif %}",
    "{% if missing %}a{% else %}b{% endif %}",
    "{% if n, %}t{% endif %}",
    "{% for i in items %}{{ i }}{% endfor %}",
    "{% for i in items %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}",
    "{% for i in items %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}",
    "{% for i in items %}{{ loop.cycle('a', 'b') }}{{ loop.changed(i > 1) }}{{ loop.depth }}{% endfor %}",
    "{% for i in items if i > 1 %}{{ i }}{{ loop.index }}{{ loop.last }}{{ loop.length }}{% else %}none{% endfor %}",
    "{% for i in items if i > 5 %}{{ i }}{% else %}none{% endfor %}",
    "{% for i in empty %}x{% else %}empty{% endfor %}",
    "{% for i in missing %}x{% else %}missing{% endfor %}",
    "{% for i in n %}x{% endfor %}",
    "{% for c in word %}{{ c }}.{% endfor %}",
    "{% for k in table %}{{ k }}{% endfor %}",
    "{% for k, v in table.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in table | items %}{{ k }}={{ v }};{% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3)), (4, [5, 6])] %}{{ a }}{{ b }}{{ c }};{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{{ a }}{% endfor %}",
    "{% for i in [1, 2] %}{% for j in [3, 4] %}{{ loop.index }}{{ i }}{{ j }} {% endfor %}{{ loop.index }};{% endfor %}",
    "{% for i in items %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in items %}{% if i == 1 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in items %}{% continue %}{% else %}none finished{% endfor %}",
    "{% break %}",
    "{% for i in range(3) %}{% set n = i %}{{ n }}{% endfor %}{{ n }}",
    "{% set n = 1 %}{% for i in range(3) %}{{ n }}{% set n = n + 1 %}{{ n }}{% endfor %}{{ n }}",
    "{% set ns = namespace(found=false, list=[]) %}{% for i in items %}{% if i == 1 %}{% set ns.found = true %}{% endif %}{% set ns.list = ns.list + [i] %}{% endfor %}{{ ns.found }}{{ ns.list }}",
    "{% set ns = namespace() %}{% set ns.a = 1 %}{% set ns.b, c = 2, 3 %}{{ ns.a }}{{ ns.b }}{{ c }}",
    "{% set x.y = 1 %}",
    "{% set ns = namespace() %}{% set ns._a = 1 %}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set a, b = b, a %}{{ a }}{{ b }}",
    "{% set a = 1, 2 %}{{ a }}",
    "{% set a, b = 1 %}",
    "{% set t %}a{{ n }}b{% set inner = 1 %}{% endset %}{{ t }}{{ inner is defined }}",
    "{% set t | upper | replace('A', 'x') %}a{{ n }}b{% endset %}{{ t }}",
    "{% if yes %}{% set z = 5 %}{% endif %}{{ z }}",
    "{% with a = 1, b = n %}{{ a }}{{ b }}{% set c = 3 %}{% endwith %}{{ a is defined }}{{ c is defined }}",
    "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q is defined }}",
    "{% filter upper %}ab{{ word }}{% endfilter %}",
    "{% filter trim | indent(2) %}  a\nb  {% endfilter %}",
    "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=5, a=4) }} {{ m() }}",
    "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m('x') }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(c=2) }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, k=3) }}",
    "{% macro m(a) %}{{ a }}{{ varargs | join('+') }}{% endmacro %}{{ m(1, 2, 3) }}",
    "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}body{{ n }}{% endcall %}",
    "{% macro m(xs) %}{% for x in xs %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}{% call(x, i) m(items) %}{{ i }}:{{ x }} {% endcall %}",
    "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}",
    "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}",
    "{% macro f(k) %}{{ k }}{% if k > 0 %}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
    "{% macro m() %}{{ n }}{{ later }}{% endmacro %}{% set later = 'L' %}{{ m() }}",
    "{% for i in [1, 2] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% macro m() %}{{ i is defined }}{% endmacro %}{% for i in [1] %}{{ m() }}{% endfor %}",
    "{% macro m(x) %}{% set x = x ~ '!' %}{{ x }}{% endmacro %}{{ m('a') }}{{ x }}",
    "{% macro m() %}  text  {% endmacro %}[{{ m() | trim }}][{{ m()[2:4] }}][{{ m() | length }}]",
    "{{ m() }}{% macro m() %}x{% endmacro %}",
    "{% macro m(*a) %}{% endmacro %}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}{{ m(**{'a': 2}) }}",
    "{% macro m(a) %}{% endmacro %}{{ m.name }}{{ m.arguments }}",
    "{% for t in [[1, [2, [3]]], 4] recursive %}{% if t is iterable %}({{ loop(t) }}){% else %}{{ t }}{{ loop.depth }}{% endif %}{% endfor %}",
    "{% for t in [1] %}{{ loop([2]) }}{% endfor %}",
    "{% generation %}a{{ n }}{% set g = 1 %}{% endgeneration %}{{ g is defined }}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}",
    "{% set j = joiner(', ') %}{% for i in items %}{{ j() }}{{ i }}{% endfor %}",
    "{% print n %}{% print n, x %}",
    "{% set q = people | selectattr('tags') %}{% if q %}t{% endif %}{% for i in q %}{{ i.name }}{% endfor %}{% for i in q %}{{ i.name }}{% endfor %}",
    "{% set q = empty | select %}{% if q %}an iterator is true{% endif %}",
    "{% for g in people | groupby('city') %}{{ g.grouper }}:{{ g.list | map(attribute='name') | join('+') }};{% endfor %}",
    "{% for city, group in people | groupby('age') %}{{ city }}={{ group | length }};{% endfor %}",
    "{{ n }}{{ x }}{{ '}}' }}{{ '{%' }}",
    "{{ {'a': {'b': 1}} }}",
    "{{ {'a': {'b': 1}}['a'] }}",
    "{{ [1, 2",
    "{{ n",
    "{% if n %}",
    "{% endif %}",
    "{% if n %}{% endfor %}",
    "{% unknown %}",
    "{% do n %}",
    "{{ n n }}",
    "{{ }}",
    "{% set = 1 %}",
    "{% set true = 1 %}",
    "{% for i items %}{% endfor %}",
    "{% for i in items %}{% else %}{% else %}{% endfor %}",
    "{# no end",
    "{% raw %} no end",
    "{{ 'no end }}",
    "{{ ) }}",
    "{{ n ! }}",
    "{{ n if }}",
    "{{ f(a=1, 2) }}",
    "{% include 'x' %}",
    "{% import 'x' as y %}",
    "{% macro m(a=1, b) %}{% endmacro %}",
    "{% call n %}{% endcall %}",
    "{{ n is }}",
    "{{ n | }}",
    "{{ n. }}",
    "{%- for i in items -%}\n  {{ i }}\n{%- endfor -%}\n tail",
    "{% for i in items %}\n{{ i }}\n{% endfor %}\n",
    "\n\n{%- if yes %}\n  a\n{%- endif %}\n\n",
    "line {% if yes %}inline{% endif %} end\n  {% if yes %}own{% endif %}\n",
    "\t{% if yes %}\n\ttabbed\n\t{% endif %}\nz",
    "{% if yes -%}\n\n  a\n\n{%- endif %}\nb",
    "{% set a = [] %}{% for i in items %}{% set a = a + [i] %}{% endfor %}{{ a }}",
    "{% set s = '' %}{% set s = s ~ 'x' %}{{ s }}",
    "{% for i in items %}{{ i }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{{ items|map('string')|join(', ') }}{{ (items)|length }}",
    "{{ people|map(attribute='name')|list|tojson }}",
    "{{ 'a' if items is defined and items|length > 2 else 'b' }}",
    "{{ messages|length if messages is defined else 'none' }}",
    "{{ text|trim|upper }}{{ (text|trim).upper() }}{{ text.strip().split('\\n')[0] }}",
    "{{ table.a is sequence and table.a is not string and table.a is not mapping }}",
    "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}{{ v }}{{ loop.last }}{% endfor %}",
    "{% for k in table.keys() %}{{ k }},{% endfor %}{% for v in {'a': 1}.values() %}{{ v }}{% endfor %}",
    "{% set d = dict(a=1) %}{% set d = dict(d, **{'b': 2}) %}{{ d }}",
    "{{ '%s=%s' % ('a', [1]) }}{{ '%s' % {'a': 1} }}",
    "{{ 'a\\\nb' }}",
    "{{ \"\\ud83d\" }}",
    "{{ '\\d\\q' }}",
    "{% if n == 7 and not missing and 'a' in 'abc' or false %}ok{% endif %}",
    "{% set ns = namespace(x=1) %}{% macro m() %}{% set ns.x = ns.x + 1 %}{% endmacro %}{{ m() }}{{ m() }}{{ ns.x }}",
    "{% for i in [1,2,3] %}{% set found = i %}{% endfor %}{{ found is defined }}",
    "{% if true %}{% for i in [1] %}{% set a %}x{{ i }}{% endset %}{{ a }}{% endfor %}{% endif %}",
]
