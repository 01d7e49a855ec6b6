#include "interp/apply.h"

#include "ir/exceptions.h"
#include "op/evaluate.h"

namespace tapml::interp {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

op::RefTensor zeros(DType dtype, const Dims& dims, const Symbols& symbols,
                    const ApplyLimits& limits) {
  Shape shape;
  for (const PrimExpr& dim : dims) shape.push_back(value_of(dim, symbols));
  if (unwrap(checked_element_count(shape)) > limits.max_elements) {
    throw_user("a tensor is too large for the interpreter", "",
               "at most " + std::to_string(limits.max_elements) + " elements",
               dtype_name(dtype) + shape_to_string(shape));
  }
  return op::RefTensor::zeros(dtype, std::move(shape));
}

op::RefTensor empty_tensor(const Annotation& annotation, const char* op,
                           const ApplyLimits& limits) {
  const auto* tensor = as_tensor(annotation);
  // The reference sets a shape that depends on the data.
  if (tensor && !tensor->shape && tensor->dtype) return op::RefTensor::zeros(*tensor->dtype, {0});
  if (!tensor || !tensor->shape || !tensor->dtype) {
    throw_internal("the result of concrete arguments is not concrete: " + to_string(annotation),
                   op);
  }
  return zeros(*tensor->dtype, *tensor->shape, {}, limits);
}

void add_argument(const Item& item, std::vector<op::RefArg>& args) {
  if (item.kind == ItemKind::kTuple) {
    for (const Item& field : item.fields) add_argument(field, args);
  } else {
    args.push_back({item.tensor.get(), item.ints});
  }
}

}  // namespace

Item apply_operator(const CallNode& node, const std::vector<Item>& items,
                    const ApplyLimits& limits) {
  std::vector<Expr> stand_ins;
  for (const Item& item : items) stand_ins.push_back(make_variable("", exact_annotation(item)));
  Expr call = make_call(node.callee, std::move(stand_ins), node.attrs);
  op::CallView view = op::view_call(*as<CallNode>(call));
  Annotation result = view.info.deduce(view);
  if (const auto* shape = as_shape(result); shape && shape->dims) {
    Item item;
    item.kind = ItemKind::kShape;
    for (const PrimExpr& dim : *shape->dims) item.ints.push_back(value_of(dim, {}));
    return item;
  }

  std::vector<op::RefArg> args;
  for (const Item& item : items) add_argument(item, args);
  std::vector<Annotation> types = {result};
  const auto* tuple = as_tuple(result);
  if (tuple) types = tuple->fields;
  std::vector<op::RefTensor> outputs;
  for (size_t i = 0; i < types.size(); ++i) {
    int64_t source = i < view.info.inout.size() ? view.info.inout[i] : -1;
    outputs.push_back(source >= 0 ? *items[static_cast<size_t>(source)].tensor
                                  : empty_tensor(types[i], view.info.name, limits));
  }
  for (op::RefTensor& output : outputs) {
    output.products = limits.products;
    output.allowed = limits.allowed;
    output.threads = &limits.threads;
    if (output.values.size() == limits.wanted.size()) output.wanted = limits.wanted;
  }
  op::evaluate(view.info, view.attrs, args, outputs);
  for (op::RefTensor& output : outputs) output.threads = nullptr;
  if (!tuple) return tensor_item(std::move(outputs[0]));
  Item item;
  item.kind = ItemKind::kTuple;
  for (op::RefTensor& output : outputs) item.fields.push_back(tensor_item(std::move(output)));
  return item;
}

Item apply_program(const tir::PrimFunc& func, const std::string& name,
                   const std::vector<Item>& args, const std::vector<int64_t>& symbols,
                   std::vector<int64_t> inout, bool with_bounds, const ApplyLimits& limits) {
  Symbols values;
  AnnotationBinder binder(values);
  size_t next = 0;
  for (const tir::Param& param : func.params) {
    if (param.mode != AccessMode::kIn && param.mode != AccessMode::kInOut) continue;
    if (next == args.size()) throw_user("too few arguments", "@" + name);
    binder.bind(tensor_annotation(param.buffer->shape, param.buffer->dtype), args[next++],
                "parameter " + param.buffer->name + " of " + name);
  }
  size_t next_symbol = 0;
  std::vector<int64_t> scalars;
  for (const Var& var : func.scalars) {
    if (!values.contains(var.get())) {
      if (next_symbol == symbols.size()) {
        throw_user("too few symbolic arguments: " + var->name + " has no value", "@" + name);
      }
      values[var.get()] = symbols[next_symbol++];
    }
    scalars.push_back(values[var.get()]);
  }
  binder.finish();

  std::vector<op::RefTensor> params;
  next = 0;
  for (const tir::Param& param : func.params) {
    if (param.mode == AccessMode::kIn || param.mode == AccessMode::kInOut) {
      params.push_back(*args[next++].tensor);
    } else {
      params.push_back(zeros(param.buffer->dtype, param.buffer->shape, values, limits));
    }
  }
  if (with_bounds) {
    evaluate_with_bounds(func, params, scalars, limits.poll, limits.allowed);
  } else {
    std::vector<HostTensor> host;
    for (const op::RefTensor& param : params) host.push_back(param.to_host());
    run_prim_func(func, host, scalars, limits.poll);
    for (size_t i = 0; i < params.size(); ++i) params[i] = op::RefTensor::from(host[i]);
  }
  std::vector<size_t> given, fresh;
  for (size_t i = 0; i < params.size(); ++i) {
    AccessMode mode = func.params[i].mode;
    if (mode == AccessMode::kIn || mode == AccessMode::kInOut) given.push_back(i);
    if (mode == AccessMode::kOut) fresh.push_back(i);
  }
  if (inout.empty()) inout.assign(fresh.size(), -1);
  Item results;
  results.kind = ItemKind::kTuple;
  size_t next_fresh = 0;
  for (int64_t source : inout) {
    size_t i = source >= 0 ? given.at(static_cast<size_t>(source)) : fresh.at(next_fresh++);
    results.fields.push_back(tensor_item(params[i]));
  }
  return results.fields.size() == 1 ? results.fields[0] : results;
}

}  // namespace tapml::interp
