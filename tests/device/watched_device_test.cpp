#include "device/watched/watched_device.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cfenv>
#include <csignal>
#include <cstdio>
#include <numeric>

#include "device/cpu/cpu_device.h"
#include "device/cpu/float_environment.h"
#include "device/inline/inline_memory.h"
#include "device/watched/guarded_memory.h"
#include "runtime/local_session.h"
#include "support/sanitized.h"

namespace tapml::device {
namespace {

using runtime::BufferId;
using runtime::kDefaultStream;
using runtime::KernelId;

// Kernels with forbidden behavior; scalars[0] is the offset.
void write_at(void* const* buffers, const int64_t* scalars, int64_t, int64_t) {
  static_cast<std::byte*>(buffers[1])[scalars[0]] = std::byte{1};
}
void say(void* const*, const int64_t*, int64_t, int64_t) { std::printf("hello\n"); }
void complain(void* const*, const int64_t*, int64_t, int64_t) { ::write(2, "oh\n", 3); }
void round_up(void* const*, const int64_t*, int64_t, int64_t) { std::fesetround(FE_UPWARD); }
void nothing(void* const*, const int64_t*, int64_t, int64_t) {}

class Loader final : public runtime::KernelLoader, public runtime::HostCode {
 public:
  Result<std::shared_ptr<runtime::HostCode>> load(const ModuleBlob&) noexcept override {
    return std::make_shared<Loader>();
  }
  Result<runtime::CpuKernel> find(const std::string& entry) noexcept override {
    if (entry == "write_at") return write_at;
    if (entry == "say") return say;
    if (entry == "complain") return complain;
    if (entry == "round_up") return round_up;
    return nothing;
  }
};

constexpr int64_t kBytes = 100;
constexpr int64_t kOffset = 16;

// A separate session with two buffers of kBytes.
class Watched {
 public:
  explicit Watched(std::shared_ptr<OutputWatch> output = nullptr, bool under_test = true) {
    std::shared_ptr<runtime::Device> device =
        std::make_shared<CpuDevice>(3, std::make_shared<Loader>(), HostLibraries{}, under_test);
    if (under_test) device = watch_launches(std::move(device), {true, &note, std::move(output)});
    session = std::move(*runtime::LocalSession::create(std::move(device)));
    EXPECT_TRUE(session->load_module(runtime::ModuleId{1}, {"cpu", "any", {}, {}, "", ""}));
    for (uint64_t id : {1, 2}) EXPECT_TRUE(session->allocate(BufferId{id}, kBytes));
  }
  // The violation that the launch is reported for.
  Status launch(const std::string& entry, int64_t where = 0) {
    const KernelId kernel{session->new_handle(1) + 100};
    EXPECT_TRUE(session->get_kernel(kernel, runtime::ModuleId{1}, entry));
    const runtime::BufferRange buffers[] = {{BufferId{1}, 0}, {BufferId{2}, kOffset}};
    runtime::LaunchRequest request;
    request.kernel = kernel;
    request.buffers = buffers;
    request.scalars = {&where, 1};
    request.extent = 64;
    request.workgroup_threads = 1;
    EXPECT_TRUE(session->launch(kDefaultStream, request));
    return session->synchronize(kDefaultStream);
  }
  runtime::LaunchNote note;
  std::unique_ptr<runtime::LocalSession> session;
};

TEST(WatchedDevice, OutOfBoundsWritesAreReported) {
  Watched watched;
  EXPECT_TRUE(watched.launch("nothing"));
  // Storage is padded to 16 bytes: 112.
  for (const int64_t inside : {int64_t{0}, -kOffset, int64_t{111} - kOffset}) {
    EXPECT_TRUE(watched.launch("write_at", inside)) << inside;
  }
  for (const int64_t where : {112 - kOffset, 120 - kOffset}) {
    const Status status = watched.launch("write_at", where);
    ASSERT_FALSE(status) << where;
    EXPECT_TRUE(runtime::is_misbehavior(status.error()));
    EXPECT_NE(status.error().message.find("a write to byte " + std::to_string(where) +
                                          " of argument 1 of write_at"),
              std::string::npos)
        << status.error().message;
  }
  EXPECT_TRUE(watched.launch("nothing")) << "the session continues";
}

TEST(WatchedDevice, TheLaunchIsNotedWhileItRuns) {
  Watched watched;
  EXPECT_TRUE(watched.launch("write_at", 0));
  EXPECT_FALSE(watched.note.running);
  EXPECT_EQ(std::string(watched.note.entry), "write_at");
  ASSERT_EQ(watched.note.arguments, 2);
  const runtime::LaunchNote::Argument& argument = watched.note.argument[1];
  EXPECT_EQ(watched.note.find(argument.begin + (1 << 20)), 1);
  EXPECT_EQ(watched.note.find(argument.begin - (1 << 20)), 1);
}

TEST(WatchedDevice, ChangedRoundingIsReportedAndRestored) {
  Watched watched;
  for (int launch = 0; launch < 3; ++launch) {
    const Status status = watched.launch("round_up");
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find("rounds up"), std::string::npos)
        << status.error().message;
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  }
  EXPECT_TRUE(watched.launch("nothing"));
  Watched plain(nullptr, false);
  EXPECT_TRUE(plain.launch("round_up")) << "put back in silence";
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST(FloatEnvironment, RestoresTheThreadsState) {
  const FloatEnvironment usual = FloatEnvironment::of_thread();
  std::fesetround(FE_DOWNWARD);
  const FloatEnvironment changed = FloatEnvironment::of_thread();
  std::feraiseexcept(FE_INEXACT);
  EXPECT_EQ(FloatEnvironment::of_thread(), changed) << "flags are no part of it";
  usual.restore();
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  EXPECT_NE(changed, usual);
  EXPECT_EQ(difference_text(usual, changed).substr(0, 11), "rounds down");
  FloatWatch watch;
  std::string text;
  std::fesetround(FE_UPWARD);
  watch.after_call(usual);
  EXPECT_TRUE(watch.take(text));
  EXPECT_EQ(text.substr(0, 9), "rounds up");
  EXPECT_FALSE(watch.take(text));
}

// In a separate process, whose standard streams are watched.
TEST(WatchedDevice, OutputIsReported) {
  const auto check = [] {
    auto output = OutputWatch::start();
    if (!output) ::_exit(2);
    Watched watched(std::move(*output));
    const auto says = [&](const char* entry, const char* text) {
      const Status status = watched.launch(entry);
      return !status && status.error().message.find(text) != std::string::npos;
    };
    std::printf("not a kernel");
    if (!watched.launch("nothing")) ::_exit(3);
    if (!says("say", "standard stream: \"hello\\n")) ::_exit(4);
    if (!says("complain", "standard stream: \"oh\\n")) ::_exit(5);
    if (!watched.launch("nothing")) ::_exit(6);
    ::_exit(0);
  };
  EXPECT_EXIT(check(), ::testing::ExitedWithCode(0), "not a kernel");
}

TEST(GuardedMemory, LiesBetweenInaccessiblePages) {
  if (testing::kSanitized) GTEST_SKIP() << "the sanitizer has its own signal handler";
  for (const bool at_end : {false, true}) {
    for (const int64_t size :
         {int64_t{0}, int64_t{1}, int64_t{4000}, int64_t{4096}, kBytes << 10}) {
      const auto memory = GuardedMemory::allocate(size, at_end);
      ASSERT_TRUE(memory);
      std::byte* data = memory->host_address();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % kInlineAlignment, 0u);
      EXPECT_EQ(memory->size(), size);
      std::fill_n(data, size, std::byte{1});
      EXPECT_FALSE(memory->take_stray());
      // Whole vectors may be loaded up to the end.
      EXPECT_EQ(std::accumulate(data + size, data + size + 63, 0,
                                [](int sum, std::byte b) { return sum + (b == std::byte{}); }),
                0);
      const int64_t past = (size + 15) / 16 * 16;
      data[past] = std::byte{1};
      EXPECT_EQ(memory->take_stray(), past);
      EXPECT_FALSE(memory->take_stray());
      if (at_end && size == 1) {
        data[-1] = std::byte{1};
        EXPECT_EQ(memory->take_stray(), -1);
      }
      volatile std::byte* beyond = data + (at_end ? past + 4096 : -1);
      EXPECT_EXIT(*beyond = std::byte{1}, ::testing::KilledBySignal(SIGSEGV), "");
      beyond = data + size + (64 << 20);
      EXPECT_EXIT(*beyond = std::byte{1}, ::testing::KilledBySignal(SIGSEGV), "");
    }
  }
}

}  // namespace
}  // namespace tapml::device
