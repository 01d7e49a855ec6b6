// Storages and the tensors in them (passes/plan_memory.h).
#include "analysis/verifier_impl.h"

namespace tapml::analysis {

using namespace relax;  // NOLINT: this file is about relax alone

void verify_memory(const std::string& op, const CallNode& call, Report& report) {
  const auto& args = call.args;
  const auto* dims = args.empty() ? nullptr : as<ShapeNode>(args.back());
  if (op == "memory.alloc_storage") {
    if (args.size() != 1 || !dims || dims->dims.size() != 1) {
      report.add("R13", op + " takes its size in bytes, as a shape of one dimension");
    }
    return;
  }
  if (op != "memory.alloc_tensor") return;
  bool good = (args.size() == 2 || args.size() == 3) && as<VarNode>(args[0]) &&
              as<ShapeNode>(args[1]) && find_attr<DType>(call.attrs, "dtype");
  if (good && args.size() == 3) {
    const auto* offset = as<PrimValueNode>(args[2]);
    good = offset && offset->value.dtype() == DType::kI64;
  }
  if (good) return;
  report.add("R13",
             op + " takes a storage, a shape and optionally an offset as an i64 prim value, and "
                  "has an attribute dtype");
}

}  // namespace tapml::analysis
