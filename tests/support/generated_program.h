// Programs of generated operator calls, run on a platform and compared with the interpreter.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "arith/evaluate.h"
#include "build/block_builder.h"
#include "fuzz/generate/dimension_names.h"
#include "interp/interpreter.h"
#include "ir/exceptions.h"
#include "op/operator.h"
#include "passes/legalize.h"
#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "support/sessions.h"
#include "support/within_bounds.h"

namespace tapml::testing {

using fuzz::DimForm;
using fuzz::DimNames;

// A function of `module` and its arguments.
struct GeneratedProgram {
  std::string function;
  std::string text;  // the call, for messages
  std::vector<HostTensor> arguments;
  bool may_refuse = false;  // if the reference refuses the sizes, the compiled code must too
};

inline std::string describe(const op::OperatorInfo& info, const op::GeneratedCall& call) {
  std::string text = std::string(info.name) + "(";
  for (const op::GeneratedArg& arg : call.args) {
    if (text.back() != '(') text += ", ";
    for (const op::GeneratedTensor& tensor : arg.tensors) {
      text += dtype_name(tensor.dtype) + shape_to_string(tensor.shape);
    }
    if (arg.tensors.empty()) text += shape_to_string(arg.ints);
  }
  text += ")";
  for (const auto& [name, value] : call.attrs) {
    text += " " + name + "=";
    if (const auto* integer = std::get_if<int64_t>(&value)) text += std::to_string(*integer);
    if (const auto* flag = std::get_if<bool>(&value)) text += *flag ? "true" : "false";
    if (const auto* number = std::get_if<double>(&value)) text += std::to_string(*number);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
      text += shape_to_string(*list);
    if (const auto* dtype = std::get_if<DType>(&value)) text += dtype_name(*dtype);
    if (const auto* string = std::get_if<std::string>(&value)) text += *string;
  }
  return text;
}

// The call with other extents for what add_generated names: `extents`, repeated in turn. Attributes
// and the ranges of elements stay.
inline op::GeneratedCall resized(const op::GeneratedCall& call, DimForm form,
                                 const std::vector<int64_t>& extents) {
  std::map<int64_t, int64_t> others;
  op::GeneratedCall result = call;
  for (op::GeneratedArg& arg : result.args) {
    for (op::GeneratedTensor& tensor : arg.tensors) {
      const size_t count = form == DimForm::kSymbolic ? tensor.shape.size() : 1;
      for (size_t d = 0; d < std::min(count, tensor.shape.size()); ++d) {
        int64_t& extent = tensor.shape[d];
        if (extent < 2) continue;
        extent = others.try_emplace(extent, extents[others.size() % extents.size()]).first->second;
      }
    }
  }
  if (form != DimForm::kSymbolic) return result;
  for (op::GeneratedArg& arg : result.args) {
    for (int64_t& value : arg.ints) {
      if (auto it = others.find(value); it != others.end()) value = it->second;
    }
  }
  return result;
}

// Adds function `name` that calls the operator as generated. Returns false if the form has no
// symbolic dimension, or if deduction or legalization refuses it in this form (never for kStatic:
// that exception passes through).
inline bool add_generated(Module& module, const std::string& name, const op::OperatorInfo& info,
                          const op::GeneratedCall& call, DimForm form) {
  DimNames names(form);
  Module own;
  build::FunctionBuilder f(own);
  std::vector<relax::Expr> args;
  // Shapes after tensors: their integers may refer to dimensions of these.
  std::vector<Dims> shapes;
  for (const op::GeneratedArg& arg : call.args) {
    for (const op::GeneratedTensor& tensor : arg.tensors)
      shapes.push_back(names.tensor(tensor.shape));
  }
  if (form != DimForm::kStatic && !names.any()) return false;
  size_t next = 0;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const op::GeneratedArg& arg = call.args[i];
    std::vector<relax::Expr> tensors;
    for (const op::GeneratedTensor& tensor : arg.tensors) {
      tensors.push_back(f.param("x" + std::to_string(next),
                                relax::tensor_annotation(shapes[next], tensor.dtype)));
      ++next;
    }
    switch (info.args[i].kind) {
      case op::ArgumentKind::kTensor:
        args.push_back(tensors.at(0));
        break;
      case op::ArgumentKind::kTensors:
        args.push_back(relax::make_tuple(tensors));
        break;
      case op::ArgumentKind::kShape:
        args.push_back(relax::make_shape(names.integers(arg.ints)));
        break;
      case op::ArgumentKind::kPrim:
        args.push_back(relax::make_prim_value(names.integers(arg.ints).at(0)));
        break;
    }
  }
  try {
    f.begin_dataflow();
    relax::Variable result = f.emit_op(info.name, args, call.attrs, "", true);
    f.end_dataflow();
    own.functions["main"] = f.finish(result);
    passes::legalize(own);
  } catch (const CompilerException& exception) {
    if (form == DimForm::kStatic || exception.error().kind != ErrorKind::kUser) throw;
    return false;
  }
  module.functions[name] = own.functions["main"];
  return true;
}

