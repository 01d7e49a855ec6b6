#include "runtime/call_point.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "conformance/programs.h"
#include "runtime/local_virtual_machine.h"
#include "runtime/offload.h"
#include "test_device.h"

namespace tapml::test {
namespace {

using runtime::CallSite;
using runtime::KernelCall;
using runtime::KernelRunner;
using runtime::LocalVirtualMachine;
using runtime::Observer;
using runtime::Offload;
using runtime::Residency;
using runtime::Tensor;
using runtime::Value;

// Keeps the last argument of the selected calls, before and after.
class Recorder final : public Observer {
 public:
  bool wants(const CallSite& site, int64_t sequence) noexcept override {
    asked.push_back({site.id, sequence});
    return all || site.id == only;
  }
  Status before(const KernelCall& call) noexcept override { return keep(call, befores); }
  Status after(const KernelCall& call) noexcept override {
    scalars.assign(call.scalars.begin(), call.scalars.end());
    return keep(call, afters);
  }

  bool all = false;
  int32_t only = -1;
  std::vector<std::pair<int32_t, int64_t>> asked;
  std::vector<std::vector<float>> befores, afters;
  std::vector<int64_t> scalars;

 private:
  static Status keep(const KernelCall& call, std::vector<std::vector<float>>& where) {
    TAPML_ASSIGN(HostTensor host, runtime::download(call.args.back()));
    where.push_back(floats(host));
    return {};
  }
};

class CallPointTest : public ::testing::Test {
 protected:
  void make(const std::string& source_entry = "add") {
    vm_ = std::move(*LocalVirtualMachine::create(
        *source_, share(chain_program(native_blob("source"), source_entry))));
    target_runner_ =
        std::move(*KernelRunner::create(*target_, share(kernels_only(native_blob("target")))));
    x_ = *runtime::upload(*source_, f32({1, 2}));
    y_ = *runtime::upload(*source_, f32({10, 20}));
  }
  // From now on, the named kernels run on the target.
  void dispatch(KernelRunner& runner, const std::vector<std::string>& names) {
    residency_.emplace(runner.session());
    offload_.emplace(runner, *residency_);
    const auto named = [&](const CallSite& site) {
      return std::ranges::count(names, site.kernel->name) > 0;
    };
    ASSERT_TRUE(vm_->set_dispatch(offload_->plan(vm_->executable(), named), &*offload_));
  }
  void dispatch_nothing() { ASSERT_TRUE(vm_->set_dispatch({}, nullptr)); }
  std::vector<float> run() {
    std::vector<Value> args = {x_, y_};
    auto result = vm_->call("main", args);
    EXPECT_TRUE(result) << result.error().to_string();
    return result ? floats(*runtime::download(*result->tensor())) : std::vector<float>{};
  }

