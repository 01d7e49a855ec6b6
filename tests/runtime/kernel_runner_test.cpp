#include <gtest/gtest.h>

#include "conformance/programs.h"
#include "runtime/call_point.h"
#include "test_device.h"

namespace tapml::test {
namespace {

using runtime::BeyondLimits;
using runtime::KernelRunner;
using runtime::Tensor;

class KernelRunnerTest : public ::testing::Test {
 protected:
  void make(Executable program) {
    auto runner = KernelRunner::create(*test_, share(std::move(program)));
    ASSERT_TRUE(runner) << runner.error().to_string();
    runner_ = std::move(*runner);
  }
  Tensor tensor(const std::vector<float>& values) { return *runtime::upload(*test_, f32(values)); }
  static Tensor part_of(const Tensor& all, int64_t first, int64_t count) {
    Tensor part = all;
    part.offset = first * 4;
    part.shape = {count};
    return part;
  }
  Error error(int32_t kernel, const std::vector<Tensor>& args,
              const std::vector<int64_t>& scalars) {
    Status status = runner_->enqueue(kernel, args, scalars);
    EXPECT_FALSE(status);
    return status ? Error{} : status.error();
  }

  TestSession test_;
  std::unique_ptr<KernelRunner> runner_;
};

TEST_F(KernelRunnerTest, RunsAndBumpsVersionsOfWrittenTensors) {
  make(kernels_only(native_blob()));
  EXPECT_TRUE(runner_->has(kAdd));
  EXPECT_FALSE(runner_->has(3));
  EXPECT_FALSE(runner_->has(-1));
  Tensor a = tensor({1, 2}), b = tensor({10, 20}), c = tensor({0, 0});
  Status status = runner_->enqueue(kAdd, std::vector{a, b, c}, std::vector<int64_t>{2});
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(floats(*runtime::download(c)), (std::vector<float>{11, 22}));
  EXPECT_EQ(a.storage->version(), 1u);
  EXPECT_EQ(c.storage->version(), 2u);
  ASSERT_TRUE(runner_->enqueue(kScale, std::vector{c}, std::vector<int64_t>{2, 2}));
  EXPECT_EQ(floats(*runtime::download(c)), (std::vector<float>{22, 44}));
  EXPECT_EQ(c.storage->version(), 3u);
}

TEST_F(KernelRunnerTest, WorkspacesShareOneArenaThatOnlyGrows) {
  make(kernels_only(native_blob()));
  auto run = [&](int64_t n) {
    Tensor a = tensor(std::vector<float>(n, 1)), b = tensor(std::vector<float>(n, 2));
    Tensor c = tensor(std::vector<float>(n, 0));
    int64_t before = test_.behaviour().allocations;
    Status status = runner_->enqueue(kTwice, std::vector{a, b, c}, std::vector<int64_t>{n});
    EXPECT_TRUE(status) << status.error().to_string();
    EXPECT_EQ(floats(*runtime::download(c)), std::vector<float>(n, 5));
    return test_.behaviour().allocations - before;
  };
  EXPECT_EQ(run(10), 1);
  EXPECT_EQ(test_.behaviour().live_bytes, 512) << "two workspaces on steps of 256 bytes";
  EXPECT_EQ(run(10), 0);
  EXPECT_EQ(run(100), 1);
  EXPECT_EQ(run(3), 0);
  EXPECT_EQ(test_.behaviour().live_bytes, 1024);
}

// Rows of a tensor may start at an offset that the device does not accept for arguments.
TEST_F(KernelRunnerTest, MisalignedArgumentsAreCopied) {
  test_.device->limits().buffer_alignment = 16;
  make(kernels_only(native_blob()));
  Tensor all = tensor({1, 2, 3, 4, 5, 6, 7, 8});
  auto part = [&](int64_t first) { return part_of(all, first, 2); };
  Status status =
      runner_->enqueue(kAdd, std::vector{part(1), part(4), part(6)}, std::vector<int64_t>{2});
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(floats(*runtime::download(all)), (std::vector<float>{1, 2, 3, 4, 5, 6, 2 + 5, 3 + 6}));
  const uint64_t version = all.storage->version();
  ASSERT_TRUE(runner_->enqueue(kScale, std::vector{part(3)}, std::vector<int64_t>{2, 10}));
  EXPECT_EQ(floats(*runtime::download(all)), (std::vector<float>{1, 2, 3, 40, 50, 6, 7, 9}));
  EXPECT_GT(all.storage->version(), version);
  for (int64_t offset : test_.behaviour().offsets) EXPECT_EQ(offset % 16, 0);
  EXPECT_EQ(test_.behaviour().live_bytes, 32 + 512) << "the copies share what only grows";
  // An argument outside its storage is refused, not copied.
  Tensor outside = part(7);
  EXPECT_NE(error(kScale, {outside}, {2, 10}).message.find("outside"), std::string::npos);
}

// The kernel reads and writes workspaces beside the copies.
TEST_F(KernelRunnerTest, WorkspacesBesideCopiedArguments) {
  test_.device->limits().buffer_alignment = 16;
  make(kernels_only(native_blob()));
  Tensor all = tensor({0, 1, 2, 3, 4});
  auto part = [&](int64_t first) { return part_of(all, first, 1); };
  Status status =
      runner_->enqueue(kTwice, std::vector{part(1), part(2), part(3)}, std::vector<int64_t>{1});
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(floats(*runtime::download(all)), (std::vector<float>{0, 1, 2, 1 + 2 * 2, 4}));
}

TEST_F(KernelRunnerTest, PreparedScratchIsMadeOnceOrWithEveryCall) {
  make(packing_program(native_blob()));
  Tensor w = tensor({1, 2, 3, 4}), x = tensor({10, 20, 30, 40}), c = tensor({0, 0, 0, 0});
  const std::vector<Tensor> args = {w, x, c};
  ASSERT_TRUE(runner_->enqueue(kPack, args, {}));
  EXPECT_EQ(floats(*runtime::download(c)), (std::vector<float>{12, 24, 36, 48}));

  Tensor prepared = *runtime::make_tensor(*test_, DType::kU8, {256});
  Status status = runner_->prepare(kPack, std::vector{w}, prepared);
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(prepared.storage->version(), 1u);
  // With other weights: the prepared values are used.
  const std::vector<Tensor> others = {tensor({0, 0, 0, 0}), x, c};
  runtime::Scratch scratch;
  scratch.prepared = &prepared;
  ASSERT_TRUE(runner_->enqueue(kPack, others, {}, runtime::kDefaultStream, scratch));
  EXPECT_EQ(floats(*runtime::download(c)), (std::vector<float>{12, 24, 36, 48}));
  ASSERT_TRUE(runner_->enqueue(kPack, others, {}));
  EXPECT_EQ(floats(*runtime::download(c)), (std::vector<float>{10, 20, 30, 40}));
}

TEST_F(KernelRunnerTest, MistakesOfPreparation) {
  make(packing_program(native_blob()));
  Tensor w = tensor({1, 2, 3, 4}), c = tensor({0, 0, 0, 0});
  Tensor small = *runtime::make_tensor(*test_, DType::kU8, {128});
  Tensor prepared = *runtime::make_tensor(*test_, DType::kU8, {256});
  auto message = [&](int32_t kernel, const std::vector<Tensor>& sources, const Tensor& out) {
    Status status = runner_->prepare(kernel, sources, out);
    return status ? "done" : status.error().message;
  };
  EXPECT_EQ(message(kPack, {w}, small),
            "the prepared tensors need 256 bytes; the caller provides 128");
  EXPECT_EQ(message(kPack, {}, prepared), "a preparation of 0 tensors, not 1");
  EXPECT_EQ(message(kPack, {tensor({1, 2})}, prepared),
            "an argument of kernel pack_00000004 has the wrong shape");
  EXPECT_EQ(message(kPack, {w}, Tensor{}), "there is nothing to prepare, or no memory for it");
  EXPECT_EQ(message(kAdd, {}, prepared), "there is nothing to prepare, or no memory for it");
  EXPECT_EQ(message(9, {w}, prepared), "the executable has no kernel 9");
  runtime::Scratch scratch;
  scratch.prepared = &small;
  Status status =
      runner_->enqueue(kPack, std::vector{w, w, c}, {}, runtime::kDefaultStream, scratch);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the prepared tensors need 256 bytes; the caller provides 128");
}

TEST_F(KernelRunnerTest, MistakesNameKernelAndParameter) {
  make(kernels_only(native_blob()));
  Tensor a = tensor({1, 2}), b = tensor({1, 2}), c = tensor({1, 2});
  Error found = error(kAdd, {a, b}, {2});
  EXPECT_EQ(found.kind, ErrorKind::kInternal);
  EXPECT_EQ(found.expected, "3 tensors and 1 scalars");
  EXPECT_EQ(error(kAdd, {a, b, c}, {}).where, "kernel add_00000001");

  found = error(kAdd, {a, tensor({1, 2, 3}), c}, {2});
  EXPECT_EQ(found.where, "kernel add_00000001, parameter b");
  EXPECT_EQ(found.expected, "[2] (with n = 2)");
  EXPECT_EQ(found.found, "[3]");

  Tensor wrong = b;
  wrong.shape = {2, 1};
  EXPECT_EQ(error(kAdd, {a, wrong, c}, {2}).found, "[2, 1]");
  wrong = b;
  wrong.dtype = DType::kI32;
  found = error(kAdd, {a, wrong, c}, {2});
  EXPECT_EQ(found.expected, "f32");
  EXPECT_EQ(found.found, "i32");
  wrong = b;
  wrong.offset = 12;
  EXPECT_NE(error(kAdd, {a, wrong, c}, {2}).message.find("outside"), std::string::npos);
  wrong.offset = 2;
  EXPECT_NE(error(kAdd, {a, wrong, c}, {2}).message.find("outside"), std::string::npos);

  TestSession other;
  Tensor far = *runtime::upload(*other, f32({1, 2}));
  found = error(kAdd, {a, far, c}, {2});
  EXPECT_EQ(found.message, "an argument is on another session");
  EXPECT_EQ(error(kAdd, {a, Tensor{}, c}, {2}).message, "an argument has no storage");
  EXPECT_FALSE(runner_->enqueue(99, {}, {}));
  EXPECT_EQ(test_.behaviour().launches, 0);
}

TEST_F(KernelRunnerTest, AKernelWithoutImplementation) {
  Executable program = kernels_only(native_blob());
  program.implementations.erase(program.implementations.begin());
  make(std::move(program));
  EXPECT_FALSE(runner_->has(kAdd));
  Tensor a = tensor({1});
  EXPECT_EQ(error(kAdd, {a, a, a}, {1}).where, "kernel add_00000001");
}

TEST_F(KernelRunnerTest, LimitsAreCheckedBeforeTheLaunch) {
  test_.device->limits().max_binding_bytes = 64;
  make(kernels_only(native_blob()));
  Tensor a = tensor(std::vector<float>(17)), fits = tensor(std::vector<float>(16));
  Error found = error(kAdd, {a, a, a}, {17});
  EXPECT_EQ(found.fault, PlatformFault::kLimit);
  EXPECT_EQ(found.where, "kernel add_00000001, parameter a");
  EXPECT_EQ(test_.behaviour().launches, 0);
  EXPECT_TRUE(runner_->enqueue(kAdd, std::vector{fits, fits, fits}, std::vector<int64_t>{16}));
}

TEST_F(KernelRunnerTest, LimitsOfLaunchesAreCheckedAtLoad) {
  test_.device->limits().max_bindings = 2;
  auto runner = KernelRunner::create(*test_, share(kernels_only(native_blob())));
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().fault, PlatformFault::kLimit);
  EXPECT_EQ(runner.error().where, "kernel add_00000001, launch of add");
  test_.device->limits().max_bindings = 0;
  test_.device->limits().max_workgroup_threads = 16;
  runner = KernelRunner::create(*test_, share(kernels_only(native_blob())));
  ASSERT_FALSE(runner);
  EXPECT_NE(runner.error().message.find("a work group of 32 threads"), std::string::npos);
}

TEST_F(KernelRunnerTest, OnlyCallsOfKernelsBeyondALimitAreRefused) {
  Executable program = kernels_only(native_blob());
  program.implementations[kAdd].launches[0].workgroup_threads = 64;
  test_.device->limits().max_workgroup_threads = 32;
  auto runner =
      KernelRunner::create(*test_, share(std::move(program)), BeyondLimits::kRefusesCalls);
  ASSERT_TRUE(runner) << runner.error().to_string();
  Tensor a = tensor({1, 2});
  const Status refused = (*runner)->enqueue(kAdd, std::vector{a, a, a}, std::vector<int64_t>{2});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, PlatformFault::kLimit);
  EXPECT_EQ(refused.error().where, "kernel add_00000001, launch of add");
  EXPECT_EQ(test_.behaviour().launches, 0);
  EXPECT_TRUE((*runner)->enqueue(kTwice, std::vector{a, a, a}, std::vector<int64_t>{2}));
}

