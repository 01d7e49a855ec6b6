// Kernels with faults that scripts/test_oclgrind must find: they run only there, since their
// behavior is undefined elsewhere.
#include <gtest/gtest.h>

#include <cstdlib>

#include "device/opencl/opencl_device.h"
#include "runtime/local_session.h"

namespace tapml::test {
namespace {

// Groups of 64 threads that read each other's writes without a barrier; and an index one past the
// end.
constexpr const char* kFaults[][2] = {{"race", R"(
__kernel void race(__global uchar* x, long o, long extent) {
  __local float shared[64];
  const long t = get_local_id(0);
  shared[t] = (float)t;
  ((__global float*)(x + o))[t] = shared[63 - t];
})"},
                                      {"past_the_end", R"(
__kernel void past_the_end(__global uchar* x, long o, long extent) {
  ((__global float*)(x + o))[get_global_id(0) + 1] = 1.0f;
})"},
                                      {"sound", R"(
__kernel void sound(__global uchar* x, long o, long extent) {
  __local float shared[64];
  const long t = get_local_id(0);
  shared[t] = (float)t;
  barrier(CLK_LOCAL_MEM_FENCE);
  ((__global float*)(x + o))[t] = shared[63 - t];
})"}};

class InjectedFault : public ::testing::TestWithParam<int> {};

TEST_P(InjectedFault, Runs) {
  if (!std::getenv("TAPML_INJECTED_FAULTS")) GTEST_SKIP() << "for scripts/test_oclgrind";
  const auto& [name, text] = kFaults[GetParam()];
  auto device = device::create_opencl_device();
  ASSERT_TRUE(device) << device.error().to_string();
  auto session = std::move(*runtime::LocalSession::create(*device));
  ModuleBlob blob;
  blob.platform = "opencl";
  blob.format = "opencl-c";
  auto bytes = std::as_bytes(std::span(text, std::char_traits<char>::length(text)));
  blob.bytes.assign(bytes.begin(), bytes.end());
  blob.entries = {name};
  const runtime::ModuleId module{session->new_handle()};
  const runtime::KernelId kernel{session->new_handle()};
  const runtime::BufferRange range{runtime::BufferId{session->new_handle()}, 0};
  ASSERT_TRUE(session->load_module(module, blob));
  ASSERT_TRUE(session->get_kernel(kernel, module, name));
  ASSERT_TRUE(session->allocate(range.buffer, 64 * 4));
  const runtime::LaunchRequest request{kernel, std::span(&range, 1), {}, 64, 64};
  ASSERT_TRUE(session->launch(runtime::kDefaultStream, request));
  EXPECT_TRUE(session->synchronize(runtime::kDefaultStream));
}

INSTANTIATE_TEST_SUITE_P(Oclgrind, InjectedFault, ::testing::Range(0, 3),
                         [](const auto& info) { return std::string(kFaults[info.param][0]); });

}  // namespace
}  // namespace tapml::test
