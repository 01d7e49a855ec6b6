// Probe kernels that reach the device's speed: written as tensor programs, compiled as any kernel.
#include "topdown/profile/ceilings.h"

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "text/parser.h"

namespace tapml::topdown {

namespace {

// Pieces of 128 elements, each with `kSteps` dependent multiplications and additions: eight vectors
// of 16 lanes hide each other's latency.
constexpr int64_t kPieces = 256, kLanes = 128, kSteps = 8192;
constexpr const char* kMultiplyAdds = R"(module

prim def peak(x: Buffer((32768,), f32), out y: Buffer((32768,), f32)) {
  for i in parallel(256) {
    block "piece" (vi: spatial(256) = i) {
      reads x[vi*128 +: 128]
      writes y[vi*128 +: 128]
      alloc sum: Buffer((128,), f32, local)
      for j in vectorized(128) {
        sum[j] = x[vi*128 + j]
      }
      for k in serial(8192) {
        for j in vectorized(128) {
          sum[j] = STEP
        }
      }
      for j in vectorized(128) {
        y[vi*128 + j] = sum[j]
      }
    }
  }
}
)";

// Kernels do not use fma() if it takes more than one instruction.
std::string multiply_adds(const target::Target& target) {
  std::string text = kMultiplyAdds;
  const std::string step = "STEP";
  return text.replace(text.find(step), step.size(),
                      target.description.fused_fma ? "fma(sum[j], f32(0.5), f32(1.0))"
                                                   : "sum[j]*f32(0.5) + f32(1.0)");
}

constexpr int64_t kRows = 8192, kWidth = 4096;  // 128 MiB

constexpr double kLongRun = 1;  // seconds

// One operator as a program, with tensors of ones as arguments, made on the device.
class Probe {
 public:
  Probe(runtime::Session& session, const target::Target& target, pipeline::KernelCache* cache,
        const char* op, const std::vector<Shape>& shapes, const AttrMap& attrs,
        const std::string& replacement = "")
      : session_(session) {
    Module module;
    build::FunctionBuilder f(module);
    std::vector<relax::Expr> params;
    for (const Shape& shape : shapes) {
      params.push_back(
          f.param("x", relax::tensor_annotation(Dims(shape.begin(), shape.end()), DType::kF32)));
    }
    module.functions["main"] = f.finish(f.emit_op(op, params, attrs));
    pipeline::ImplementOptions options;
    options.cache = cache;
    const std::unique_ptr<runtime::LocalVirtualMachine> ones =
        machine_of_ones(target, shapes, options);
    constexpr std::array<float, 1> kOne = {1};
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Shape ranks(shapes[i].size(), 1);
      const std::vector<runtime::Value> one = {
          unwrap(runtime::upload(session, HostTensor::from<float>(DType::kF32, ranks, kOne)))};
      arguments_.push_back(unwrap(ones->call("ones" + std::to_string(i), one)));
    }
    if (!replacement.empty()) {
      Module written = text::parse(replacement, "ceilings");
      options.rewrite = [written](const std::string&, tir::PrimFuncRef) {
        return std::static_pointer_cast<const tir::PrimFunc>(written.functions.at("peak"));
      };
    }
    vm_ = unwrap(
        runtime::LocalVirtualMachine::create(session, pipeline::compile(module, target, options)));
  }

  // The best of a few runs, after one that loads and warms up. If that one takes long (an
  // emulator), it is the measurement.
  double seconds() {
    double best = run();
    if (best > kLongRun) return best;
    const double end = seconds_now() + 0.3;
    for (int i = 0; i < 3 || seconds_now() < end; ++i) best = std::min(best, run());
    return best;
  }

 private:
  std::unique_ptr<runtime::LocalVirtualMachine> machine_of_ones(
      const target::Target& target, const std::vector<Shape>& shapes,
      const pipeline::ImplementOptions& options) {
    Module module;
    for (size_t i = 0; i < shapes.size(); ++i) {
      build::FunctionBuilder f(module);
      const relax::Expr one =
          f.param("one", relax::tensor_annotation(Dims(shapes[i].size(), 1), DType::kF32));
      const Dims dims(shapes[i].begin(), shapes[i].end());
      module.functions["ones" + std::to_string(i)] =
          f.finish(f.emit_op("broadcast_to", {one, relax::make_shape(dims)}));
    }
    return unwrap(
        runtime::LocalVirtualMachine::create(session_, pipeline::compile(module, target, options)));
  }

  double run() {
    unwrap(session_.synchronize(runtime::kDefaultStream));
    double start = seconds_now();
    unwrap(vm_->call("main", arguments_));
    unwrap(session_.synchronize(runtime::kDefaultStream));
    return seconds_now() - start;
  }

  runtime::Session& session_;
  std::unique_ptr<runtime::LocalVirtualMachine> vm_;
  std::vector<runtime::Value> arguments_;
};

}  // namespace

Ceilings measure_ceilings(runtime::Session& session, const target::Target& target,
                          pipeline::KernelCache* cache) {
  Ceilings ceilings;
  {
    Probe peak(session, target, cache, "silu", {{kPieces * kLanes}}, {}, multiply_adds(target));
    ceilings.flops_per_s = 2.0 * kPieces * kLanes * kSteps / peak.seconds();
  }
  constexpr double kBytes = 4.0 * kRows * kWidth;
  {
    Probe read(session, target, cache, "sum", {{kRows, kWidth}},
               {{"axes", std::vector<int64_t>{1}}});
    ceilings.bytes_per_s = kBytes / read.seconds();
  }
  Probe add(session, target, cache, "add", {{kRows / 2, kWidth}, {kRows / 2, kWidth}}, {});
  ceilings.bytes_per_s = std::max(ceilings.bytes_per_s, 1.5 * kBytes / add.seconds());
  return ceilings;
}

}  // namespace tapml::topdown
