#include "fuzz/generate/generate.h"

#include "fuzz/generate/graph.h"
#include "fuzz/language/language.h"
#include "text/printer.h"

namespace tapml::fuzz {

namespace {

bool needs_side_file(const Module& module) {
  text::SideTensors side;
  text::print(module, &side);
  return !side.empty();
}

}  // namespace

uint64_t program_seed(uint64_t campaign, uint64_t index) {
  const PhiloxKey key = philox_key(campaign, "program");
  const PhiloxCounter block =
      philox_block({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), 0, 0}, key);
  return uint64_t{block[1]} << 32 | block[0];
}

Generated generate(uint64_t seed, const Coverage& snapshot, const GenerateOptions& options) {
  RandomStream rng(seed, "kind");
  Generated result;
  result.language = rng.chance(options.language);
  if (!result.language) {
    const int operators = static_cast<int>(rng.between(1, options.operators));
    Graph graph = generate_graph(seed, snapshot, {operators, options.policy});
    result.operators = graph.operators;
    result.refused = graph.refused;
    result.added = std::move(graph.added);
    result.program.module = std::move(graph.module);
    for (const HostTensor& input : draw_inputs(graph.inputs, seed)) {
      result.program.arguments.push_back(interp::Value::tensor(op::RefTensor::from(input)));
    }
    return result;
  }
  const int size = static_cast<int>(rng.between(2, 2 + options.operators));
  for (uint64_t attempt = 0;; ++attempt) {
    RandomLanguageProgram made =
        LanguageGenerator(attempt == 0 ? seed : program_seed(seed, attempt)).make(size);
    if (needs_side_file(made.module)) continue;
    result.operators = size;
    result.program = {std::move(made.module), std::move(made.arguments)};
    return result;
  }
}

}  // namespace tapml::fuzz
