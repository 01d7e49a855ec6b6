// Device failures: memory exhaustion and device loss. The same on every platform.
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>

#include "conformance/platforms.h"
#include "support/sanitized.h"

namespace tapml::test {
namespace {

using runtime::BufferId;
using runtime::kDefaultStream;
using runtime::KernelId;
using runtime::LocalSession;
using runtime::Session;

using FaultConformance = Conformance;
TAPML_CONFORMANCE(FaultConformance);

// A CPU's memory is limited by a limit of this process, a GPU's by its own size.
int64_t block_bytes(Session& session) {
  return session.info().kind == DeviceKind::kGpu ? int64_t{2} << 30 : int64_t{64} << 20;
}

constexpr int64_t kRoom = int64_t{1} << 30;  // memory that the process may still allocate

// The address space in use by this process.
int64_t address_space() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

// Drivers allocate at once or at first use.
Status allocate_and_use(Session& session, BufferId id) {
  const std::vector<std::byte> some(4096, std::byte{1});
  const int64_t block = block_bytes(session);
  TAPML_TRY(session.allocate(id, block));
  TAPML_TRY(session.write(kDefaultStream, {id, 0}, some));
  TAPML_TRY(session.write(kDefaultStream, {id, block - 4096}, some));
  return session.synchronize(kDefaultStream);
}

// Allocates all available memory, releases it and allocates again; exits with 0 if that succeeds.
[[noreturn]] void exhaust(Session& session, bool in_this_process) {
  const auto end = [](const std::string& why) {
    std::fputs((why + "\n").c_str(), stderr);
    ::_exit(1);
  };
  // A GPU driver maps its memory into this process, so a limit on the address space would make the
  // driver itself fail first, anywhere.
  if (in_this_process && session.info().kind != DeviceKind::kGpu) {
    const auto most = static_cast<rlim_t>(address_space() + kRoom);
    const rlimit limit = {most, most};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) end("no limit can be set");
  }
  std::vector<BufferId> taken;
  Status status;
  while (status && std::ssize(taken) < 128) {
    taken.push_back(BufferId{session.new_handle()});
    status = allocate_and_use(session, taken.back());
  }
  if (status) end("128 blocks were taken, and no end");
  if (status.error().fault != PlatformFault::kOutOfMemory) end(status.error().to_string());
  // A late failure may be reported once more.
  if (Status again = session.synchronize(kDefaultStream);
      !again && again.error().fault != PlatformFault::kOutOfMemory) {
    end("then: " + again.error().to_string());
  }
  for (const BufferId id : taken) session.release(id);
  const BufferId id{session.new_handle()};
  if (Status anew = allocate_and_use(session, id); !anew) {
    end("after all was given back: " + anew.error().to_string());
  }
  std::vector<std::byte> read(1);
  if (Status status = session.read(kDefaultStream, {id, 0}, read);
      !status || read[0] != std::byte{1}) {
    end("it does not hold what was written");
  }
  ::_exit(0);
}

TEST_P(FaultConformance, OutOfMemoryIsAnErrorAndRecovers) {
  if (testing::kSanitized) GTEST_SKIP() << "sanitizers reserve address space";
  if (std::string_view(GetParam().name) == "remote_target") {
    GTEST_SKIP() << "the test must not exhaust the memory of another machine";
  }
  if (std::string_view(GetParam().name) == "webgpu") {
    GTEST_SKIP() << "a browser's GPU on the processor hands out more memory than the machine has";
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exhaust(session(), !GetParam().connect), ::testing::ExitedWithCode(0), "");
}

// Every request fails, at once or at the next wait, and nothing hangs.
void expect_lost(Session& session, BufferId buffer, KernelId kernel) {
  std::vector<std::byte> bytes(16);
  const auto is_lost = [](const Status& status, const char* what) {
    ASSERT_FALSE(status) << what;
    EXPECT_EQ(status.error().fault, PlatformFault::kLost)
        << what << ": " << status.error().to_string();
  };
  is_lost(session.synchronize(kDefaultStream), "synchronize");
  is_lost(session.synchronize(kDefaultStream), "synchronize again");
  is_lost(session.read(kDefaultStream, {buffer, 0}, bytes), "read");
  const auto at_the_next_wait = [&](Status status, const char* what) {
    is_lost(status ? session.synchronize(kDefaultStream) : std::move(status), what);
  };
  at_the_next_wait(session.write(kDefaultStream, {buffer, 0}, bytes), "write");
  at_the_next_wait(session.fill_zero(kDefaultStream, {buffer, 0}, 16), "fill");
  at_the_next_wait(session.copy(kDefaultStream, {buffer, 0}, {buffer, 16}, 16), "copy");
  at_the_next_wait(session.allocate(BufferId{session.new_handle()}, 64), "allocate");
  runtime::LaunchRequest request;
  request.kernel = kernel;
  const std::vector<runtime::BufferRange> buffers = {{buffer, 0}};
  const std::vector<int64_t> scalars = {2};
  request.buffers = buffers;
  request.scalars = scalars;
  request.extent = 4;
  request.workgroup_threads = 64;
  at_the_next_wait(session.launch(kDefaultStream, request), "launch");
  session.release(buffer);
}

TEST_P(FaultConformance, ALostDeviceStaysLostAndAnotherOneWorks) {
  const bool local = !GetParam().remote && !GetParam().connect;
  if (local && !GetParam().losable) {
    GTEST_SKIP() << GetParam().name << " is lost with its process only";
  }
  if (GetParam().connect) GTEST_SKIP() << "its connection is ended in the tests of the protocol";
  std::function<void()> lose;
  if (local) {
    auto losable = GetParam().losable();
    ASSERT_TRUE(losable) << losable.error().to_string();
    auto own = LocalSession::create(losable->device);
    ASSERT_TRUE(own) << own.error().to_string();
    session_ = std::move(*own);
    lose = losable->lose;
  } else {
    lose = [&] { servers_.back()->cut(); };
  }
  const BufferId x = buffer(64);
  const KernelId scale = kernel("scale");
  write(runtime::BufferRange{x, 0}, std::vector<float>{1, 2, 3, 4});
  ASSERT_TRUE(launch(scale, {{x, 0}}, {2}, 4));
  ASSERT_TRUE(session().synchronize(kDefaultStream));
  lose();
  if (Status begun = launch(scale, {{x, 0}}, {2}, 4); !begun) {
    EXPECT_EQ(begun.error().fault, PlatformFault::kLost) << begun.error().to_string();
  }
  expect_lost(session(), x, scale);

  // A session of another device is not affected.
  session_ = new_session();
  ASSERT_TRUE(session_);
  module_ = {};
  const BufferId y = buffer(64);
  write(runtime::BufferRange{y, 0}, std::vector<float>{1, 2, 3, 4});
  ASSERT_TRUE(launch(kernel("scale"), {{y, 0}}, {2}, 4));
  const std::vector<float> got = read<float>({y, 0}, 4);
  if (computes()) {
    EXPECT_EQ(got, (std::vector<float>{2, 4, 6, 8}));
  }
}

}  // namespace
}  // namespace tapml::test
