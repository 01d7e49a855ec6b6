// A device computes every dtype that it claims, and refuses requests beyond its limits.
#include <algorithm>

#include "codegen/code_generators.h"
#include "codegen/lower/narrow_index.h"
#include "conformance/generated_kernels.h"
#include "conformance/platforms.h"
#include "op/dtypes.h"
#include "tensor/host_tensor.h"

namespace tapml::test {
namespace {

using runtime::BufferRange;
using runtime::kDefaultStream;
using runtime::KernelId;
using runtime::ModuleId;

using DtypeConformance = Conformance;
TAPML_CONFORMANCE(DtypeConformance);

// A module for the session's device.
ModuleBlob module_of(std::vector<codegen::DeviceFunc> functions, const DeviceInfo& info) {
  target::Target target = target::parse_target(info.platform);
  target::adopt_device(target, info);
  if (codegen::generator_of(target).needs_narrow_index()) {
    for (codegen::DeviceFunc& function : functions) {
      codegen::narrow_index(function, info.features.compute_dtypes.contains(DType::kI64),
                            function.entry, true);
    }
  }
  return codegen::generator_of(target).portable(codegen::compile_module(functions, target));
}

// The result of a dtype's kernel: twice the value; for bool the opposite.
double expected(DType dtype, double value) { return dtype == DType::kBool ? 1 - value : 2 * value; }

TEST_P(DtypeConformance, KernelsOfEveryDtypeThatIsClaimed) {
  if (!computes()) GTEST_SKIP() << "computes nothing";
  std::vector<DType> dtypes;
  std::vector<codegen::DeviceFunc> functions;
  for (DType dtype : op::all_dtypes()) {
    if (!session().info().features.compute_dtypes.contains(dtype)) continue;
    dtypes.push_back(dtype);
    functions.push_back(generated_twice(dtype));
  }
  ASSERT_TRUE(std::find(dtypes.begin(), dtypes.end(), DType::kF32) != dtypes.end());
  const ModuleId module{session().new_handle()};
  Status loaded = session().load_module(module, module_of(functions, session().info()));
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  for (DType dtype : dtypes) {
    SCOPED_TRACE(dtype_name(dtype));
    const KernelId twice{session().new_handle()};
    ASSERT_TRUE(session().get_kernel(twice, module, generated_twice(dtype).entry));
    // Tails beyond whole vectors and words.
    for (int64_t count : {1, 2, 3, 5, 17, 64, 67}) {
      HostTensor values = HostTensor::zeros(dtype, {count});
      for (int64_t i = 0; i < count; ++i) {
        values.set_f64(i, static_cast<double>(dtype == DType::kBool ? i % 2 : (i * 7) % 50));
      }
      // At least 16 bytes lie between tensors, and a kernel may not touch them.
      const int64_t bytes = static_cast<int64_t>(values.bytes().size());
      const int64_t room = (bytes + 15) / 16 * 16;
      const auto x = buffer(room), y = buffer(room + 16);
      ASSERT_TRUE(session().write(kDefaultStream, {x, 0}, values.bytes()));
      write(BufferRange{y, 0}, std::vector<uint8_t>(static_cast<size_t>(room) + 16, 0xa5));
      Status launched = launch(twice, {{x, 0}, {y, 0}}, {}, count);
      ASSERT_TRUE(launched) << launched.error().to_string();
      HostTensor result = HostTensor::zeros(dtype, {count});
      ASSERT_TRUE(session().read(kDefaultStream, {y, 0}, result.mutable_bytes()));
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(result.at_f64(i), expected(dtype, values.at_f64(i)))
            << "element " << i << " of " << count;
      }
      EXPECT_EQ(read<uint8_t>({y, room}, 16), std::vector<uint8_t>(16, 0xa5)) << count;
      session().release(x);
      session().release(y);
    }
  }
}

TEST_P(DtypeConformance, LargerWorkGroupsThanTheLimitAreRefused) {
  const Limits& limits = session().info().limits;
  if (session().info().platform == "cpu" || session().info().platform == "wasm") {
    GTEST_SKIP() << "has no work groups: the number is a share of a thread";
  }
  ASSERT_GT(limits.max_workgroup_threads, 0);
  const auto x = buffer(256);
  write(BufferRange{x, 0}, std::vector<int32_t>(64, 3));
  Status status = launch(kernel("ramp"), {{x, 0}}, {1, 1}, 64, limits.max_workgroup_threads + 1);
  // On a remote device the error is reported at the next wait.
  if (status) status = session().synchronize(kDefaultStream);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kPlatform) << status.error().to_string();
  EXPECT_EQ(status.error().fault, PlatformFault::kLimit) << status.error().to_string();
  // A new session works normally.
  auto next = new_session();
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->synchronize(kDefaultStream));
}

}  // namespace
}  // namespace tapml::test
