#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "base/suggest.h"
#include "ir/exceptions.h"
#include "op/shapes.h"

namespace tapml::op {

namespace {

const char* kind_name(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kBool:
      return "a bool";
    case AttributeKind::kInt:
      return "an integer";
    case AttributeKind::kFloat:
      return "a number";
    case AttributeKind::kString:
      return "a string";
    case AttributeKind::kDType:
      return "a dtype";
    case AttributeKind::kInts:
      return "a list of integers";
    case AttributeKind::kFloats:
      return "a list of numbers";
  }
  return "?";
}

const char* value_name(const AttrValue& value) {
  constexpr const char* kNames[] = {
      "a bool",  "an integer",         "a number",          "a string",
      "a dtype", "a list of integers", "a list of numbers", "a list of strings"};
  return kNames[value.index()];
}

bool is_empty_list(const AttrValue& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (requires {
                        v.begin();
                        v.front();
                      } && !std::is_same_v<std::decay_t<decltype(v)>, std::string>) {
          return v.empty();
        } else {
          return false;
        }
      },
      value);
}

bool holds(AttributeKind kind, const AttrValue& value) {
  switch (kind) {
    case AttributeKind::kBool:
      return std::holds_alternative<bool>(value);
    case AttributeKind::kInt:
      return std::holds_alternative<int64_t>(value);
    case AttributeKind::kFloat:
      return std::holds_alternative<double>(value);
    case AttributeKind::kString:
      return std::holds_alternative<std::string>(value);
    case AttributeKind::kDType:
      return std::holds_alternative<DType>(value);
    case AttributeKind::kInts:
      return std::holds_alternative<std::vector<int64_t>>(value);
    case AttributeKind::kFloats:
      return std::holds_alternative<std::vector<double>>(value);
  }
  return false;
}

// Converts the value to `kind`: integers are accepted as numbers and an empty list as any list.
AttrValue converted(const CallView& call, const AttributeSpec& spec, const AttrValue& value) {
  if (holds(spec.kind, value)) return value;
  if (spec.kind == AttributeKind::kFloat) {
    if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  }
  if (spec.kind == AttributeKind::kInts && is_empty_list(value)) return std::vector<int64_t>();
  if (spec.kind == AttributeKind::kFloats) {
    if (is_empty_list(value)) return std::vector<double>();
    if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
      return std::vector<double>(integers->begin(), integers->end());
    }
  }
  call.error("attribute '" + std::string(spec.name) + "' has the wrong type", kind_name(spec.kind),
             value_name(value));
}

std::string joined_names(const auto& specs) {
  return specs.empty() ? "none" : join(specs, [](const auto& spec) { return spec.name; });
}

bool is_host_integer(const relax::Annotation& annotation) {
  const auto* prim = relax::as_prim(annotation);
  return prim && prim->dtype == DType::kI64;
}

void check_argument_kind(const CallView& call, size_t index) {
  const relax::Annotation& annotation = call.annotations[index];
  if (annotation->kind == relax::AnnotationKind::kObject) return;
  const ArgumentSpec& spec = call.info.args[index];
  using relax::AnnotationKind;
  auto expect = [&](bool fits, const char* expected) {
    if (fits) return;
    call.error("argument '" + std::string(spec.name) + "' is of the wrong kind", expected,
               to_string(annotation));
  };
  switch (spec.kind) {
    case ArgumentKind::kTensor:
      return expect(annotation->kind == AnnotationKind::kTensor, "a tensor");
    case ArgumentKind::kShape:
      return expect(annotation->kind == AnnotationKind::kShape, "a shape");
    case ArgumentKind::kPrim:
      return expect(is_host_integer(annotation), "a host integer");
    case ArgumentKind::kTensors:
      expect(annotation->kind == AnnotationKind::kTuple, "a tuple of tensors");
      for (const relax::Annotation& field : relax::as_tuple(annotation)->fields) {
        known_tensor(call, field, "a field of argument '" + std::string(spec.name) + "'");
      }
  }
}

void fill_attributes(CallView& view, const AttrMap& given) {
  for (const auto& [name, value] : given) {
    auto spec = std::find_if(view.info.attrs.begin(), view.info.attrs.end(),
                             [&](const AttributeSpec& s) { return name == s.name; });
    if (spec == view.info.attrs.end()) {
      view.error("no attribute is called '" + name + "'", joined_names(view.info.attrs), name);
    }
    view.attrs[name] = converted(view, *spec, value);
  }
  for (const AttributeSpec& spec : view.info.attrs) {
    if (!spec.required || view.attrs.contains(spec.name)) continue;
    view.error("attribute '" + std::string(spec.name) + "' is missing", kind_name(spec.kind));
  }
  view.attrs = with_defaults(view.info, std::move(view.attrs));
}

}  // namespace

