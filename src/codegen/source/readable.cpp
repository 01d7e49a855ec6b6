#include "codegen/source/readable.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <vector>

namespace tapml::codegen {

namespace {

// Keywords, types, macros and functions of OpenCL C and C that a name must not hide; most are
// GLSL's too.
constexpr std::string_view kWords[] = {
    "I",          "abs",     "acos",     "acosh",      "all",       "any",       "asin",
    "asinh",      "atan",    "atanh",    "atomic_add", "auto",      "barrier",   "begin",
    "bool",       "break",   "buffers",  "case",       "ceil",      "char",      "clamp",
    "complex",    "const",   "constant", "continue",   "cos",       "cosh",      "cross",
    "default",    "degrees", "distance", "do",         "dot",       "double",    "else",
    "end",        "entry",   "enum",     "erf",        "exp",       "exp2",      "expm1",
    "extent",     "extern",  "fabs",     "false",      "float",     "floor",     "fma",
    "fmax",       "fmin",    "fmod",     "for",        "fract",     "generic",   "global",
    "goto",       "half",    "hypot",    "if",         "imaginary", "inline",    "int",
    "isinf",      "isnan",   "kernel",   "ldexp",      "length",    "linux",     "local",
    "log",        "log10",   "log2",     "long",       "mad",       "main",      "max",
    "min",        "mix",     "modf",     "noinline",   "normalize", "pipe",      "pow",
    "private",    "quad",    "queue_t",  "radians",    "register",  "remainder", "restrict",
    "return",     "rint",    "rotate",   "round",      "rsqrt",     "sampler_t", "select",
    "short",      "shuffle", "sign",     "signed",     "sin",       "sinh",      "sizeof",
    "smoothstep", "sqrt",    "static",   "step",       "struct",    "switch",    "tan",
    "tanh",       "true",    "trunc",    "typedef",    "uchar",     "uint",      "ulong",
    "union",      "unix",    "unsigned", "ushort",     "void",      "volatile",  "while"};
// Only in GLSL.
constexpr std::string_view kGlslWords[] = {
    "active",    "and",       "asm",        "attribute", "buffer",   "cast",          "centroid",
    "class",     "coherent",  "common",     "discard",   "equal",    "external",      "filter",
    "fixed",     "flat",      "highp",      "image",     "in",       "inout",         "input",
    "interface", "invariant", "inverse",    "layout",    "lowp",     "mat2",          "mat3",
    "mat4",      "mediump",   "mod",        "namespace", "noise1",   "noperspective", "not",
    "or",        "out",       "output",     "partition", "patch",    "precise",       "precision",
    "public",    "readonly",  "reflect",    "refract",   "resource", "sample",        "sampler",
    "shared",    "smooth",    "subroutine", "superp",    "template", "texture",       "this",
    "transpose", "uniform",   "using",      "uvec2",     "uvec3",    "uvec4",         "varying",
    "vec2",      "vec3",      "vec4",       "writeonly", "xor"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Splits code into words, numbers, operators and the whitespace between them; joined, they are the
// code.
std::vector<std::string> tokens_of(const std::string& code) {
  constexpr std::string_view kLong[] = {
      "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "->"};
  std::vector<std::string> tokens;
  for (size_t at = 0; at < code.size();) {
    size_t end = at + 1;
    if (is_word(code[at])) {
      const bool number = std::isdigit(static_cast<unsigned char>(code[at])) != 0;
      while (end < code.size() &&
             (is_word(code[end]) ||
              (number && (code[end] == '.' ||
                          ((code[end] == '+' || code[end] == '-') && code[end - 1] == 'e'))))) {
        ++end;
      }
    } else if (std::isspace(static_cast<unsigned char>(code[at]))) {
      while (end < code.size() && std::isspace(static_cast<unsigned char>(code[end]))) ++end;
    } else if (code[at] == '#') {  // a preprocessor line
      end = std::min(code.find('\n', at), code.size());
    } else if (std::ranges::find(kLong, std::string_view(code).substr(at, 2)) != std::end(kLong)) {
      end = at + 2;
    }
    tokens.push_back(code.substr(at, end - at));
    at = end;
  }
  return tokens;
}

// Precedence of a binary operator; 0 for those whose parentheses must stay.
int binding(const std::string& token) {
  static const std::map<std::string, int> kBinding = {
      {"=", 1},  {"+=", 1}, {"?", 2}, {":", 2},  {"||", 3}, {"&&", 4},
      {"==", 5}, {"!=", 5}, {"<", 6}, {"<=", 6}, {">", 6},  {">=", 6},
      {"+", 7},  {"-", 7},  {"*", 8}, {"/", 8},  {"%", 8}};
  const auto found = kBinding.find(token);
  return found == kBinding.end() ? 0 : found->second;
}

constexpr int kLoosest = 0, kNever = -1, kTightest = 9;

// The loosest operator between two parentheses; kNever if the parentheses must stay.
int loosest_inside(const std::vector<std::string>& tokens, size_t begin, size_t end) {
  int least = kTightest, depth = 0;
  std::string before = "(";
  for (size_t i = begin; i < end; ++i) {
    const std::string& token = tokens[i];
    if (std::isspace(static_cast<unsigned char>(token[0]))) continue;
    const bool first = before == "(" && depth == 0 && i == begin;
    if (token == "(" || token == "[") ++depth;
    if (token == ")" || token == "]") --depth;
    if (depth == 0 && !is_word(token[0]) && token != ")" && token != "]" && token != ".") {
      const bool unary = first || (binding(before) > 0 && before != ")");
      if (unary) return kNever;
      const int binds = binding(token);
      // Other operators, an argument list, an assignment.
      if (binds <= 1) return kNever;
      least = std::min(least, binds);
    }
    before = token;
  }
  return least;
}

}  // namespace

std::string without_needless_parentheses(const std::string& code) {
  std::vector<std::string> tokens = tokens_of(code);
  auto is_space = [&](size_t i) { return std::isspace(static_cast<unsigned char>(tokens[i][0])); };
  std::vector<size_t> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == "(") open.push_back(i);
    if (tokens[i] != ")" || open.empty()) continue;
    const size_t begin = open.back(), end = i;
    open.pop_back();
    size_t before = begin, after = end;
    do {
      if (before == 0) break;
      --before;
    } while (tokens[before].empty() || is_space(before));
    do {
      ++after;
    } while (after < tokens.size() && (tokens[after].empty() || is_space(after)));
    if (before == begin || after >= tokens.size()) continue;
    const std::string &left = tokens[before], &right = tokens[after];
    const bool opens =
        left == "(" || left == "[" || left == "," || left == "{" || left == ";" || left == "return";
    const bool closes =
        right == ")" || right == "]" || right == "," || right == ";" || right == "}";
    if (!opens && binding(left) == 0) continue;
    if (!closes && binding(right) == 0) continue;
    // A cast precedes its operand; it neither ends an operand nor is an operator.
    std::vector<std::string> inside;
    for (size_t t = begin + 1; t < end; ++t) {
      if (!tokens[t].empty()) inside.push_back(tokens[t]);
    }
    const int inner = loosest_inside(inside, 0, inside.size());
    if (inner == kNever || inside.empty() || (inside.size() == 1 && !closes)) continue;
    const int to_left = opens ? kLoosest : binding(left);
    const int to_right = closes ? kLoosest : binding(right);
    // a - (b + c) and a ? b : (c ? d : e) keep their parentheses. So do comparisons of comparisons
    // and && beside ||, about which compilers warn.
    const auto compares = [](int binds) { return binds == binding("==") || binds == binding("<"); };
    if (compares(inner) && (compares(binding(left)) || compares(binding(right)))) continue;
    if (inner == binding("&&") && (left == "||" || right == "||")) continue;
    const bool chains = inner >= binding("+") || inner == binding("&&") || inner == binding("||");
    if (inner <= to_left || inner < to_right || (inner == to_right && !chains)) continue;
    tokens[begin].clear();
    tokens[end].clear();
  }
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

std::string with_short_signatures(const std::string& code) {
  constexpr size_t kMostColumns = 100;
  constexpr std::string_view kKernel = "__kernel void ";
  std::string text;
  for (size_t begin = 0; begin < code.size();) {
    const size_t end = std::min(code.find('\n', begin), code.size() - 1) + 1;
    std::string line = code.substr(begin, end - begin);
    begin = end;
    const size_t first = line.find('(') + 1;
    if (!line.starts_with(kKernel) || line.size() <= kMostColumns) {
      text += line;
      continue;
    }
    const std::string indent = "\n    ";
    text += line.substr(0, first);
    size_t used = kMostColumns;
    for (size_t at = first; at < line.size();) {
      const size_t next = std::min(line.find(", ", at), line.size() - 2) + 2;
      if (used + next - at > kMostColumns) {
        while (text.ends_with(' ')) text.pop_back();
        text += indent;
        used = indent.size() - 1;
      }
      text += line.substr(at, next - at);
      used += next - at;
      at = next;
    }
  }
  return text;
}

std::string with_plain_names(const std::string& code, const std::set<std::string>& kept,
                             bool is_glsl) {
  std::vector<std::string> tokens = tokens_of(code);
  std::set<std::string> taken;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool is_member = i > 0 && tokens[i - 1] == ".";  // of a vector: v.x
    if (!is_member) taken.insert(tokens[i]);
  }
  taken.insert(std::begin(kWords), std::end(kWords));
  if (is_glsl) taken.insert(std::begin(kGlslWords), std::end(kGlslWords));
  std::map<std::string, std::string> plain;
  for (std::string& token : tokens) {
    if (!is_word(token[0]) || kept.contains(token) || token.starts_with("tapml_")) continue;
    const auto known = plain.find(token);
    if (known == plain.end()) {
      std::string name = token;
      const size_t digits = name.find_last_not_of("0123456789");
      const bool numbered = digits != std::string::npos && digits > 0 && digits + 1 < name.size() &&
                            name[digits] == '_' &&
                            !std::isdigit(static_cast<unsigned char>(name[0]));
      if (!numbered) continue;
      name.erase(digits);
      plain[token] = taken.insert(name).second ? name : token;
      token = plain[token];
    } else {
      token = known->second;
    }
  }
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

}  // namespace tapml::codegen
