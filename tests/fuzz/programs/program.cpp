// Programs: text that is parsed, verified, printed and run through passes in any order. Any text
// gives an error or a result: the output of a pass satisfies the verifier and the check of
// annotations, prints and parses, and computes what the program computed before.
#include <cstring>

#include "../readers/finding.h"
#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "fuzz/language/language.h"
#include "ir/exceptions.h"
#include "mutator.h"
#include "op/operator.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "support/random_arguments.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

using namespace tapml;                 // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_programs;  // NOLINT(google-build-using-namespace)
using fuzz_readers::as_text;
using fuzz_readers::finding;
using fuzz_readers::require;
using fuzz_readers::require_user_error;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

// The most bindings and loop steps of one evaluation, and elements of one tensor.
constexpr int kSteps = 400;
constexpr int64_t kElements = 2000;

// Passes that need no target.
std::vector<const pipeline::PassInfo*> all_passes() {
  std::vector<const pipeline::PassInfo*> passes;
  for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
    if (pass.run) passes.push_back(&pass);
  }
  return passes;
}

// The passes that the first line names, or the whole pipeline.
std::vector<const pipeline::PassInfo*> passes_of(std::string_view source) {
  if (!source.starts_with(kPassesLine)) return all_passes();
  std::vector<const pipeline::PassInfo*> passes;
  std::string_view list = source.substr(std::strlen(kPassesLine));
  list = list.substr(0, list.find('\n'));
  while (!list.empty() && passes.size() < 40) {
    const size_t comma = list.find(',');
    const auto* pass = pipeline::find_pass(std::string(list.substr(0, comma)));
    if (pass && pass->run) passes.push_back(pass);
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
  }
  return passes;
}

// `parsed`: text that was parsed prints the same again; passes may share symbolic variables between
// signatures, which get other names.
void round_trip(const Module& module, const std::string& after, bool parsed) {
  text::SideTensors side;
  auto printed = guard([&] { return text::print(module, &side); });
  if (!printed) {
    require_user_error(printed.error());  // nested too deeply
    return;
  }
  auto again = guard([&] { return text::parse(*printed, "printed", {.side = &side}); });
  if (!again) {
    finding("after " + after + ": what was printed does not parse: " + again.error().to_string());
  }
  std::string difference;
  if (!text::structural_equal(module, *again, {.origins = true, .difference = &difference})) {
    finding("after " + after + ": what was printed reads as another module: " + difference);
  }
  require(text::structural_hash(module) == text::structural_hash(*again), "the hash changed");
  if (parsed) require(text::print(*again) == *printed, "printed twice, two texts");
}

// The results of a program's functions for small arguments.
class Results {
 public:
  Results(const Module& module, uint64_t seed) {
    for (const auto& [name, base] : module.functions) {
      const auto* function = relax::as_relax_function(base.get());
      if (!function || function->facts.kernel || function->facts.pattern) {
        continue;
      }
      if (calls_.size() == 2) break;
      RandomStream rng(seed, name);
      auto args = testing::random_arguments(module, *function, rng);
      if (!args) continue;
      auto value = evaluate(module, name, *args, interp::KernelBody::kSpec);
      if (!value) {
        require_user_error(value.error());
        continue;
      }
      calls_.push_back({name, std::move(*args), std::move(*value)});
    }
  }

  // `module` has the same functions, changed by passes.
  void expect_same(const Module& module, interp::KernelBody body, const std::string& after) const {
    for (const Call& call : calls_) {
      if (!module.find(call.function)) continue;
      auto value = evaluate(module, call.function, call.args, body);
      if (!value && gave_up(value.error())) continue;
      if (!value) {
        finding("after " + after + ": @" + call.function +
                " does not run any more: " + value.error().to_string());
      }
      // A given text may compute nothing but open elements.
      const std::string difference =
          testing::difference_beyond_bounds(call.result, *value, {"the text is arbitrary", 1});
      if (!difference.empty()) {
        finding("after " + after + ": @" + call.function +
                " computes something else: " + difference);
      }
    }
  }

