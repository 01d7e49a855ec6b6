#!/usr/bin/env node
// Writes src/llm/tokenizer/unicode_data.inc: the properties of Unicode 16 that tokenizers' regular
// expressions use, and those of older versions that fixed steps of the tokenizers package use.
//
// The data come from npm's @unicode/unicode-VERSION packages (MIT), made from the Unicode Character
// Database. Needs npm and a network. Usage: scripts/make_unicode_tables.mjs

import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const TARGET = path.join(ROOT, 'src/llm/tokenizer/unicode_data.inc');
const PACKAGES = {8: '2.0.7', 9: '2.0.7', 14: '2.0.7', 16: '2.0.7'};

const GENERAL = {
  Lu: 'Uppercase_Letter', Ll: 'Lowercase_Letter', Lt: 'Titlecase_Letter', Lm: 'Modifier_Letter',
  Lo: 'Other_Letter', Mn: 'Nonspacing_Mark', Mc: 'Spacing_Mark', Me: 'Enclosing_Mark',
  Nd: 'Decimal_Number', Nl: 'Letter_Number', No: 'Other_Number', Pc: 'Connector_Punctuation',
  Pd: 'Dash_Punctuation', Ps: 'Open_Punctuation', Pe: 'Close_Punctuation', Pi: 'Initial_Punctuation',
  Pf: 'Final_Punctuation', Po: 'Other_Punctuation', Sm: 'Math_Symbol', Sc: 'Currency_Symbol',
  Sk: 'Modifier_Symbol', So: 'Other_Symbol', Zs: 'Space_Separator', Zl: 'Line_Separator',
  Zp: 'Paragraph_Separator', Cc: 'Control', Cf: 'Format', Co: 'Private_Use', Cs: 'Surrogate',
};
const BINARY = [
  'Alphabetic', 'Case_Ignorable', 'Cased', 'Dash', 'Diacritic', 'Emoji', 'Emoji_Component',
  'Emoji_Modifier', 'Emoji_Modifier_Base', 'Emoji_Presentation', 'Extended_Pictographic', 'Extender',
  'Hex_Digit', 'Ideographic', 'Lowercase', 'Math', 'Quotation_Mark',
  'Radical', 'Regional_Indicator', 'Unified_Ideograph', 'Uppercase', 'Variation_Selector',
  'White_Space',
];

const work = fs.mkdtempSync(path.join(os.tmpdir(), 'unicode-'));
const root = {};
for (const [version, release] of Object.entries(PACKAGES)) {
  const name = `@unicode/unicode-${version}.0.0@${release}`;
  const file = execFileSync('npm', ['pack', '--silent', name], {cwd: work, encoding: 'utf8'}).trim();
  root[version] = path.join(work, version);
  fs.mkdirSync(root[version]);
  execFileSync('tar', ['xzf', path.join(work, file), '-C', root[version], '--strip-components=1']);
}

async function module_of(version, name) {
  const file = path.join(root[version], name);
  return fs.existsSync(file) ? (await import(pathToFileURL(file))).default : undefined;
}

// Sorted [begin, end) pairs; empty if that version does not have the property.
async function ranges(version, name) {
  return ((await module_of(version, `${name}/ranges.mjs`)) ?? []).map(({begin, end}) => [begin, end]);
}