inline std::vector<HostTensor> random_arguments(const op::GeneratedCall& call, RandomStream& rng) {
  std::vector<HostTensor> tensors;
  for (const op::GeneratedArg& arg : call.args) {
    for (const op::GeneratedTensor& type : arg.tensors) {
      tensors.push_back(op::random_tensor(type, rng));
    }
  }
  return tensors;
}

inline void collect(const interp::Value& value, std::vector<op::RefTensor>& tensors) {
  if (std::holds_alternative<op::RefTensor>(value.data)) {
    tensors.push_back(value.as_tensor());
  } else if (std::holds_alternative<std::shared_ptr<const interp::ValueList>>(value.data)) {
    for (const interp::Value& field : value.as_tuple()) collect(field, tensors);
  }
}

inline void collect(const runtime::Value& value, std::vector<HostTensor>& tensors) {
  if (const runtime::Tensor* tensor = value.tensor()) {
    auto host = runtime::download(*tensor);
    ASSERT_TRUE(host) << host.error().to_string();
    tensors.push_back(*host);
  } else if (const runtime::ValueList* fields = value.tuple()) {
    for (const runtime::Value& field : *fields) collect(field, tensors);
  }
}

// Runs each program in `executable`, compiled from `module`, and compares it with the reference and
// what the platform documents.
inline void expect_matches_reference(runtime::Session& session,
                                     std::shared_ptr<const Executable> executable,
                                     const Module& module,
                                     const std::vector<GeneratedProgram>& programs,
                                     const OpenElements& open = {}) {
  auto vm = runtime::LocalVirtualMachine::create(session, std::move(executable));
  ASSERT_TRUE(vm) << vm.error().to_string();
  interp::CallOptions options;
  if (const target::Description* platform = target::find_description(session.info().platform)) {
    options.allowed = platform->allowances;
  }
  for (const GeneratedProgram& program : programs) {
    SCOPED_TRACE(program.function + ": " + program.text);
    std::vector<runtime::Value> args;
    std::vector<interp::Value> reference_args;
    for (const HostTensor& argument : program.arguments) {
      auto tensor = runtime::upload(session, argument);
      ASSERT_TRUE(tensor) << tensor.error().to_string();
      args.emplace_back(*tensor);
      reference_args.push_back(interp::Value::tensor(op::RefTensor::from(argument)));
    }
    std::vector<op::RefTensor> expected;
    std::optional<Error> refusal;
    try {
      collect(interp::call(module, program.function, reference_args, options), expected);
    } catch (const CompilerException& exception) {
      if (!program.may_refuse || exception.error().kind != ErrorKind::kUser) throw;
      refusal = exception.error();
    }
    auto result = (*vm)->call(program.function, args);
    if (refusal) {
      EXPECT_FALSE(result) << "the reference refuses: " << refusal->to_string();
      continue;
    }
    if (!result) {
      ADD_FAILURE() << result.error().to_string();
      continue;
    }
    std::vector<HostTensor> found;
    collect(*result, found);
    if (::testing::Test::HasFatalFailure()) return;
    EXPECT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
      auto problem = outside_bound(found[i], expected[i], open);
      EXPECT_FALSE(problem) << "output " << i << " " << *problem;
    }
  }
}

}  // namespace tapml::testing
