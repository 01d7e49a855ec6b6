#include "fuzz/oracles/variants.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "fuzz/language/library_functions.h"
#include "fuzz/relax_calls.h"
#include "ir/exceptions.h"
#include "library/library.h"
#include "op/generate.h"
#include "passes/specialize.h"
#include "pipeline/preconditions.h"

namespace tapml::fuzz {

namespace {

constexpr const char* kStatic = "static shapes";
constexpr const char* kWithout = "without ";
constexpr const char* kAll = "all";
constexpr const char* kOrder = "order ";
constexpr const char* kLibraries = "libraries ";
constexpr const char* kRoutines = "routines";
constexpr const char* kBounds = "bounds ";
constexpr const char* kReloaded = "reloaded";
constexpr const char* kMemory = "memory";
constexpr const char* kAbove = "above ";
// Passes of an order, some of which change nothing.
constexpr int kMostPasses = 16;

// The caches that this pass reads are not used here.
constexpr std::string_view kNeverRuns = "find_cached";

const std::vector<std::string>& optional_passes(bool common) {
  auto make = [](bool of_all_targets) {
    std::vector<std::string> names;
    for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
      const bool fits = pass.without && pass.is_common() == of_all_targets;
      if (fits && pass.name != kNeverRuns && std::ranges::find(names, pass.name) == names.end()) {
        names.emplace_back(pass.name);
      }
    }
    return names;
  };
  static const auto kCommon = make(true), kOfTargets = make(false);
  return common ? kCommon : kOfTargets;
}

std::vector<std::string> left_out(const Variant& variant) {
  if (variant.without != std::vector<std::string>{kAll}) return variant.without;
  return optional_passes(true);
}

std::vector<const pipeline::PassInfo*> passes_to_shuffle() {
  std::vector<const pipeline::PassInfo*> passes;
  for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
    if (pass.run && (pass.is_common() || pass.is_by_name_only())) passes.push_back(&pass);
  }
  return passes;
}

// An order whose passes find their requirements met. A pass that fails ends it.
std::vector<std::string> draw_order(const Module& input, RandomStream& rng) {
  static const auto kPasses = passes_to_shuffle();
  Module module = input;
  std::vector<std::string> order;
  for (int i = 0; i < kMostPasses; ++i) {
    const pipeline::PassInfo& pass = *op::pick(kPasses, rng);
    if (!guard([&] { pipeline::check_precondition(module, pass); })) continue;
    order.emplace_back(pass.name);
    if (!guard([&] { module = pass.run(module); })) break;
  }
  return order;
}