function union(...lists) {
  const out = [];
  for (const [begin, end] of lists.flat().sort((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last && begin <= last[1]) last[1] = Math.max(last[1], end);
    else out.push([begin, end]);
  }
  return out;
}

function minus(from, what) {
  const out = [];
  for (let [begin, end] of from) {
    for (const [low, high] of what) {
      if (high <= begin || low >= end) continue;
      if (low > begin) out.push([begin, low]);
      begin = high;
    }
    if (begin < end) out.push([begin, end]);
  }
  return out;
}

const data = [];
function store(list) {
  const offset = data.length;
  let at = 0;
  for (const [begin, end] of list) {
    data.push(begin - at, end - begin);
    at = end;
  }
  return `${offset}, ${list.length}`;
}

const entries = [];
// Unicode 16's ranges, and their additions since Unicode 14. If `grows` is set, regular expression
// libraries of Unicode 14 and later have no member that Unicode 16 lacks.
async function add(kind, key, name) {
  const now = await ranges(16, name), old = await ranges(14, name);
  const grows = minus(old, now).length === 0;
  entries.push(`{Kind::${kind}, "${key}", ${store(now)}, ${store(grows ? minus(now, old) : [])}, ${grows && old.length > 0}}`);
}
async function add_fixed(key, list) {
  entries.push(`{Kind::kFixed, "${key}", ${store(list)}, 0, 0, false}`);
}

for (const [key, name] of Object.entries(GENERAL)) await add('kGeneral', key, `General_Category/${name}`);
for (const name of BINARY) await add('kBinary', name, `Binary_Property/${name}`);
for (const name of fs.readdirSync(path.join(root[16], 'Script')).sort()) {
  if (fs.existsSync(path.join(root[16], 'Script', name, 'ranges.mjs')) && name !== 'Unknown') {
    await add('kScript', name, `Script/${name}`);
  }
}
await add_fixed('punctuation_8', await ranges(8, 'General_Category/Punctuation'));
await add_fixed('nonspacing_mark_8', await ranges(8, 'General_Category/Nonspacing_Mark'));
await add_fixed('control_8', union(await ranges(8, 'General_Category/Control'),
                                   await ranges(8, 'General_Category/Format'),
                                   await ranges(8, 'General_Category/Private_Use')));
await add_fixed('mark_9', await ranges(9, 'General_Category/Mark'));
await add_fixed('assigned_since_9', minus(await ranges(9, 'General_Category/Unassigned'),
                                          await ranges(16, 'General_Category/Unassigned')));

// Ranges whose script in Unicode 9 differs from today's.
const script9 = [];
for (const name of fs.readdirSync(path.join(root[9], 'Script')).sort()) {
  if (name === 'Unknown' || !fs.existsSync(path.join(root[9], 'Script', name, 'ranges.mjs'))) continue;
  for (const [begin, end] of minus(await ranges(9, `Script/${name}`), await ranges(16, `Script/${name}`))) {
    for (let point = begin; point < end; ++point) script9.push([point, name]);
  }
}

const lower = await module_of(16, 'Simple_Case_Mapping/Lowercase/code-points.mjs');
const older = await module_of(14, 'Simple_Case_Mapping/Lowercase/code-points.mjs');
const cases = [...lower].filter(([from]) => !older.has(from)).sort((a, b) => a[0] - b[0]);

function lines(items) {
  const out = [];
  let line = ' ';
  for (const item of items) {
    if (line.length + item.length + 2 > 98) {
      out.push(line);
      line = ' ';
    }
    line += ` ${item},`;
  }
  return [...out, line].join('\n');
}

const text = `// Made by scripts/make_unicode_tables.mjs of npm's @unicode/unicode-{8,9,14,16}.0.0 (THIRD_PARTY.md); not edited.
// Ranges are pairs: the gap since the last range, the length.
constexpr uint32_t kRangeData[] = {
${lines(data.map(String))}
};

// Kind, name, offset and number of ranges, the same of what is new since Unicode 14, whether nothing has gone since.
constexpr Entry kEntries[] = {
${entries.map((entry) => `    ${entry},`).join('\n')}
};

// Characters that another script had in Unicode 9.
constexpr std::pair<char32_t, std::string_view> kScriptsOf9[] = {
${lines(script9.map(([point, name]) => `{0x${point.toString(16)}, "${name}"}`))}
};

// Characters whose simple lower case is new since Unicode 14.
constexpr std::pair<char32_t, char32_t> kNewLowerCase[] = {
${lines(cases.map(([from, to]) => `{0x${from.toString(16)}, 0x${to.toString(16)}}`))}
};
`;
fs.writeFileSync(`${TARGET}.part`, text);
fs.renameSync(`${TARGET}.part`, TARGET);
fs.rmSync(work, {recursive: true});
console.log(`${path.relative(ROOT, TARGET)}: ${entries.length} properties, ${data.length / 2} ranges, ${text.split('\n').length - 1} lines, ${text.length} bytes`);
