#include "arms.h"

#include "device/cpu/library/host_library.h"
#include "ir/exceptions.h"
#include "op/generate.h"
#include "support/library_calls.h"

namespace tapml::testing {

namespace {

const std::vector<const char*> kOptimizations = {
    "match",    "inline_functions",      "dead_code", "simplify_graph",
    "fuse_ops", "common_subexpressions", "",          "fold_constants"};

void collect_extents(const relax::Annotation& annotation, const interp::Value& value,
                     std::map<std::string, int64_t>& extents) {
  auto dims = [&](const std::optional<Dims>& known, const std::vector<int64_t>& found) {
    for (size_t i = 0; known && i < known->size(); ++i) {
      if ((*known)[i].is_var()) extents.emplace((*known)[i]->name, found[i]);
    }
  };
  if (const auto* tensor = relax::as_tensor(annotation)) {
    dims(tensor->shape, value.as_tensor().shape);
  } else if (const auto* shape = relax::as_shape(annotation)) {
    dims(shape->dims, value.as_shape());
  } else if (const auto* tuple = relax::as_tuple(annotation)) {
    for (size_t i = 0; i < tuple->fields.size(); ++i) {
      collect_extents(tuple->fields[i], value.as_tuple()[i], extents);
    }
  }
}

}  // namespace

std::string target_with_libraries(RandomStream& rng) {
  std::string names;
  for (const std::string& name : device::built_in_libraries()) {
    if (device::is_library_here(name) && rng.chance(0.7))
      names += (names.empty() ? "" : "+") + name;
  }
  return names.empty() ? "cpu" : "cpu:libs=" + names;
}

std::map<std::string, int64_t> extents_of(const Module& module,
                                          const std::vector<interp::Value>& arguments) {
  std::map<std::string, int64_t> extents;
  const relax::Function& main = *relax::as_relax_function(module.find("main"));
  for (size_t i = 0; i < arguments.size(); ++i) {
    collect_extents(main.params[i]->annotation, arguments[i], extents);
  }
  return extents;
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
    for (const auto& [name, extent] : extents_of(module, arguments)) {
      if (rng.chance(0.1)) continue;
      drawn.options.memory.bounds[name] = extent + rng.between(0, 3);
      drawn.text += ", " + name + " <= " + std::to_string(drawn.options.memory.bounds[name]);
    }
  }
  return {plain, drawn};
}

}  // namespace tapml::testing
