#include "conformance/generated_kernels.h"

namespace tapml::test {

namespace {

// A bound for which 32-bit indices suffice.
constexpr int64_t kMostItems = int64_t{1} << 24;

// One kernel: its buffers are vectors of `dtypes`, `count` scalars, `body` runs for each item.
struct Kernel {
  codegen::DeviceFunc func;
  std::vector<tir::Buffer> buffers;
  std::vector<Var> scalars;

  Kernel(const char* entry, DType dtype, size_t vectors, size_t count) {
    func.entry = entry;
    func.item = make_var("i");
    func.extent = kMostItems;  // a launch gives the actual extent
    for (size_t i = 0; i < vectors; ++i) {
      buffers.push_back(tir::make_buffer("b" + std::to_string(i), dtype, {kMostItems}));
      func.buffers.push_back({buffers.back(), AccessMode::kInOut});
    }
    for (size_t i = 0; i < count; ++i) scalars.push_back(make_var("s" + std::to_string(i)));
    func.scalars = scalars;
  }
  PrimExpr item() const { return func.item; }
  PrimExpr at(size_t buffer) const { return tir::load(buffers[buffer], {item()}); }
  tir::Stmt put(size_t buffer, const PrimExpr& value) const {
    return tir::make_store(buffers[buffer], {item()}, value);
  }
};

codegen::DeviceFunc add() {
  Kernel k("add", DType::kF32, 3, 0);
  k.func.body = k.put(2, k.at(0) + k.at(1));
  return k.func;
}

codegen::DeviceFunc scale() {
  Kernel k("scale", DType::kF32, 1, 1);
  k.func.body = k.put(0, k.at(0) * cast(DType::kF32, k.scalars[0]));
  return k.func;
}

codegen::DeviceFunc ramp() {
  Kernel k("ramp", DType::kI32, 1, 2);
  k.func.body = k.put(0, cast(DType::kI32, k.scalars[0] + k.item() * k.scalars[1]));
  return k.func;
}

codegen::DeviceFunc fold() {
  Kernel k("fold", DType::kU32, 1, 1);
  k.func.body = k.put(0, k.at(0) * make_int(3, DType::kU32) + cast(DType::kU32, k.scalars[0]));
  return k.func;
}

codegen::DeviceFunc sentinel() {
  Kernel k("sentinel", DType::kF32, 3, 1);
  std::vector<tir::Stmt> stores;
  for (size_t i = 0; i < 3; ++i) {
    stores.push_back(tir::make_if(eq(k.scalars[0], PrimExpr(static_cast<int64_t>(i))),
                                  k.put(i, make_float(-1000, DType::kF32))));
  }
  k.func.body = tir::make_seq(std::move(stores));
  return k.func;
}

}  // namespace

codegen::DeviceFunc generated_twice(DType dtype) {
  const std::string entry = std::string("twice_") + dtype_name(dtype);
  Kernel k(entry.c_str(), dtype, 2, 0);
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
  const PrimExpr x = narrow ? cast(DType::kF32, k.at(0)) : k.at(0);
  k.func.body = k.put(1, dtype == DType::kBool ? logical_not(x) : cast(dtype, x + x));
  return k.func;
}

ModuleBlob generated_blob(const target::Description& description) {
  return codegen::link_shared(
      codegen::compile_native({add(), scale(), ramp(), fold(), sentinel()}, description));
}

}  // namespace tapml::test
