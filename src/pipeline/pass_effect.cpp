#include "pipeline/pass_effect.h"

#include <cstdio>

#include "base/line_diff.h"
#include "text/printer.h"

namespace tapml::pipeline {

PassEffect pass_effect(const Module& before, const Module& after) {
  PassEffect effect;
  effect.attributes = before.attrs != after.attrs;
  for (const auto& [name, function] : after.functions) {
    const auto old = before.functions.find(name);
    if (old == before.functions.end()) {
      ++effect.added;
    } else if (old->second != function) {
      // A pass may make the same again.
      effect.altered += text::print(*old->second, name) != text::print(*function, name) ? 1 : 0;
    }
  }
  for (const auto& [name, function] : before.functions) {
    effect.removed += after.functions.contains(name) ? 0 : 1;
  }
  return effect;
}

std::string module_diff(const Module& before, const Module& after, const std::string& before_name,
                        const std::string& after_name) {
  return unified_diff(text::print(before), text::print(after), before_name, after_name);
}

std::string effect_text(const PassEffect& effect) {
  char time[32];
  std::snprintf(time, sizeof time, " (%.1f ms)", effect.seconds * 1e3);
  std::string text = "pass " + effect.pass + ": ";
  if (!effect.changed()) return text + "unchanged" + time;
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
