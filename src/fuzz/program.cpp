#include "fuzz/program.h"

#include <algorithm>
#include <cmath>

namespace tapml::fuzz {

namespace {

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

interp::HostFunctions packed_functions() {
  interp::HostFunctions table;
  table["test.double"] = [](const interp::ValueList& args) {
    op::RefTensor tensor = args.at(0).as_tensor();
    for (size_t i = 0; i < tensor.values.size(); ++i) tensor.values[i] *= 2;
    return interp::Value::tensor(std::move(tensor));
  };
  return table;
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

bool is_finite(const interp::Value& value) {
  if (const auto* tensor = std::get_if<op::RefTensor>(&value.data)) {
    for (size_t i = 0; i < tensor->values.size(); ++i) {
      if (!std::isfinite(tensor->values[i])) return false;
    }
    return true;
  }
  if (!std::holds_alternative<std::shared_ptr<const interp::ValueList>>(value.data)) return true;
  const interp::ValueList& fields = value.as_tuple();
  return std::all_of(fields.begin(), fields.end(), is_finite);
}

}  // namespace tapml::fuzz