  TestSession source_{"source"}, target_{"target"};
  std::unique_ptr<LocalVirtualMachine> vm_;
  std::unique_ptr<KernelRunner> target_runner_;
  std::optional<Residency> residency_;
  std::optional<Offload> offload_;
  Tensor x_, y_;
};

const std::vector<float> kExpected = {63, 126};

TEST_F(CallPointTest, AnObserverSeesValuesAndChangesNothing) {
  make();
  std::vector<float> plain = run();
  Recorder recorder;
  recorder.all = true;
  vm_->call_point().set_observer(&recorder);
  EXPECT_EQ(run(), plain);
  EXPECT_EQ(recorder.afters, (std::vector<std::vector<float>>{{11, 22}, {21, 42}, {63, 126}}));
  EXPECT_EQ(recorder.befores[2], (std::vector<float>{21, 42}));
  EXPECT_EQ(recorder.scalars, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(recorder.asked, (std::vector<std::pair<int32_t, int64_t>>{{0, 3}, {1, 4}, {2, 5}}));
}

TEST_F(CallPointTest, OnlyASelectedCallWaits) {
  make();
  source_.behaviour().deferred = true;
  Recorder recorder;
  vm_->call_point().set_observer(&recorder);
  std::vector<Value> args = {x_, y_};
  ASSERT_TRUE(vm_->call("main", args));
  EXPECT_EQ(source_.behaviour().synchronizes, 0);
  EXPECT_EQ(source_.behaviour().reads, 0);
  EXPECT_EQ(recorder.asked.size(), 3u);
  recorder.only = 1;
  EXPECT_EQ(run(), kExpected);
  EXPECT_EQ(recorder.afters, (std::vector<std::vector<float>>{{21, 42}}));
  EXPECT_EQ(source_.behaviour().synchronizes, 2);
}

TEST_F(CallPointTest, AnErrorIsNotBlamedOnTheObservedCall) {
  make();
  Recorder recorder;
  recorder.only = 2;
  vm_->call_point().set_observer(&recorder);
  source_.behaviour().launch_error = internal_error("the first kernel broke");
  std::vector<Value> args = {x_, y_};
  auto result = vm_->call("main", args);
  ASSERT_FALSE(result);
  EXPECT_TRUE(recorder.befores.empty());
}

TEST_F(CallPointTest, TheTargetComputesInsteadOfTheSource) {
  make("sentinel");  // the source's add would spoil its output
  dispatch(*target_runner_, {"add_00000001"});
  EXPECT_EQ(run(), kExpected);
  EXPECT_EQ(offload_->calls(), 2);
  EXPECT_EQ(source_.behaviour().launched, std::vector<std::string>{"scale"});
  EXPECT_EQ(target_.behaviour().launched, (std::vector<std::string>{"add", "add"}));
  dispatch_nothing();
  EXPECT_NE(run(), kExpected) << "the sentinel shows where it runs";
}

TEST_F(CallPointTest, OnlyNewBytesAreCopied) {
  make();
  dispatch(*target_runner_, {"add_00000001"});
  int64_t uploads = target_.behaviour().writes;
  EXPECT_EQ(run(), kExpected);
  EXPECT_EQ(target_.behaviour().writes - uploads, 2) << "x and y; the sum between stays remote";
  uploads = target_.behaviour().writes;
  EXPECT_EQ(run(), kExpected);
  EXPECT_EQ(target_.behaviour().writes - uploads, 0) << "both are on the target";

  // A write on the source makes the copy stale.
  float seven = 7;
  ASSERT_TRUE((*source_).write(runtime::kDefaultStream, {x_.storage->buffer(), 0},
                               std::as_bytes(std::span(&seven, 1))));
  x_.storage->written();
  EXPECT_EQ(run(), (std::vector<float>{81, 126}));
  EXPECT_EQ(target_.behaviour().writes - uploads, 1);
}

TEST_F(CallPointTest, InOutIsCopiedBothWays) {
  make();
  dispatch(*target_runner_, {"scale_00000002"});
  EXPECT_EQ(run(), kExpected);
  EXPECT_EQ(source_.behaviour().launched, (std::vector<std::string>{"add", "add"}));
  EXPECT_EQ(target_.behaviour().launched, std::vector<std::string>{"scale"});
}

TEST_F(CallPointTest, EveryKernelOnTheTarget) {
  make("sentinel");
  dispatch(*target_runner_, {"add_00000001", "scale_00000002"});
  int64_t uploads = target_.behaviour().writes;
  EXPECT_EQ(run(), kExpected);
  EXPECT_EQ(target_.behaviour().writes - uploads, 2);
  EXPECT_TRUE(source_.behaviour().launched.empty());
  EXPECT_EQ(offload_->calls(), 3);
}

TEST_F(CallPointTest, AHybridObservesTheSame) {
  make("sentinel");
  dispatch(*target_runner_, {"add_00000001"});
  Recorder recorder;
  recorder.all = true;
  vm_->call_point().set_observer(&recorder);
  EXPECT_EQ(run(), kExpected);
  EXPECT_EQ(recorder.afters, (std::vector<std::vector<float>>{{11, 22}, {21, 42}, {63, 126}}));
}

TEST_F(CallPointTest, ATargetOnTheSameSessionCopiesNothing) {
  make("sentinel");
  auto runner = KernelRunner::create(*source_, share(kernels_only(native_blob("source"))));
  ASSERT_TRUE(runner);
  dispatch(**runner, {"add_00000001"});
  int64_t writes = source_.behaviour().writes;
  EXPECT_EQ(run(), kExpected);
  EXPECT_EQ(source_.behaviour().writes, writes);
  EXPECT_EQ(offload_->calls(), 2);
}

TEST_F(CallPointTest, APlanNamesSites) {
  make("sentinel");
  residency_.emplace(*target_);
  offload_.emplace(*target_runner_, *residency_);
  // The second of two calls of one kernel: the first spoils its local result.
  ASSERT_TRUE(vm_->set_dispatch({{1}}, &*offload_));
  EXPECT_NE(run(), kExpected);
  EXPECT_EQ(offload_->calls(), 1);
  EXPECT_EQ(target_.behaviour().launched, std::vector<std::string>{"add"});
  for (const int32_t site : {-1, 3}) {
    const Status set = vm_->set_dispatch({{0, site}}, &*offload_);
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().kind, ErrorKind::kUser);
    EXPECT_EQ(set.error().found, std::to_string(site));
  }
}

TEST_F(CallPointTest, AnErrorOfTheTargetEndsTheCall) {
  make();
  dispatch(*target_runner_, {"add_00000001"});
  target_.behaviour().launch_error = platform_error(PlatformFault::kLost, "it is gone");
  std::vector<Value> args = {x_, y_};
  auto result = vm_->call("main", args);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, PlatformFault::kLost);
  dispatch_nothing();
  EXPECT_EQ(run(), kExpected) << "the source is not harmed";
}

TEST_F(CallPointTest, AKernelThatTheTargetLacks) {
  make();
  Executable partial = kernels_only(native_blob("target"));
  partial.implementations.erase(partial.implementations.begin());
  auto runner = KernelRunner::create(*target_, share(std::move(partial)));
  ASSERT_TRUE(runner);
  dispatch(**runner, {"add_00000001"});
  std::vector<Value> args = {x_, y_};
  auto result = vm_->call("main", args);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().where, "kernel add_00000001");
}

