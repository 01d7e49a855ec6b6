#include "fuzz/generate/generate.h"

#include <algorithm>

#include "fuzz/generate/graph.h"
#include "fuzz/language/language.h"
#include "fuzz/language/patterns.h"
#include "ir/exceptions.h"
#include "text/printer.h"

namespace tapml::fuzz {

namespace {

bool needs_side_file(const Module& module) {
  text::SideTensors side;
  text::print(module, &side);
  return !side.empty();
}

// Ranges of floats in which most functions are finite, in the order in which they are tried. Each
// graph needs another one: log wants positive numbers, acosh those above 1, atanh those below.
struct FloatRange {
  double low, high;
};
constexpr FloatRange kTameRanges[] = {{0.25, 0.875},    {1.0625, 1.5}, {-0.875, -0.25},
                                      {0.03125, 0.125}, {1.5, 3},      {-2, 2}};

std::vector<interp::Value> drawn_values(const std::vector<op::GeneratedTensor>& inputs,
                                        uint64_t seed) {
  std::vector<interp::Value> values;
  for (const HostTensor& input : draw_inputs(inputs, seed)) {
    values.push_back(interp::Value::tensor(op::RefTensor::from(input)));
  }
  return values;
}

// The value of the graph; none where it cannot be evaluated, which the checks report.
std::optional<interp::Value> value_of(const Module& module,
                                      const std::vector<interp::Value>& arguments) {
  std::optional<interp::Value> value;
  const Status evaluated = guard([&] {
    interp::CallOptions options;
    options.allowed.relaxed_division = true;
    value = interp::call(module, "main", arguments, options);
  });
  return evaluated ? value : std::nullopt;
}

bool is_wanted(const std::optional<interp::Value>& value) { return !value || is_finite(*value); }

// Elements for which the results are finite, if a few draws find any; else those of the first.
void search_inputs(const Graph& graph, uint64_t seed, Generated& result) {
  std::vector<interp::Value> first = drawn_values(graph.inputs, seed);
  std::optional<interp::Value> first_value = value_of(graph.module, first);
  uint64_t attempt = 0;
  for (const FloatRange& range : kTameRanges) {
    if (is_wanted(first_value)) break;
    std::vector<op::GeneratedTensor> inputs = graph.inputs;
    for (op::GeneratedTensor& input : inputs) {
      // What an operator asks for holds still.
      if (!is_float(input.dtype)) {
        const bool is_free = input.order == op::GeneratedTensor::Order::kFree;
        if (is_integer(input.dtype) && is_free && input.high >= 1) {
          input.low = std::max(input.low, 1.0);
        }
        continue;
      }
      const double low = std::clamp(range.low, input.low, input.high);
      input.high = std::clamp(range.high, input.low, input.high);
      input.low = low;
    }
    std::vector<interp::Value> values = drawn_values(inputs, program_seed(seed, ++attempt));
    std::optional<interp::Value> value = value_of(graph.module, values);
    if (!is_wanted(value)) continue;
    result.program.arguments = std::move(values);
    result.value = std::move(value);
    return;
  }
  result.program.arguments = std::move(first);
  result.value = std::move(first_value);
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
    if (options.inputs) search_inputs(graph, seed, result);
    result.program.module = std::move(graph.module);
    if (rng.chance(options.patterns)) {
      add_random_patterns(result.program.module, rng, static_cast<int>(rng.between(1, 4)));
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
