// Kernels whose speed is the device's: written as tensor programs, compiled as any other kernel.
#include <algorithm>
#include <chrono>

#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "text/parser.h"
#include "topdown/profile/profile.h"

namespace tapml::topdown {

namespace {

// Pieces of 128 elements, each `kSteps` dependent multiply-adds: eight vectors of 16 lanes hide the
// latency of one another.
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
          sum[j] = fma(sum[j], f32(0.5), f32(1.0))
        }
      }
      for j in vectorized(128) {
        y[vi*128 + j] = sum[j]
      }
    }
  }
}
)";

constexpr int64_t kRows = 8192, kWidth = 4096;  // 128 MiB

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One operator as a program, with zeros for arguments.
class Probe {
 public:
  Probe(runtime::Session& session, const std::string& target, const char* op,
        const std::vector<Shape>& shapes, const AttrMap& attrs, const char* replacement = nullptr)
      : session_(session) {
    Module module;
    build::FunctionBuilder f(module);
    std::vector<relax::Expr> params;
    for (const Shape& shape : shapes) {
      params.push_back(
          f.param("x", relax::tensor_annotation(Dims(shape.begin(), shape.end()), DType::kF32)));
      arguments_.emplace_back(
          unwrap(runtime::upload(session, HostTensor::zeros(DType::kF32, shape))));
    }
    module.functions["main"] = f.finish(f.emit_op(op, params, attrs));
    pipeline::ImplementOptions options;
    if (replacement) {
      Module written = text::parse(replacement, "ceilings");
      options.rewrite = [written](const std::string&, tir::PrimFuncRef) {
        return std::static_pointer_cast<const tir::PrimFunc>(written.functions.at("peak"));
      };
    }
    target::Target parsed = target::parse_target(target);
    target::adopt_processor(parsed, session.info());
    vm_ = unwrap(
        runtime::VirtualMachine::create(session, pipeline::compile(module, parsed, options)));
  }

  // The best of a few runs, after one that loads and warms up.
  double seconds() {
    double best = run();
    const double end = seconds_now() + 0.3;
    for (int i = 0; i < 3 || seconds_now() < end; ++i) best = std::min(best, run());
    return best;
  }

 private:
  double run() {
    unwrap(session_.synchronize(runtime::kDefaultStream));
    double start = seconds_now();
    unwrap(vm_->call("main", arguments_));
    unwrap(session_.synchronize(runtime::kDefaultStream));
    return seconds_now() - start;
  }

  runtime::Session& session_;
  std::unique_ptr<runtime::VirtualMachine> vm_;
  std::vector<runtime::Value> arguments_;
};

}  // namespace

Ceilings measure_ceilings(runtime::Session& session, const std::string& target) {
  Ceilings ceilings;
  {
    Probe peak(session, target, "silu", {{kPieces * kLanes}}, {}, kMultiplyAdds);
    ceilings.flops_per_s = 2.0 * kPieces * kLanes * kSteps / peak.seconds();
  }
  constexpr double kBytes = 4.0 * kRows * kWidth;
  {
    Probe read(session, target, "sum", {{kRows, kWidth}}, {{"axes", std::vector<int64_t>{1}}});
    ceilings.bytes_per_s = kBytes / read.seconds();
  }
  Probe add(session, target, "add", {{kRows / 2, kWidth}, {kRows / 2, kWidth}}, {});
  ceilings.bytes_per_s = std::max(ceilings.bytes_per_s, 1.5 * kBytes / add.seconds());
  return ceilings;
}

}  // namespace tapml::topdown
