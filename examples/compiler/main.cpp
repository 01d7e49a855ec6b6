// Builds a module in C++, compiles it for the cpu with a pass of its own, and runs it.
#include <cstdio>
#include <vector>

#include "build/block_builder.h"
#include "build/pattern.h"
#include "build/pattern_builder.h"
#include "codegen/llvm/native.h"
#include "device/open.h"
#include "ir/exceptions.h"
#include "passes/graph_functions.h"
#include "pipeline/compile.h"
#include "relax/visit.h"
#include "runtime/local_session.h"
#include "runtime/virtual_machine.h"
#include "text/printer.h"

using namespace tapml;         // NOLINT: a short program
using namespace tapml::relax;  // NOLINT

namespace {

// main(x, w) = relu(sqrt(x * x) @ w), for any number of rows.
Module build_module() {
  Module module;
  Var n = make_var("n");
  build::FunctionBuilder f(module);
  Variable x = f.param("x", tensor_annotation({n, 3}, DType::kF32));
  Variable w = f.param("w", tensor_annotation({3, 2}, DType::kF32));
  f.begin_dataflow();
  Variable square = f.emit_op("multiply", {x, x}, {}, "square");
  Variable root = f.emit_op("sqrt", {square}, {}, "root");
  Variable product = f.emit_op("matmul", {root, w}, {}, "product");
  Variable y = f.emit_op("relu", {product}, {}, "y", /*output=*/true);
  f.end_dataflow();
  module.functions["main"] = f.finish(y);

  // A pattern in the module makes its matches one kernel each.
  build::PatternBuilder p;
  p.op("relu", {p.op("matmul", {p.any("a"), p.any("b")})});
  module.functions["dense"] = p.finish();
  return module;
}

// The pass: sqrt(x * x) becomes abs(x).
Module abs_of_root(const Module& module) {
  build::PatternBuilder p;
  Variable x = p.any("x");
  p.op("sqrt", {p.op("multiply", {x, x})});
  const FunctionRef pattern = p.finish();

  Module result = module;
  for (const auto& [name, function] : passes::graph_functions(module)) {
    const auto uses = use_counts(function->body);
    Expr body = map_blocks(function->body, [&](const Block& block) {
      Block rewritten = block;
      if (!block.dataflow) return rewritten;
      const build::PatternMatcher matcher(block, uses);
      for (size_t i = 0; i < block.bindings.size(); ++i) {
        if (auto match = matcher.match(*pattern, i)) {
          rewritten.bindings[i].value = make_op_call("abs", {match->arguments[0]});
        }
      }
      return rewritten;  // a later pass removes the multiplication, which nothing uses now
    });
    result.functions[name] = passes::with_body(*function, std::move(body));
  }
  return result;
}

// A session on the target's device.
std::unique_ptr<runtime::Session> open_session(target::Target& target) {
  device::OpenOptions options;
  options.loader = codegen::make_jit_loader();
  auto device = unwrap(device::open_device(target.description.platform, options));
  auto session = unwrap(runtime::LocalSession::create(std::move(device)));
  target::adopt_device(target, session->info());  // compile for exactly this processor
  return session;
}

runtime::Value upload(runtime::Session& session, const Shape& shape, std::vector<float> values) {
  return unwrap(runtime::upload(
      session, HostTensor::from<float>(DType::kF32, shape, std::span<const float>(values))));
}

void run() {
  const Module module = build_module();
  std::printf("%s\n", text::print(*module.find("main"), "main").c_str());

  target::Target target = target::parse_target("cpu");
  const auto session = open_session(target);

  pipeline::ImplementOptions options;
  options.instruments.verify = true;  // check the module after every pass
  options.instruments.added = {
      {.name = "abs_of_root", .after = "simplify_graph", .run = abs_of_root}};
  const auto executable = pipeline::compile(module, target, options);
  for (const KernelInfo& kernel : executable->kernels) {
    std::printf("kernel %s\n", kernel.name.substr(0, kernel.name.rfind('_')).c_str());
  }

  const auto vm = unwrap(session->open_vm(executable));
  const std::vector<runtime::Value> arguments = {
      upload(*session, {2, 3}, {1, -2, 3, -6, 5, -4}),
      upload(*session, {3, 2}, {1, -1, 0, 1, 1, 0}),
  };
  const runtime::Value result = unwrap(vm->call("main", arguments));
  const HostTensor y = unwrap(runtime::download(*result.tensor()));
  for (int64_t row = 0; row < y.shape()[0]; ++row) {
    std::printf("%g %g\n", y.at_f64(2 * row), y.at_f64(2 * row + 1));
  }
}

}  // namespace

int main() {
  try {
    run();
  } catch (const CompilerException& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
