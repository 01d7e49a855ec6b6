#include "random_program.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tir/async_copy.h"
#include "tir/matrix.h"

namespace tapml::text {

namespace {

const std::vector<DType> kDTypes = {DType::kBool, DType::kI8,  DType::kI32, DType::kI64,
                                    DType::kU8,   DType::kU64, DType::kF16, DType::kBF16,
                                    DType::kF32,  DType::kF64};

}  // namespace

DType RandomProgram::dtype() { return pick(kDTypes); }

std::string RandomProgram::name() {
  static const std::vector<std::string> kNames = {"x",
                                                  "x",
                                                  "x_1",
                                                  "n",
                                                  "n",
                                                  "lv",
                                                  "lv0",
                                                  "for",
                                                  "f32",
                                                  "block",
                                                  "model.layers.0.weight",
                                                  "two words",
                                                  "",
                                                  "ü",
                                                  "back`tick",
                                                  "9lives",
                                                  "matmul",
                                                  "output",
                                                  "true",
                                                  "a.b.",
                                                  "nan"};
  return pick(kNames);
}

double RandomProgram::number() {
  switch (below(7)) {
    case 0:
      return 0.0;
    case 1:
      return -0.0;
    case 2:
      return std::numeric_limits<double>::infinity() * (below(2) ? 1 : -1);
    case 3:
      return std::bit_cast<double>(0x7ff8000000000000 | (uint64_t{below(1u << 20)} << 1) |
                                   (uint64_t{below(2)} << 63));
    case 4:
      return std::ldexp(random_.unit() - 0.5, static_cast<int>(random_.between(-1080, 1020)));
    case 5:
      return static_cast<double>(static_cast<float>(
          std::ldexp(random_.unit() - 0.5, static_cast<int>(random_.between(-155, 128)))));
    default:
      return static_cast<double>(random_.between(-100, 100));
  }
}

AttrValue RandomProgram::attr() {
  switch (below(8)) {
    case 0:
      return below(2) == 0;
    case 1:
      return random_.between(std::numeric_limits<int64_t>::min() / 2, 1000);
    case 2:
      return number();
    case 3:
      return std::string("a \"text\"\n\\ \x01 \xff ") + name();
    case 4:
      return dtype();
    case 5:
      return std::vector<int64_t>(below(3), std::numeric_limits<int64_t>::min());
    case 6:
      return std::vector<double>(below(3), number());
    default:
      return std::vector<std::string>(below(3), name());
  }
}

AttrMap RandomProgram::attrs() {
  AttrMap map;
  if (below(2)) return map;
  for (uint32_t i = below(4); i > 0; --i) map[name() + "k"] = attr();
  return map;
}

PrimExpr RandomProgram::leaf(DType type) {
  std::vector<Var> fitting;
  for (const Var& var : vars_) {
    if (var.dtype() == type) fitting.push_back(var);
  }
  if (!fitting.empty() && below(2)) return pick(fitting);
  if (is_float(type)) return make_float(number(), type);
  if (type == DType::kBool) return make_bool(below(2));
  return make_int(random_.between(type == DType::kU8 ? 0 : -5, 100), type);
}

PrimExpr RandomProgram::scalar(DType type, int depth) {
  if (depth <= 0 || below(4) == 0) return leaf(type);
  if (type == DType::kBool) {
    DType operand = dtype();
    switch (below(4)) {
      case 0:
        return make_node(ExprKind::kNot, type, {scalar(type, depth - 1)});
      case 1:
        return make_binary(below(2) ? ExprKind::kAnd : ExprKind::kOr, scalar(type, depth - 1),
                           scalar(type, depth - 1));
      case 2:
        return make_call("isnan", type, {scalar(DType::kF32, depth - 1)});
      default: {
        const std::vector<ExprKind> kinds = {ExprKind::kEq, ExprKind::kNe, ExprKind::kLt,
                                             ExprKind::kLe};
        return make_binary(pick(kinds), scalar(operand, depth - 1), scalar(operand, depth - 1));
      }
    }
  }
  switch (below(6)) {
    case 0:
      return make_node(
          ExprKind::kSelect, type,
          {scalar(DType::kBool, depth - 1), scalar(type, depth - 1), scalar(type, depth - 1)});
    case 1:
      return make_node(ExprKind::kCast, type, {scalar(dtype(), depth - 1)});
    case 2: {
      if (buffers_.empty()) return leaf(type);
      const tir::Buffer source = pick(buffers_);
      PrimExpr element = tir::load(source, indices(source));
      return source->dtype == type ? element : make_node(ExprKind::kCast, type, {element});
    }
    case 3: {
      PrimExpr value = scalar(dtype(), depth - 1);
      Var var = make_var(name(), value.dtype());
      vars_.push_back(var);
      PrimExpr body = scalar(type, depth - 1);
      vars_.pop_back();
      return make_node(ExprKind::kLet, type, {var, value, body});
    }
    case 4:
      return is_float(type) ? make_call(below(2) ? "exp" : "tanh", type, {scalar(type, depth - 1)})
                            : make_call("reinterpret", type, {scalar(dtype(), depth - 1)});
    default: {
      const std::vector<ExprKind> kinds = {ExprKind::kAdd, ExprKind::kSub,      ExprKind::kMul,
                                           ExprKind::kDiv, ExprKind::kFloorDiv, ExprKind::kFloorMod,
                                           ExprKind::kMin, ExprKind::kMax};
      return make_binary(pick(kinds), scalar(type, depth - 1), scalar(type, depth - 1));
    }
  }
}

std::vector<PrimExpr> RandomProgram::indices(const tir::Buffer& buffer) {
  std::vector<PrimExpr> list;
  for (size_t i = 0; i < buffer->shape.size(); ++i) list.push_back(scalar(DType::kI64, 1));
  return list;
}

tir::Buffer RandomProgram::buffer(tir::Scope scope) {
  Dims shape;
  for (uint32_t i = below(3); i > 0; --i) shape.push_back(scalar(DType::kI64, 2));
  Dims strides;
  if (below(4) == 0) {
    for (size_t i = 0; i < shape.size(); ++i) strides.push_back(scalar(DType::kI64, 1));
  }
  return tir::make_buffer(name(), dtype(), std::move(shape), scope, std::move(strides));
}

tir::Region RandomProgram::region() {
  tir::Region region{pick(buffers_), {}, {}};
  region.begins = indices(region.buffer);
  for (size_t i = 0; i < region.begins.size(); ++i) {
    region.extents.push_back(below(2) ? PrimExpr(1) : scalar(DType::kI64, 1));
  }
  return region;
}

tir::Stmt RandomProgram::matrix() {
  const auto layout = static_cast<tir::MatrixLayout>(below(2));
  const int64_t width = random_.between(-1, 64);
  const tir::Buffer memory = pick(buffers_), fragment = pick(buffers_);
  switch (below(4)) {
    case 0:
      return tir::make_matrix_fill(fragment, scalar(dtype(), 2), width);
    case 1:
      return tir::make_matrix_load(fragment, memory, indices(memory), scalar(DType::kI64, 2),
                                   layout, width);
    case 2:
      return tir::make_matrix_store(memory, indices(memory), fragment, scalar(DType::kI64, 2),
                                    layout, width);
    default:
      return tir::make_matrix_multiply_add(fragment, memory, pick(buffers_), pick(buffers_), width);
  }
}

tir::Stmt RandomProgram::block(int depth) {
  auto node = std::make_shared<tir::BlockNode>();
  node->name = name();
  size_t scope = vars_.size();
  std::vector<Var> iters;
  for (uint32_t i = below(3); i > 0; --i) {
    Var var = make_var(name(), below(3) ? DType::kI64 : DType::kI32);
    node->iters.push_back({var, scalar(DType::kI64, 1),
                           below(2) ? tir::IterType::kSpatial : tir::IterType::kReduce,
                           scalar(var.dtype(), 2)});
    iters.push_back(var);
  }
  vars_.insert(vars_.end(), iters.begin(), iters.end());
  if (below(3) == 0) node->predicate = scalar(DType::kBool, 2);
  for (uint32_t i = below(3); i > 0; --i) node->reads.push_back(region());
  for (uint32_t i = below(2); i > 0; --i) node->writes.push_back(region());
  if (below(3) == 0) node->init = stmt(depth - 1);
  node->body = stmt(depth - 1);
  vars_.resize(scope);
  return node;
}

tir::Stmt RandomProgram::stmt(int depth) {
  uint32_t kind = depth <= 0 ? 0 : below(10);
  switch (kind) {
    case 1: {
      PrimExpr extent = scalar(DType::kI64, 1);
      Var var = make_var(name(), below(4) ? DType::kI64 : DType::kI32);
      vars_.push_back(var);
      tir::Stmt body = stmt(depth - 1);
      vars_.pop_back();
      return tir::make_for(var, extent, body, static_cast<tir::ForKind>(below(6)));
    }
    case 2:
    case 3: {
      std::vector<tir::Stmt> list;
      for (uint32_t i = below(4); i > 0; --i) list.push_back(stmt(depth - 1));
      return tir::make_seq(std::move(list));
    }
    case 4:
      return tir::make_if(scalar(DType::kBool, 2), stmt(depth - 1),
                          below(2) ? stmt(depth - 1) : nullptr);
    case 5: {
      tir::Buffer local = buffer(static_cast<tir::Scope>(below(4)));
      buffers_.push_back(local);
      tir::Stmt body = stmt(depth - 1);
      buffers_.pop_back();
      return tir::make_alloc(local, body);
    }
    case 6:
      return block(depth);
    case 7:
      return tir::make_barrier();
    case 8:
      return matrix();
    case 9: {
      const uint32_t step = below(3);
      if (step == 0) return tir::make_commit_copies();
      if (step == 1) return tir::make_wait_copies(random_.between(-1, 3));
      tir::Region to = region();
      return tir::make_copy_async(std::move(to), region());
    }
    default: {
      const tir::Buffer target = pick(buffers_);
      return tir::make_store(target, indices(target), scalar(target->dtype, 3));
    }
  }
}

std::shared_ptr<const tir::PrimFunc> RandomProgram::prim_func() {
  auto func = std::make_shared<tir::PrimFunc>();
  vars_.clear();
  buffers_.clear();
  for (uint32_t i = below(3); i > 0; --i) {
    vars_.push_back(make_var(name(), below(3) ? DType::kI64 : DType::kI32));
  }
  func->scalars = vars_;
  for (uint32_t i = 1 + below(3); i > 0; --i) {
    func->params.push_back({buffer(tir::Scope::kGlobal), static_cast<AccessMode>(below(5))});
  }
  for (const tir::Param& param : func->params) buffers_.push_back(param.buffer);
  func->attrs = attrs();
  func->body = stmt(5);
  return func;
}

PrimExpr RandomProgram::dim() {
  // Occasionally a new symbolic variable, only if the caller may bind one.
  return scalar(DType::kI64, 2);
}

relax::Annotation RandomProgram::annotation(int depth) {
  Dims dims;
  for (uint32_t i = below(3); i > 0; --i) dims.push_back(dim());
  switch (below(depth > 0 ? 10 : 7)) {
    case 0:
      return relax::object_annotation();
    case 1:
      return below(2) ? relax::prim_annotation(DType::kI64, dim())
                      : relax::prim_annotation(dtype());
    case 2:
      return relax::shape_annotation(dims);
    case 3:
      return relax::shape_annotation_ndim(static_cast<int>(below(4)) - 1);
    case 4:
      return relax::tensor_annotation_ndim(static_cast<int>(below(4)) - 1,
                                           below(2) ? std::optional<DType>(dtype()) : std::nullopt);
    case 7:
    case 8: {
      std::vector<relax::Annotation> fields;
      for (uint32_t i = below(3); i > 0; --i) fields.push_back(annotation(depth - 1));
      return relax::tuple_annotation(std::move(fields));
    }
    case 9: {
      std::vector<relax::Annotation> params;
      for (uint32_t i = below(3); i > 0; --i) params.push_back(annotation(depth - 1));
      return relax::callable_annotation(std::move(params), annotation(depth - 1), below(2));
    }
    default:
      return relax::tensor_annotation(dims,
                                      below(4) ? std::optional<DType>(dtype()) : std::nullopt);
  }
}

HostTensor RandomProgram::constant() {
  DType type = dtype();
  Shape shape;
  for (uint32_t i = below(3); i > 0; --i) shape.push_back(below(4));
  if (below(8) == 0) shape = {300, 8};
  HostTensor tensor = HostTensor::zeros(type, shape);
  // Arbitrary bits: NaN payloads, subnormals, infinities.
  for (std::byte& byte : tensor.mutable_bytes()) {
    byte = static_cast<std::byte>(type == DType::kBool ? below(2) : below(256));
  }
  return tensor;
}

relax::Expr RandomProgram::atom(int depth) {
  switch (below(depth > 0 ? 9 : 7)) {
    case 0:
      return relax::make_constant(constant());
    case 1: {
      Dims dims;
      for (uint32_t i = below(3); i > 0; --i) dims.push_back(dim());
      return relax::make_shape(dims);
    }
    case 2:
      return relax::make_prim_value(scalar(dtype(), 2));
    case 3:
      return relax::make_global(name());
    case 4:
      return relax::make_extern(name());
    case 7: {
      std::vector<relax::Expr> fields;
      for (uint32_t i = below(3); i > 0; --i) fields.push_back(atom(depth - 1));
      return relax::make_tuple(std::move(fields));
    }
    case 8:
      return relax::make_get_item(value(depth - 1), static_cast<int>(below(4)));
    default:
      return values_.empty() ? relax::make_tuple({}) : relax::Expr(pick(values_));
  }
}

relax::Expr RandomProgram::value(int depth) {
  if (depth <= 0) return atom(0);
  switch (below(9)) {
    case 0: {
      auto node = std::make_shared<relax::IfNode>();
      node->condition = atom(0);
      node->then_branch = sequence(depth - 1);
      node->else_branch = below(4) ? sequence(depth - 1) : value(depth - 1);
      return node;
    }
    case 1:
      return sequence(depth - 1);
    case 2: {
      auto node = std::make_shared<relax::FunctionNode>();
      auto outer_vars = vars_;
      auto outer_values = values_;
      node->function = function();
      vars_ = outer_vars;
      values_ = outer_values;
      return node;
    }
    case 3:
      return atom(depth);
    default: {
      relax::Expr callee;
      switch (below(5)) {
        case 0:
          callee = relax::make_global(name());
          break;
        case 1:
          callee = relax::make_extern(name());
          break;
        case 2:
          callee = value(depth - 1);
          break;
        default:
          callee = relax::make_operator(name());
          break;
      }
      std::vector<relax::Expr> args;
      for (uint32_t i = below(4); i > 0; --i) args.push_back(atom(1));
      std::vector<relax::Annotation> annotations;
      for (uint32_t i = below(3); i > 0; --i) annotations.push_back(annotation(1));
      return relax::make_call(callee, std::move(args), attrs(), std::move(annotations));
    }
  }
}

relax::Expr RandomProgram::sequence(int depth) {
  size_t outer_vars = vars_.size(), outer_values = values_.size();
  std::vector<relax::Block> blocks;
  for (uint32_t b = below(4); b > 0; --b) {
    relax::Block block;
    block.dataflow = below(2);
    std::vector<relax::Variable> hidden;
    size_t start = values_.size();
    for (uint32_t i = below(4); i > 0; --i) {
      relax::Binding binding;
      binding.value = value(depth - 1);
      if (below(5) == 0) {
        // Binds a symbolic variable as a whole dimension.
        Var fresh = make_var(name());
        binding.match_cast = relax::tensor_annotation({fresh, dim()}, dtype());
        vars_.push_back(fresh);
      }
      if (below(3) == 0) {
        binding.origin = {"layers.0." + name(), "layers.1"};
        binding.origin.lines = {"a.cpp:7", "b.cpp"};
      }
      if (below(4) == 0) {
        binding.check.what = below(2) == 0 ? "operand b of " + name() : "";
        binding.check.binding = binding.check.what.empty() || below(2) == 0 ? name() : "";
        if (!binding.check.empty() && below(3) == 0) binding.check.function = name();
      }
      relax::Annotation type = binding.match_cast && below(2)
                                   ? binding.match_cast
                                   : annotation(binding.match_cast ? 0 : 2);
      binding.var = relax::make_variable(name(), type, block.dataflow && below(2));
      values_.push_back(binding.var);
      block.bindings.push_back(std::move(binding));
    }
    std::vector<relax::Variable> visible(values_.begin(), values_.begin() + start);
    for (size_t i = start; i < values_.size(); ++i) {
      if (!values_[i]->dataflow) visible.push_back(values_[i]);
    }
    values_ = std::move(visible);
    blocks.push_back(std::move(block));
  }
  relax::Expr result = atom(1);
  vars_.resize(outer_vars);
  values_.resize(outer_values);
  return relax::make_seq(std::move(blocks), std::move(result));
}

relax::FunctionRef RandomProgram::function() {
  std::vector<relax::Variable> params;
  for (uint32_t i = below(3); i > 0; --i) {
    Var fresh = make_var(name());
    vars_.push_back(fresh);
    Dims dims = {fresh, dim()};
    params.push_back(relax::make_variable(name(), below(2) ? relax::tensor_annotation(dims, dtype())
                                                           : relax::shape_annotation(dims)));
    values_.push_back(params.back());
  }
  relax::Annotation result = annotation(2);
  return relax::make_function(params, sequence(3), result, attrs(), below(4));
}

Module RandomProgram::module() {
  Module module;
  module.attrs = attrs();
  for (uint32_t i = below(3); i > 0; --i) {
    module.functions[module.unique_name(name() + "p")] = prim_func();
  }
  for (uint32_t i = below(3); i > 0; --i) {
    vars_.clear();
    buffers_.clear();
    values_.clear();
    module.functions[module.unique_name(name())] = function();
  }
  return module;
}

}  // namespace tapml::text