std::vector<std::string> draw_left_out(bool native, RandomStream& rng) {
  const double which = rng.unit();
  if (which < 0.2) return {};
  if (which < 0.4) return {kAll};
  std::vector<std::string> names;
  for (int count = which < 0.8 ? 1 : 2; count > 0; --count) {
    const std::string& name = op::pick(optional_passes(!native || rng.chance(0.7)), rng);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

// Whether the module calls an operator that is part of what a library computes.
bool has_work_for_libraries(const Module& module) {
  static const std::set<std::string> kNames = [] {
    Module patterns;
    for (const library::Library& library : library::libraries()) {
      for (const library::Pattern& pattern : library.patterns) {
        patterns.functions[std::to_string(patterns.functions.size())] = pattern.pattern();
      }
    }
    // Parts that also occur without a product.
    std::set<std::string> names = called_operators(patterns);
    for (const char* part : {"add", "multiply", "relu"}) names.erase(part);
    return names;
  }();
  const std::set<std::string> called = called_operators(module);
  return std::ranges::any_of(called, [&](const auto& name) { return kNames.contains(name); });
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::pair<std::string, int64_t> parse_bound(const std::string& text) {
  const size_t plus = text.find('+');
  int64_t slack = -1;
  if (plus != std::string::npos) {
    std::from_chars(text.data() + plus + 1, text.data() + text.size(), slack);
  }
  if (slack < 0) throw_user("this is no bound of a variant", in_quotes(text), "n+3");
  return {text.substr(0, plus), slack};
}

}  // namespace

std::string Variant::text() const {
  std::vector<std::string> parts, limits;
  if (static_shapes) parts.emplace_back(kStatic);
  if (!without.empty()) parts.push_back(kWithout + join(without, ","));
  if (!order.empty()) parts.push_back(kOrder + join(order, ","));
  if (!libraries.empty()) parts.push_back(kLibraries + join(libraries, "+"));
  if (routines) parts.emplace_back(kRoutines);
  for (const auto& [name, slack] : bounds) limits.push_back(name + "+" + std::to_string(slack));
  if (!bounds.empty()) parts.push_back(kBounds + join(limits, ","));
  if (reloaded) parts.emplace_back(kReloaded);
  if (memory) parts.emplace_back(kMemory);
  if (!above.empty()) parts.push_back(kAbove + above);
  return join(parts, "; ");
}

Variant parse_variant(const std::string& text) {
  Variant variant;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find("; ", begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    auto rest_of = [&](const char* key) -> std::optional<std::string> {
      if (!part.starts_with(key)) return std::nullopt;
      return part.substr(std::string_view(key).size());
    };
    if (part == kStatic) {
      variant.static_shapes = true;
    } else if (const auto passes = rest_of(kWithout)) {
      variant.without = split(*passes, ',');
    } else if (const auto passes = rest_of(kOrder)) {
      variant.order = split(*passes, ',');
    } else if (const auto names = rest_of(kLibraries)) {
      variant.libraries = split(*names, '+');
    } else if (part == kRoutines) {
      variant.routines = true;
    } else if (const auto bounds = rest_of(kBounds)) {
      for (const std::string& bound : split(*bounds, ',')) {
        variant.bounds.push_back(parse_bound(bound));
      }
    } else if (part == kReloaded) {
      variant.reloaded = true;
    } else if (part == kMemory) {
      variant.memory = true;
    } else if (const auto name = rest_of(kAbove)) {
      variant.above = *name;
    } else {
      throw_user("this is no way to compile a program", in_quotes(part));
    }
    begin = end + 2;
  }
  return variant;
}

std::string Variant::kind() const {
  Variant alike = *this;
  alike.order.clear();
  alike.bounds.clear();
  alike.above.clear();
  std::vector<std::string> parts;
  if (!alike.is_usual()) parts.push_back(alike.text());
  if (!order.empty()) parts.emplace_back("shuffled");
  if (!bounds.empty()) parts.emplace_back("bounds");
  if (!above.empty()) parts.emplace_back("above");
  return join(parts, "; ");
}

std::vector<Variant> Variant::simpler() const {
  std::vector<Variant> list;
  auto add = [&](auto&& change) {
    Variant other = *this;
    change(other);
    if (!(other == *this)) list.push_back(std::move(other));
  };
  add([](Variant& v) { v.static_shapes = false; });
  add([](Variant& v) { v.without.clear(); });
  for (size_t i = 0; i < without.size(); ++i) {
    add([&](Variant& v) { v.without.erase(v.without.begin() + std::ssize(v.without) - 1 - i); });
  }
  add([](Variant& v) { v.libraries.clear(); });
  for (size_t i = 0; i < libraries.size(); ++i) {
    add([&](Variant& v) {
      v.libraries.erase(v.libraries.begin() + std::ssize(libraries) - 1 - i);
    });
  }
  add([](Variant& v) { v.routines = false; });
  add([](Variant& v) { v.bounds.clear(); });
  add([](Variant& v) { v.reloaded = false; });
  add([](Variant& v) { v.memory = false; });
  add([](Variant& v) { v.above.clear(); });
  // Fewer passes of an order, from the end, on which the others do not depend.
  if (!order.empty()) add([](Variant& v) { v.order.pop_back(); });
  return list;
}

Variant draw_variant(const Program& program, const VariantChoices& choices, RandomStream& rng) {
  const auto extents = extents_of(program.module, program.arguments);
  Variant variant;
  if (rng.chance(choices.native ? 0.15 : 0.4)) {
    variant.order = draw_order(program.module, rng);
    return variant;
  }
  variant.static_shapes = !extents.empty() && rng.chance(0.2);
  variant.without = draw_left_out(choices.native, rng);
  variant.memory = rng.chance(choices.native ? 0.2 : 0.5);
  if (variant.static_shapes || extents.empty()) {
    // Nothing has a bound.
  } else if (rng.chance(0.3)) {
    std::vector<std::string> names;
    for (const auto& [name, extent] : extents) {
      if (extent > 0) names.push_back(name);
    }
    if (!names.empty()) variant.above = op::pick(names, rng);
  }
  if (!choices.native) return variant;
  const bool for_libraries = has_work_for_libraries(program.module);
  if (!choices.libraries.empty() && rng.chance(for_libraries ? 0.9 : 0.2)) {
    for (const std::string& name : choices.libraries) {
      if (rng.chance(0.7)) variant.libraries.push_back(name);
    }
    // Most routines are for single operators.
    if (for_libraries && rng.chance(0.5)) variant.without = {kAll};
  }
  variant.routines = has_library_functions(program.module) && rng.chance(0.7);
  if (!variant.static_shapes && rng.chance(0.5)) {
    for (const auto& [name, extent] : extents) {
      if (rng.chance(0.9)) variant.bounds.emplace_back(name, rng.between(0, 3));
    }
  }
  variant.reloaded = rng.chance(0.3);
  return variant;
}

Module formed_as(const Variant& variant, const Program& program,
                 const pipeline::Instruments& instruments) {
  Module module = program.module;
  pipeline::Instruments own = instruments;
  if (variant.routines) module = with_routine_calls(module);
  if (variant.static_shapes) {
    module = passes::specialize(module, "main", extents_of(module, program.arguments));
    if (own.after) own.after("specialize", module);
  }
  int number = 0;
  for (const std::string& pass : variant.order) {
    module = pipeline::run_by_name(module, pass, nullptr, own, number);
  }
  if (!variant.order.empty()) return module;
  for (const std::string& pass : left_out(variant)) {
    if (std::ranges::find(optional_passes(true), pass) != optional_passes(true).end()) {
      own.skip.push_back(pass);
    }
  }
  return pipeline::form_kernels(module, own);
}

target::Target target_of(const Variant& variant, const std::string& target) {
  const target::Target usual = target::parse_target(target);
  if (variant.libraries.empty() || !usual.description.library_routines || !usual.endpoint.empty()) {
    return usual;
  }
  return target::parse_target(target + (usual.options.empty() ? ":" : ",") +
                              "libs=" + join(variant.libraries, "+"));
}

void set_options(const Variant& variant, const std::map<std::string, int64_t>& extents,
                 pipeline::ImplementOptions& options) {
  std::vector<std::string> passes;
  for (const std::string& pass : variant.without) {
    const auto& own = optional_passes(false);
    if (std::ranges::find(own, pass) != own.end()) passes.push_back(pass);
    // No tensor shares storage.
    if (pass == "plan_memory") options.memory.in_place = false;
  }
  pipeline::leave_out(passes, "variant", options);
  if (variant.routines) options.libraries.libraries = {routine_library()};
  for (const auto& [name, slack] : variant.bounds) {
    const auto extent = extents.find(name);
    if (extent != extents.end()) options.memory.bounds[name] = extent->second + slack;
  }
}

}  // namespace tapml::fuzz
