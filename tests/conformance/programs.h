// Handwritten executables that use the kernels of native_kernels.h.
#pragma once

#include <memory>

#include "conformance/native_kernels.h"

namespace tapml::test {

inline ScalarProgram slot(int64_t index) { return ScalarProgram::slot(index); }
inline ScalarProgram constant(int64_t value) { return ScalarProgram::constant(value); }
// slot * factor + term
inline ScalarProgram affine(int64_t index, int64_t factor, int64_t term = 0) {
  return {{{ScalarOp::kSlot, index},
           {ScalarOp::kConst, factor},
           {ScalarOp::kMul, 0},
           {ScalarOp::kConst, term},
           {ScalarOp::kAdd, 0}}};
}

inline constexpr int32_t kAdd = 0;    // add_00000001(a in f32[n], b in f32[n], c out f32[n]; n)
inline constexpr int32_t kScale = 1;  // scale_00000002(x inout f32[n]; n, s)
inline constexpr int32_t kTwice = 2;  // twice_00000003(a, b, c; n): c = (a + b) + b, by a workspace

// The three kernels above without any function; `entry` replaces the device kernel of kAdd.
inline Executable kernels_only(ModuleBlob module, const std::string& entry = "add") {
  auto vector = [](const char* name, AccessMode mode) {
    return ParamInfo{name, DType::kF32, mode, {slot(0)}};
  };
  Executable program;
  program.target = module.platform;
  program.modules.push_back(std::move(module));
  std::vector<ParamInfo> abc = {vector("a", AccessMode::kIn), vector("b", AccessMode::kIn),
                                vector("c", AccessMode::kOut)};
  program.kernels.push_back({"add_00000001", abc, {"n"}, ""});
  program.kernels.push_back({"scale_00000002", {vector("x", AccessMode::kInOut)}, {"n", "s"}, ""});
  program.kernels.push_back({"twice_00000003", abc, {"n"}, ""});

  Implementation add;
  add.kernel = kAdd;
  add.launches = {{entry, slot(0), 32, {0, 1, 2}, {}}};
  if (entry == "sentinel") {
    // The sentinel's scalar is the index of the buffer it overwrites: n = 2 selects the third.
    add.launches[0].scalars = {0};
  }
  Implementation scale;
  scale.kernel = kScale;
  scale.launches = {{"scale", slot(0), 32, {0}, {1}}};
  Implementation twice;
  twice.kernel = kTwice;
  twice.workspaces = {{"w0", DType::kF32, AccessMode::kWorkspace, {slot(0)}},
                      {"w1", DType::kF32, AccessMode::kWorkspace, {slot(0)}}};
  // w1 = a + b; c = w1 + b
  twice.launches = {{"add", slot(0), 32, {0, 1, 4}, {}}, {"add", slot(0), 32, {4, 1, 2}, {}}};
  program.implementations = {add, scale, twice};
  return program;
}

inline ValueCheck vector_check(const std::string& where, DimCheck dim) {
  ValueCheck check;
  check.kind = ValueCheck::Kind::kTensor;
  check.has_dtype = true;
  check.dtype = DType::kF32;
  check.ndim = 1;
  check.has_dims = true;
  check.dims = {std::move(dim)};
  check.where = where;
  return check;
}

// main(x f32[n], y f32[n]): t = add(x, y); u = add(t, y); scale(u, 3); return u
inline Executable chain_program(ModuleBlob module, const std::string& entry = "add") {
  Executable program = kernels_only(std::move(module), entry);
  program.call_sites = {{kAdd, "main", {"model.layers.0"}},
                        {kAdd, "main", {"model.layers.1"}},
                        {kScale, "main", {"model.norm"}}};
  VmFunction main;
  main.name = "main";
  main.params = {"x", "y"};
  main.registers = 6;
  main.slots = 1;
  main.programs = {slot(0), affine(0, 4), constant(3)};
  main.layouts = {{DType::kF32, {0}}};
  main.checks = {vector_check("parameter x of main", {0, {}, "n"}),
                 vector_check("parameter y of main", {-1, slot(0), "n"})};
  using Op = Opcode;
  main.code = {
      {Op::kCheck, 0, 0},
      {Op::kCheck, 1, 1},
      {Op::kAllocStorage, 2, 1},
      {Op::kMakeTensor, 3, 2, 0},
      {Op::kCallKernel, 0, 0, 0, {0, 1, 3}, {0}},
      {Op::kAllocStorage, 4, 1},
      {Op::kMakeTensor, 5, 4, 0},
      {Op::kCallKernel, 1, 0, 0, {3, 1, 5}, {0}},
      {Op::kRelease, 3},
      {Op::kRelease, 2},
      {Op::kCallKernel, 2, 0, 0, {5}, {0, 2}},
      {Op::kReturn, 5},
  };
  program.functions.push_back(std::move(main));
  return program;
}

inline constexpr int32_t kPack = 3;  // pack_00000004(w, x, c f32[4]): p = w + w at load, c = p + x

// prepare(w f32[4]) -> p; main(w, x f32[4], p) -> pack(w, x), where p is packed from w.
inline Executable packing_program(ModuleBlob module) {
  Executable program = kernels_only(std::move(module));
  auto vector = [](const char* name, AccessMode mode) {
    return ParamInfo{name, DType::kF32, mode, {constant(4)}};
  };
  program.kernels.push_back(
      {"pack_00000004",
       {vector("w", AccessMode::kIn), vector("x", AccessMode::kIn), vector("c", AccessMode::kOut)},
       {},
       ""});
  Implementation pack;
  pack.kernel = kPack;
  pack.workspaces = {vector("p", AccessMode::kPrepared)};
  pack.launches = {{"add", constant(4), 32, {0, 0, 3}, {}},
                   {"add", constant(4), 32, {3, 1, 2}, {}}};
  pack.launches[0].prepares = true;
  pack.preparation = "0123456789abcdef";
  program.implementations.push_back(pack);
  program.call_sites = {{kPack, "main", {}}};
  using Op = Opcode;
  VmFunction main;
  main.name = "main";
  main.params = {"w", "x", "p"};
  main.registers = 5;
  main.programs = {constant(16), constant(4)};
  main.layouts = {{DType::kF32, {1}}};
  main.code = {{Op::kAllocStorage, 3, 0},
               {Op::kMakeTensor, 4, 3, 0},
               {Op::kCallKernel, 0, 3, 0, {0, 1, 4}, {}},
               {Op::kReturn, 4}};
  VmFunction prepare;
  prepare.name = "prepare";
  prepare.params = {"w"};
  prepare.registers = 3;
  prepare.programs = {constant(256)};
  prepare.layouts = {{DType::kU8, {0}}};
  prepare.code = {{Op::kAllocStorage, 1, 0},
                  {Op::kMakeTensor, 2, 1, 0},
                  {Op::kRelease, 1},
                  {Op::kPrepare, 2, kPack, 0, {0}},
                  {Op::kReturn, 2}};
  program.functions = {std::move(main), std::move(prepare)};
  return program;
}

inline std::shared_ptr<const Executable> share(Executable program) {
  return std::make_shared<const Executable>(std::move(program));
}

inline HostTensor f32(std::vector<float> values) {
  Shape shape = {static_cast<int64_t>(values.size())};
  return HostTensor::from(DType::kF32, shape, std::span<const float>(values));
}

inline std::vector<float> floats(const HostTensor& tensor) {
  auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace tapml::test