TEST(ResidencyTest, CopiesLiveWhileStorageAndSessionsDo) {
  TestSession source, target;
  Residency residency(*target);
  Tensor tensor = *runtime::upload(*source, f32({1, 2}));
  int64_t& uploads = target.behaviour().writes;
  ASSERT_TRUE(residency.on_target(tensor));
  ASSERT_TRUE(residency.on_target(tensor));
  EXPECT_EQ(uploads, 1);

  auto snapshot = (*source).snapshot();
  ASSERT_TRUE((*source).restore(*snapshot));
  ASSERT_TRUE(residency.on_target(tensor));
  EXPECT_EQ(uploads, 2) << "a restore of the source may have changed the bytes";

  auto copies = (*target).snapshot();
  ASSERT_TRUE((*target).restore(*copies));
  int64_t before = uploads;
  ASSERT_TRUE(residency.on_target(tensor));
  EXPECT_EQ(uploads, before + 1) << "a restore of the target too";

  // An output that was never kept is not taken for a copy.
  ASSERT_TRUE(residency.output_for(tensor));
  before = uploads;
  auto copy = residency.on_target(tensor);
  ASSERT_TRUE(copy);
  EXPECT_EQ(uploads, before + 1);
  EXPECT_EQ(floats(*runtime::download(*copy)), (std::vector<float>{1, 2}));
}

TEST(ResidencyTest, RangesOfAStorageAndTheirMemory) {
  TestSession source, target;
  Residency residency(*target);
  {
    Tensor whole = *runtime::upload(*source, f32({1, 2, 3, 4}));
    Tensor tail{whole.storage, 8, DType::kF32, {2}};
    auto copy = residency.on_target(tail);
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->offset, 0);
    EXPECT_EQ(floats(*runtime::download(*copy)), (std::vector<float>{3, 4}));
    ASSERT_TRUE(residency.on_target(whole));
    EXPECT_EQ(target.behaviour().live_bytes, 32);
    // Another view of a storage that was written since: older copies are stale.
    whole.storage->written();
    Tensor head{whole.storage, 0, DType::kF32, {1}};
    ASSERT_TRUE(residency.on_target(head));
    EXPECT_EQ(target.behaviour().live_bytes, 16 + 16 /* the copy above, still held */);
  }
  Tensor next = *runtime::upload(*source, f32({5}));
  ASSERT_TRUE(residency.on_target(next));
  EXPECT_EQ(target.behaviour().live_bytes, 16) << "copies go with their sources";
}

}  // namespace
}  // namespace tapml::test
