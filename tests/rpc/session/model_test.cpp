// A language model on a remote VM: the same text, with one wait per token.
#include <gtest/gtest.h>

#include "support/compiled_models.h"
#include "support/memory_channel.h"

namespace tapml {
namespace {

using testing::CompiledModel;
using testing::MemoryServer;

class RemoteModel : public ::testing::Test {
 protected:
  RemoteModel()
      : server_(std::shared_ptr<runtime::Device>(
            std::make_shared<device::CpuDevice>(0, codegen::make_jit_loader()))),
        session_(server_.connect()) {}

  // On a VM beside the device.
  std::unique_ptr<llm::Engine> engine() {
    auto vm = session_->open_vm(model_.executable);
    EXPECT_TRUE(vm) << vm.error().to_string();
    return unwrap(llm::Engine::create(std::move(*vm), model_.golden.model.weights));
  }

  const CompiledModel& model_ = *testing::compiled_model("cpu", "demo");
  std::span<const int32_t> prompt_ =
      model_.golden.reference.at("tokens").values<int32_t>().first(5);
  MemoryServer server_;
  std::unique_ptr<rpc::RemoteSession> session_;
};

TEST_F(RemoteModel, GeneratesTheSameWithOneWaitPerToken) {
  const auto local = model_.engine();
  const auto remote = engine();
  llm::GenerateOptions options{.max_tokens = 12, .eos = {}, .sampler = {}};
  for (const double temperature : {0.0, 0.8}) {
    options.sampler.temperature = temperature;
    options.sampler.seed = 3;
    auto expected = local->generate(prompt_, options);
    ASSERT_TRUE(expected) << expected.error().to_string();
    const rpc::RemoteSession::Traffic before = session_->traffic();
    auto found = remote->generate(prompt_, options);
    ASSERT_TRUE(found) << found.error().to_string();
    const rpc::RemoteSession::Traffic after = session_->traffic();
    EXPECT_EQ(found->tokens, expected->tokens) << "temperature " << temperature;
    EXPECT_EQ(after.waits - before.waits, 12) << "the logits come with the call's result";
  }
}

TEST_F(RemoteModel, LogitsAreTheSameBitForBit) {
  const auto local = model_.engine();
  const auto remote = engine();
  llm::GenerateOptions options{.max_tokens = 4, .eos = {}, .sampler = {}, .keep_logits = true};
  auto expected = local->generate(prompt_, options);
  auto found = remote->generate(prompt_, options);
  ASSERT_TRUE(expected && found);
  EXPECT_TRUE(std::ranges::equal(found->logits.bytes(), expected->logits.bytes()));
}

TEST_F(RemoteModel, LocallyIssuedKernelCallsComputeTheSame) {
  llm::GenerateOptions options{.max_tokens = 6, .eos = {}, .sampler = {}};
  auto expected = model_.engine()->generate(prompt_, options);
  // The call point is local, as topdown needs.
  auto engine =
      unwrap(llm::Engine::create(*session_, model_.executable, model_.golden.model.weights));
  auto found = engine->generate(prompt_, options);
  ASSERT_TRUE(expected && found);
  EXPECT_EQ(found->tokens, expected->tokens);
  EXPECT_GT(engine->local_vm().call_point().calls(), 0);
}

}  // namespace
}  // namespace tapml
