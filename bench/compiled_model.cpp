#include "compiled_model.h"

#include <numeric>

#include "ceilings.h"
#include "ir/exceptions.h"
#include "models/decoder.h"
#include "pipeline/compile.h"
#include "programs.h"

namespace tapml::bench {

CompiledModel::CompiledModel(frontend::HuggingFaceModel read)
    : files(std::move(read)),
      session(cpu_session()),
      executable(pipeline::compile(files.module, target::parse_target("cpu"))),
      engine(unwrap(llm::Engine::create(*session, executable, files.weights))) {}

double CompiledModel::decode(int64_t steps) const {
  engine->reset();
  unwrap(engine->set_sampler({}));
  int32_t token = unwrap(engine->sample(unwrap(engine->prefill(std::vector<int32_t>{1, 2, 3, 4}))));
  double start = seconds_now();
  for (int64_t i = 0; i < steps; ++i) {
    token = unwrap(engine->sample(unwrap(engine->decode(token))));
  }
  return (seconds_now() - start) / static_cast<double>(steps);
}

double CompiledModel::prefill(int64_t count) const {
  engine->reset();
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 1);
  double start = seconds_now();
  unwrap(engine->prefill(tokens));
  unwrap(session->synchronize(runtime::kDefaultStream));
  return seconds_now() - start;
}

int64_t CompiledModel::decode_bytes(double active) const {
  const std::string embedding = files.config.model.embedding + ".weight";
  double bytes = 0;
  for (const models::WeightSpec& spec : models::decoder_weights(files.config.model)) {
    if (spec.name == embedding && !files.config.model.tied_embeddings) continue;
    const auto size = static_cast<double>(files.weights.at(spec.name).byte_size());
    bytes += spec.parts.empty() ? size : active * size;
  }
  return static_cast<int64_t>(bytes);
}

// Converts both figures to rates, so that higher is better.
Pair against_torch(std::string& absent, double count, const std::function<double()>& seconds,
                   const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {kPeerPython, "bench/peers/torch_model.py"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto peer = std::make_shared<Peer>(command);
  seconds();
  Pair pair{[=] { return count / seconds(); }, [=] { return count / peer->measure(); }};
  if (!peer->ok()) {
    absent = peer->why();
    pair.peer = nullptr;
  }
  return pair;
}

}  // namespace tapml::bench