AttrMap with_defaults(const OperatorInfo& info, AttrMap attrs) {
  for (const AttributeSpec& spec : info.attrs) {
    if (spec.required || attrs.contains(spec.name)) continue;
    if (holds(spec.kind, spec.fallback)) attrs[spec.name] = spec.fallback;
  }
  return attrs;
}

const relax::TensorAnnotation& CallView::tensor(size_t i) const {
  const auto* tensor = relax::as_tensor(annotations[i]);
  if (!tensor || !tensor->shape || !tensor->dtype) {
    error("argument '" + std::string(info.args[i].name) + "' is not known well enough",
          "a tensor of known shape and dtype", to_string(annotations[i]));
  }
  return *tensor;
}

Dims CallView::shape(size_t i) const { return *tensor(i).shape; }
DType CallView::dtype(size_t i) const { return *tensor(i).dtype; }

Dims CallView::shape_argument(size_t i) const {
  std::optional<Dims> dims = known_dims(*this, i);
  if (!dims) {
    error("argument '" + std::string(info.args[i].name) + "' is not known well enough",
          "a shape of known dimensions", to_string(annotations[i]));
  }
  return *dims;
}

namespace {
template <class T>
const T& attribute(const CallView& call, const char* name) {
  const T* value = find_attr<T>(call.attrs, name);
  if (!value) throw_internal(std::string(call.info.name) + " has no attribute " + name);
  return *value;
}
}  // namespace

bool CallView::flag(const char* name) const { return attribute<bool>(*this, name); }
int64_t CallView::integer(const char* name) const { return attribute<int64_t>(*this, name); }
double CallView::number(const char* name) const { return attribute<double>(*this, name); }
const std::vector<int64_t>& CallView::integers(const char* name) const {
  return attribute<std::vector<int64_t>>(*this, name);
}

void CallView::error(const std::string& message, const std::string& expected,
                     const std::string& found) const {
  throw_user(std::string(info.name) + ": " + message, "", expected, found);
}

CallView view_call(const relax::CallNode& call) {
  const auto* callee = relax::as<relax::OperatorNode>(call.callee);
  if (!callee) throw_internal("view_call of a call whose callee is not an operator");
  const OperatorInfo* info = operator_of(*callee);
  if (!info) {
    std::vector<std::string_view> names;
    for (const OperatorInfo* entry : operator_table()) names.push_back(entry->name);
    throw_user("no operator is called '" + callee->name + "'", "",
               "an operator of docs/operators.md", callee->name, suggestion(callee->name, names));
  }
  CallView view{*info, call.args, {}, {}};
  if (call.args.size() != info->args.size()) {
    view.error("wrong number of arguments",
               std::to_string(info->args.size()) + " (" + joined_names(info->args) + ")",
               std::to_string(call.args.size()));
  }
  for (const relax::Expr& arg : call.args) view.annotations.push_back(annotation_of(arg));
  for (size_t i = 0; i < call.args.size(); ++i) check_argument_kind(view, i);
  fill_attributes(view, call.attrs);
  return view;
}

namespace {

// One dimension of the result for each element, if their number is known.
relax::Annotation deduce_tensor_to_shape(const relax::CallNode& call) {
  auto fail = [](const std::string& message, const std::string& expected,
                 const std::string& found) {
    throw_user(std::string(kTensorToShape) + ": " + message, "", expected, found);
  };
  if (call.args.size() != 1) {
    fail("wrong number of arguments", "1", std::to_string(call.args.size()));
  }
  relax::Annotation annotation = annotation_of(call.args[0]);
  if (annotation->kind == relax::AnnotationKind::kObject) {
    return relax::shape_annotation_ndim(relax::kUnknownNdim);
  }
  const auto* tensor = relax::as_tensor(annotation);
  if (!tensor || (tensor->dtype && !is_integer(*tensor->dtype)) ||
      (tensor->ndim != relax::kUnknownNdim && tensor->ndim != 1)) {
    fail("the argument is not a list of integers", "an integer tensor of rank 1",
         to_string(annotation));
  }
  bool known = tensor->shape && tensor->shape->front().is_int();
  return relax::shape_annotation_ndim(known ? static_cast<int>(tensor->shape->front()->int_value)
                                            : relax::kUnknownNdim);
}

}  // namespace

relax::Annotation deduce(const relax::CallNode& call) {
  const auto* callee = relax::as<relax::OperatorNode>(call.callee);
  if (callee && callee->name == kTensorToShape) return deduce_tensor_to_shape(call);
  CallView view = view_call(call);
  return view.info.deduce(view);
}

}  // namespace tapml::op
