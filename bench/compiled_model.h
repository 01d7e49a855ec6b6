// A language model on the CPU, and its peer in PyTorch.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness.h"
#include "llm/engine.h"
#include "random_model.h"
#include "runtime/local_session.h"

namespace tapml::bench {

// The Python of scripts/bench_setup.
inline constexpr const char* kPeerPython = "build/venv-bench/bin/python";

struct CompiledModel {
  frontend::HuggingFaceModel files;
  std::shared_ptr<runtime::LocalSession> session;
  std::shared_ptr<const Executable> executable;
  std::unique_ptr<llm::Engine> engine;

  explicit CompiledModel(frontend::HuggingFaceModel read);
  // Seconds per token over `steps` greedy steps after a prompt of four tokens.
  double decode(int64_t steps) const;
  // Seconds until the logits of the last of `count` tokens are available.
  double prefill(int64_t count) const;
  // Bytes that one decode step reads: all weights but the input embedding, and of the experts the
  // share that a token chooses.
  int64_t decode_bytes(double active = 1) const;
};

// `count` per second for ours and for the peer, bench/peers/torch_model.py with these arguments.
Pair against_torch(std::string& absent, double count, const std::function<double()>& seconds,
                   const std::vector<std::string>& arguments);

}  // namespace tapml::bench
