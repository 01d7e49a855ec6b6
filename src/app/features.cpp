#include "app/features.h"

#include <algorithm>

#include "app/tensor_file.h"
#include "arith/evaluate.h"
#include "ir/exceptions.h"
#include "relax/expr.h"

namespace tapml::app {

namespace {

constexpr const char* kOption = "--features";
constexpr const char* kEncode = "encode";

// The annotation of the features among the encoder's parameters.
const relax::TensorAnnotation& encoder_input(const Module& module, const ModelInterface& model) {
  const ModelFunction& encode = *model.find_function(kEncode);
  const relax::Function* function = relax::as_relax_function(module.find(kEncode));
  const auto at = std::ranges::find(encode.inputs, Role::kFeatures) - encode.inputs.begin();
  const relax::TensorAnnotation* tensor = nullptr;
  if (function && at < std::ssize(encode.inputs) && at < std::ssize(function->params)) {
    tensor = relax::as_tensor(function->params[static_cast<size_t>(at)]->annotation);
  }
  if (!tensor || !tensor->dtype || !tensor->shape || tensor->shape->size() < 2) {
    throw_user("the model's encoder does not declare its features", "function encode of the model",
               "features as a tensor [b, m, ...] with a dtype", model_function_text(encode));
  }
  return *tensor;
}

// The shape of one sequence, which is the first dimension: "[m, 7]".
std::string rows_text(const Dims& dims, const char* first) {
  std::string text = first;
  for (size_t i = 1; i < dims.size(); ++i) text += (text.empty() ? "" : ", ") + to_string(dims[i]);
  return "[" + text + "]";
}

// Whether `shape` is that of one sequence; variables in `bounds` are at most that.
bool fits(const Dims& dims, const Shape& shape, const SymbolBounds& bounds) {
  if (shape.size() + 1 != dims.size()) return false;
  arith::Values known = {{dims[0].get(), 1}};
  for (size_t i = 0; i < shape.size(); ++i) {
    const PrimExpr& dim = dims[i + 1];
    if (dim.is_var() && known.emplace(dim.get(), shape[i]).second) {
      const auto bound = bounds.find(dim->name);
      if (shape[i] < 1 || (bound != bounds.end() && shape[i] > bound->second)) return false;
    } else if (arith::evaluate(dim, known).value_or(shape[i]) != shape[i]) {
      return false;
    }
  }
  return true;
}

std::string bounds_text(const Dims& dims, const SymbolBounds& bounds) {
  std::string text;
  for (size_t i = 1; i < dims.size(); ++i) {
    const auto bound = dims[i].is_var() ? bounds.find(dims[i]->name) : bounds.end();
    if (bound == bounds.end()) continue;
    text += ", " + bound->first + " at most " + std::to_string(bound->second);
  }
  return text;
}

}  // namespace

bool FeatureOptions::are_read_by(const ModelInterface& model) const {
  const bool reads = model.find_function(kEncode) != nullptr;
  if (given() && !reads) {
    throw_user("the model reads no features", kOption, "a model with an encoder (function encode)",
               model.architecture, std::string("leave ") + kOption + " out");
  }
  if (reads && !given()) {
    throw_user("the model has an encoder, which needs features", kOption, "FILE with the features",
               "none", std::string("give ") + kOption + " FILE (.npy, .npz or safetensors)");
  }
  return reads;
}

HostTensor FeatureOptions::load(const Module& module) const {
  const ModelInterface model = unwrap(model_interface_of(module.all_attrs()));
  if (!are_read_by(model)) return {};
  const relax::TensorAnnotation& wanted = encoder_input(module, model);
  HostTensor features = tensor.size() > 0 ? tensor : read_tensor(file, "", "features");
  Shape shape = features.shape();
  if (shape.size() == wanted.shape->size() && shape[0] == 1) shape.erase(shape.begin());
  SymbolBounds bounds = module.facts.bounds;
  for (const auto& [name, most] : module.find(kEncode)->facts.bounds) bounds[name] = most;
  if (features.dtype() == *wanted.dtype && fits(*wanted.shape, shape, bounds)) {
    return features.reshaped(shape);
  }
  const std::string dtype = dtype_name(*wanted.dtype);
  throw_user("the features do not fit the model's encoder",
             file.empty() ? kOption : kOption + (" " + file),
             dtype + rows_text(*wanted.shape, "") + ", or " + dtype +
                 rows_text(*wanted.shape, "1") + bounds_text(*wanted.shape, bounds),
             dtype_name(features.dtype()) + shape_to_string(features.shape()),
             features.dtype() == *wanted.dtype ? "prepare them as the model's encoder expects"
                                               : "convert them to " + dtype);
}

}  // namespace tapml::app