TEST_F(KernelRunnerTest, AWorkspaceThatDoesNotFitNamesTheKernel) {
  make(kernels_only(native_blob()));
  Tensor a = tensor({1, 2});
  test_.behaviour().fail_allocations = 1;
  Error found = error(kTwice, {a, a, a}, {2});
  EXPECT_EQ(found.fault, PlatformFault::kOutOfMemory);
  EXPECT_EQ(found.where, "workspaces of kernel twice_00000003");
  EXPECT_TRUE(runner_->enqueue(kTwice, std::vector{a, a, a}, std::vector<int64_t>{2}));
}

TEST_F(KernelRunnerTest, ANegativeExtentRunsNothing) {
  Executable program = kernels_only(native_blob());
  program.implementations[0].launches[0].extent = constant(-1);
  make(std::move(program));
  Tensor a = tensor({1}), sum = tensor({5});
  ASSERT_TRUE(runner_->enqueue(kAdd, std::vector{a, a, sum}, std::vector<int64_t>{1}));
  EXPECT_EQ(runtime::download(sum)->values<float>()[0], 5) << "nothing was written";
}

TEST_F(KernelRunnerTest, AMalformedExecutableIsNotLoaded) {
  Executable program = kernels_only(native_blob());
  program.implementations[0].module = 5;
  EXPECT_FALSE(KernelRunner::create(*test_, share(std::move(program))));
  EXPECT_FALSE(KernelRunner::create(*test_, nullptr));
}

}  // namespace
}  // namespace tapml::test
