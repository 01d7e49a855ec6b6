#include "pipeline/pass_effect.h"

#include <cstdio>
#include <map>
#include <set>
#include <vector>

#include "base/line_diff.h"
#include "text/printer.h"

namespace tapml::pipeline {

PassEffect pass_effect(const Module& before, const Module& after) {
  PassEffect effect;
  effect.attributes = before.all_attrs() != after.all_attrs();
  for (const auto& [name, function] : after.functions) {
    const auto old = before.functions.find(name);
    if (old == before.functions.end()) {
      ++effect.added;
    } else if (old->second != function) {
      // A pass may recreate an identical function.
      effect.altered += text::print(*old->second, name) != text::print(*function, name) ? 1 : 0;
    }
  }
  for (const auto& [name, function] : before.functions) {
    effect.removed += after.functions.contains(name) ? 0 : 1;
  }
  return effect;
}

namespace {

// The lines of a printed module by function; "" has the module's own line.
struct PrintedModule {
  explicit PrintedModule(const Module& module) {
    Module own;
    own.facts = module.facts;
    own.attrs = module.attrs;
    texts[""] = text::print(own);
    for (const auto& [name, function] : module.functions) {
      texts[name] = "\n" + text::print(*function, name);
    }
    for (const auto& [name, text] : texts) {
      parts[name] = split_lines(text);
      lines.insert(lines.end(), parts[name].begin(), parts[name].end());
    }
  }
  PrintedModule(const PrintedModule&) = delete;
  PrintedModule& operator=(const PrintedModule&) = delete;

  std::map<std::string, std::string> texts;
  std::map<std::string, std::vector<std::string_view>> parts;  // into the texts
  std::vector<std::string_view> lines;
};

}  // namespace

std::string module_diff(const Module& before, const Module& after, const std::string& before_name,
                        const std::string& after_name) {
  const PrintedModule a(before), b(after);
  std::set<std::string> names;
  for (const auto& [name, part] : a.parts) names.insert(name);
  for (const auto& [name, part] : b.parts) names.insert(name);
  // Compare function by function: lines are never attributed to another function.
  static const std::vector<std::string_view> kNone;
  std::vector<LineChange> changes;
  size_t i = 0, j = 0;
  for (const std::string& name : names) {
    const auto was = a.parts.find(name), is = b.parts.find(name);
    const auto& old_part = was == a.parts.end() ? kNone : was->second;
    const auto& new_part = is == b.parts.end() ? kNone : is->second;
    for (const LineChange& one : diff_lines(old_part, new_part)) {
      changes.push_back({i + one.old_begin, i + one.old_end, j + one.new_begin, j + one.new_end});
    }
    i += old_part.size();
    j += new_part.size();
  }
  return unified_diff(a.lines, b.lines, changes, before_name, after_name);
}

std::string effect_text(const PassEffect& effect) {
  char time[32];
  std::snprintf(time, sizeof time, " (%.1f ms)", effect.seconds * 1e3);
  std::string text = "pass " + effect.pass + ": ";
  if (!effect.changed()) return text + "unchanged" + time;
  if (effect.executable) return text + "made a part of the executable" + time;
  const int functions = effect.functions();
  text += "changed " + std::to_string(functions) + (functions == 1 ? " function" : " functions");
  std::string parts;
  auto add = [&](int count, const char* what) {
    if (count > 0) parts += (parts.empty() ? "" : ", ") + std::to_string(count) + what;
  };
  add(effect.altered, " altered");
  add(effect.added, " new");
  add(effect.removed, " gone");
  if (!parts.empty()) text += ": " + parts;
  if (effect.attributes) text += functions > 0 ? ", and attributes" : ", but attributes";
  return text + time;
}

}  // namespace tapml::pipeline