 private:
  struct Call {
    std::string function;
    std::vector<interp::Value> args;
    interp::Value result;
  };

  static bool gave_up(const Error& error) {
    return error.message == "given up" ||
           error.message.find("too large for") != std::string::npos ||
           error.message.find("too deep") != std::string::npos;
  }

  static Result<interp::Value> evaluate(const Module& module, const std::string& name,
                                        const std::vector<interp::Value>& args,
                                        interp::KernelBody body) {
    int steps = 0;
    interp::CallOptions options;
    options.body = body;
    options.max_tail_calls = 100;
    options.max_elements = kElements;
    options.poll = [&steps] {
      if (++steps > kSteps) throw_user("given up");
    };
    options.packed["test.double"] = [](const interp::ValueList& list) {
      if (list.empty() || !std::holds_alternative<op::RefTensor>(list[0].data)) throw_user("no");
      return list[0];
    };
    return guard([&] { return interp::call(module, name, args, options); });
  }

  std::vector<Call> calls_;
};

uint64_t hash_of(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

void run_passes(Module module, std::string_view source) {
  const Results results(module, hash_of(source));
  std::string order = "passes";
  bool plan = false;
  for (const pipeline::PassInfo* pass : passes_of(source)) {
    order += std::string(" ") + pass->name;
    auto next = guard([&] { return pass->run(module); });
    if (!next) {
      if (next.error().kind != ErrorKind::kUser) {
        finding("after " + order + ": " + next.error().to_string());
      }
      return;
    }
    module = std::move(*next);
    plan |= std::strcmp(pass->name, "plan_memory") == 0;
    auto checked = guard([&] {
      analysis::verify(module, order);
      // Deduction does not support the operators of planned memory.
      if (!plan) build::check_annotations(module, order);
    });
    if (!checked) finding("after " + order + ": " + checked.error().to_string());
  }
  round_trip(module, order, false);
  if (plan) return;  // the interpreter ignores storage
  results.expect_same(module, interp::KernelBody::kSpec, order);
  results.expect_same(module, interp::KernelBody::kLoops, order + ", loops");
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const pipeline::PassInfo* pass : all_passes()) names.emplace_back(pass->name);
  return names;
}

Mutator mutator(unsigned seed) {
  std::vector<std::string> operators;
  for (const op::OperatorInfo* info : op::operator_table()) operators.emplace_back(info->name);
  return Mutator(seed, pass_names(), std::move(operators));
}

size_t give(const std::string& text, uint8_t* data, size_t max_size) {
  const size_t size = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), size);
  return size;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  if (seed % 32 == 0) return LLVMFuzzerMutate(data, size, max_size);
  if (seed % 16 == 1) {
    auto program = guard([&] {
      return text::print(
          fuzz::LanguageGenerator(seed).make(static_cast<int>(seed / 16 % 6)).module);
    });
    if (!program) finding("the generator fails: " + program.error().to_string());
    return give(mutator(seed).passes_line() + *program, data, max_size);
  }
  return give(mutator(seed).mutate(std::string(as_text(data, size))), data, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data, size_t size, const uint8_t* other,
                                            size_t other_size, uint8_t* out, size_t max_size,
                                            unsigned seed) {
  return give(mutator(seed).cross(std::string(as_text(data, size)),
                                  std::string(as_text(other, other_size))),
              out, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source = as_text(data, size);
  text::SourceMap places;
  auto module = guard([&] { return text::parse(source, "input", {.places = &places}); });
  if (!module) {
    require_user_error(module.error());
    return 0;
  }
  round_trip(*module, "parsing", true);
  auto checked = guard([&] { pipeline::check_input(*module, "input", &places); });
  if (!checked) {
    require_user_error(checked.error());
    return 0;
  }
  run_passes(std::move(*module), source);
  return 0;
}
