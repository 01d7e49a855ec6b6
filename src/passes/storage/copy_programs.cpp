#include "passes/storage/copy_programs.h"

#include "passes/kernel.h"
#include "relax/kernel_call.h"
#include "text/structural.h"
#include "tir/builder.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// A program with its own variables.
struct CopyProgram {
  tir::PrimFuncRef func;
  Dims dims, strides;
  Var first;
};

CopyProgram copy_program(DType dtype, size_t rank, bool reads) {
  CopyProgram program;
  program.first = make_var("first");
  std::vector<Var> strides;
  for (size_t d = 0; d < rank; ++d) {
    program.dims.push_back(make_var("d" + std::to_string(d)));
    strides.push_back(make_var("s" + std::to_string(d)));
  }
  program.strides.assign(strides.begin(), strides.end());
  tir::Buffer base = tir::make_buffer("base", dtype, {make_var("size")});
  tir::Buffer values = tir::make_buffer("values", dtype, program.dims);
  auto place = [&](const std::vector<Var>& index) {
    PrimExpr at = program.first;
    for (size_t d = 0; d < rank; ++d) at = at + index[d] * strides[d];
    return at;
  };
  if (reads) {
    tir::Stmt body = tir::compute("read_view", values, [&](const std::vector<Var>& index) {
      return tir::load(base, {place(index)});
    });
    program.func =
        tir::make_prim_func({{base, AccessMode::kIn}, {values, AccessMode::kOut}}, std::move(body));
  } else {
    tir::Stmt body = tir::block("write_view", program.dims, [&](const std::vector<Var>& index) {
      std::vector<PrimExpr> at(index.begin(), index.end());
      return tir::make_store(base, {place(index)}, tir::load(values, std::move(at)));
    });
    program.func = tir::make_prim_func({{base, AccessMode::kInOut}, {values, AccessMode::kIn}},
                                       std::move(body));
  }
  return program;
}

// Adds the program, or finds an existing one.
std::string add_program(Module& module, const CopyProgram& program, std::string name) {
  for (;; name += "_") {
    const BaseFunction* known = module.find(name);
    if (known && text::structural_equal(*known, *program.func)) return name;
    if (known) continue;
    module.functions[name] = program.func;
    return name;
  }
}

Expr call_program(Module& module, bool reads, std::vector<Expr> tensors, const ViewLocation& place,
                  const Annotation& view, const Annotation& result) {
  const auto* tensor = as_tensor(view);
  const size_t rank = tensor->shape->size();
  const CopyProgram program = copy_program(*tensor->dtype, rank, reads);
  const std::string name = add_program(module, program,
                                       std::string(reads ? "read_view_" : "write_view_") +
                                           dtype_name(*tensor->dtype) + "_" + std::to_string(rank));
  VarMap values;
  values[program.first.get()] = place.first;
  for (size_t d = 0; d < rank; ++d) {
    values[program.dims[d].get()] = (*tensor->shape)[d];
    values[program.strides[d].get()] = place.strides[d];
  }
  Dims symbols;
  for (const Var& scalar : underived_scalars(*program.func)) {
    symbols.push_back(values.at(scalar.get()));
  }
  std::vector<Expr> args = {make_global(name), make_tuple(std::move(tensors))};
  if (!symbols.empty()) args.push_back(make_shape(std::move(symbols)));
  AttrMap attrs;
  if (!reads) attrs[kInoutAttr] = std::vector<int64_t>{0};
  return make_op_call(reads ? "call_tir" : "call_tir_inplace", std::move(args), std::move(attrs),
                      {result});
}

}  // namespace

Expr call_read_view(Module& module, const Expr& base, const ViewLocation& place,
                    const Annotation& result) {
  return call_program(module, true, {base}, place, result, result);
}

Expr call_write_view(Module& module, const Expr& base, const Expr& values,
                     const ViewLocation& place) {
  return call_program(module, false, {base, values}, place, annotation_of(values),
                      annotation_of(base));
}

bool is_copy_program(const tir::PrimFunc& program) {
  if (program.params.size() != 2) return false;
  for (bool reads : {true, false}) {
    const tir::BufferNode& base = *program.params[0].buffer;
    const tir::BufferNode& values = *program.params[1].buffer;
    if (base.dtype != values.dtype || base.shape.size() != 1) continue;
    const CopyProgram copy = copy_program(values.dtype, values.shape.size(), reads);
    if (text::structural_equal(program, *copy.func)) return true;
  }
  return false;
}

}  // namespace tapml::passes
