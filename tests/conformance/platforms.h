// The platforms that the conformance suite runs on, and helpers that its tests share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "runtime/device.h"
#include "runtime/local_session.h"
#include "support/memory_channel.h"

namespace tapml::test {

struct Platform {
  const char* name;
  bool computes;       // its kernels write their outputs
  bool may_be_absent;  // depends on a driver of the machine
  Result<std::shared_ptr<runtime::Device>> (*create)();
  // A module with the kernels of native_kernels.h.
  ModuleBlob (*module)();
  bool remote = false;  // through the protocol
  // Opens sessions on another machine; `create` is unused then.
  std::unique_ptr<runtime::Session> (*connect)() = nullptr;
  // A separate device that can be lost, and the function that loses it; null if a device is lost
  // only with its process.
  struct Losable {
    std::shared_ptr<runtime::Device> device;
    std::function<void()> lose;
  };
  Result<Losable> (*losable)() = nullptr;
};

std::span<const Platform> conformance_platforms();

// Every test of a Conformance suite runs once per platform, each with a new session on the
// platform's only device.
class Conformance : public ::testing::TestWithParam<Platform> {
 protected:
  void SetUp() override;
  void TearDown() override;

  bool computes() const { return GetParam().computes; }
  runtime::Session& session() { return *session_; }
  std::unique_ptr<runtime::Session> new_session();

  // A new buffer; fails the test if the allocation fails.
  runtime::BufferId buffer(int64_t bytes);
  runtime::KernelId kernel(const std::string& entry);

  template <class T>
  void write(runtime::BufferRange to, const std::vector<T>& values,
             runtime::StreamId stream = runtime::kDefaultStream) {
    Status status = session().write(stream, to, std::as_bytes(std::span(values)));
    ASSERT_TRUE(status) << status.error().to_string();
  }
  template <class T>
  std::vector<T> read(runtime::BufferRange from, size_t count,
                      runtime::StreamId stream = runtime::kDefaultStream) {
    std::vector<T> values(count);
    Status status = session().read(stream, from, std::as_writable_bytes(std::span(values)));
    EXPECT_TRUE(status) << status.error().to_string();
    return values;
  }
  Status launch(runtime::KernelId kernel, std::vector<runtime::BufferRange> buffers,
                std::vector<int64_t> scalars, int64_t extent, int64_t workgroup_threads = 64,
                runtime::StreamId stream = runtime::kDefaultStream);

  std::shared_ptr<runtime::Device> device_;
  std::vector<std::unique_ptr<testing::MemoryServer>> servers_;  // of remote sessions
  std::unique_ptr<runtime::Session> session_;
  runtime::ModuleId module_{};
};

inline void PrintTo(const Platform& platform, std::ostream* stream) { *stream << platform.name; }

inline std::string platform_name(const ::testing::TestParamInfo<Platform>& info) {
  return info.param.name;
}

#define TAPML_CONFORMANCE(suite)                                                               \
  INSTANTIATE_TEST_SUITE_P(Platforms, suite,                                                   \
                           ::testing::ValuesIn(::tapml::test::conformance_platforms().begin(), \
                                               ::tapml::test::conformance_platforms().end()),  \
                           ::tapml::test::platform_name)

}  // namespace tapml::test
