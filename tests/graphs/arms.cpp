#include "arms.h"

#include "device/cpu/library/host_library.h"
#include "fuzz/program.h"
#include "ir/exceptions.h"
#include "op/generate.h"
#include "support/library_calls.h"

namespace tapml::testing {

namespace {

const std::vector<const char*> kOptimizations = {
    "match",    "inline_functions",      "dead_code", "simplify_graph",
    "fuse_ops", "common_subexpressions", "",          "fold_constants"};

}  // namespace

std::string target_with_libraries(RandomStream& rng) {
  std::string names;
  for (const std::string& name : device::built_in_libraries()) {
    if (device::is_library_here(name) && rng.chance(0.7))
      names += (names.empty() ? "" : "+") + name;
  }
  return names.empty() ? "cpu" : "cpu:libs=" + names;
}

std::vector<Arm> arms_of(const std::string& platform, const Module& module,
                         const std::vector<interp::Value>& arguments, RandomStream& rng) {
  Arm plain;
  plain.text = plain.target = platform;
  plain.options.instruments.verify = true;
  if (platform != "cpu") return {plain};
  Arm drawn = plain;
  drawn.omitted = op::pick(kOptimizations, rng);
  if (rng.chance(0.5)) drawn.target = target_with_libraries(rng);
  drawn.text = drawn.target + " without '" + drawn.omitted + "'";
  if (rng.chance(0.7)) {
    for (const auto& [name, function] : library_functions().functions) {
      drawn.library_calls |= module.find(name) != nullptr;
    }
    if (drawn.library_calls) {
      drawn.text += ", the example library";
      drawn.options.libraries.libraries = {
          {"example",
           {{"swiglu", unwrap(parse_routine_signature("a: f32[*s], b: f32[*s] -> y: f32[*s]", ""))},
            {"scale", unwrap(parse_routine_signature("x: f32[*s] -> y: f32[*s]; factor", ""))}}}};
    }
  }
  if (rng.chance(0.3)) {
    drawn.text += ", tensors do not share storage";
    drawn.options.memory.reuse = false;
    drawn.options.memory.in_place = false;
  }
  if (rng.chance(0.5)) {
    for (const auto& [name, extent] : fuzz::extents_of(module, arguments)) {
      if (rng.chance(0.1)) continue;
      drawn.options.memory.bounds[name] = extent + rng.between(0, 3);
      drawn.text += ", " + name + " <= " + std::to_string(drawn.options.memory.bounds[name]);
    }
  }
  return {plain, drawn};
}

}  // namespace tapml::testing
