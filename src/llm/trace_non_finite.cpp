// Finds the kernel that made logits without a token to take.
#include <utility>

#include "llm/engine_state.h"

namespace tapml::llm {

using runtime::Tensor;

namespace {

std::string origin_text(const NonFiniteOrigin& origin) {
  std::string text = origin.first.text();
  if (origin.first_nan) text += "; the first NaN in " + origin.first_nan->text();
  return text;
}

std::string hint_for(const NonFiniteCall& call) {
  for (const std::string& input : call.inputs) {
    if (!input.starts_with("weight ")) continue;
    return input + " is broken: download its file again, or check its conversion";
  }
  if (call.dtype == DType::kF16) {
    return "f16 holds nothing beyond 65504: with --quantize q4f32, or without --quantize, "
           "activations are f32";
  }
  return "a weight or a kernel is broken: tapml migrate and tapml localize compare every kernel";
}

}  // namespace

Error Engine::State::not_finite(const Tensor& logits, int64_t row) {
  const Result<HostTensor> all = bytes_of(logits);
  if (!all) return all.error();
  const auto width = static_cast<size_t>(model.vocabulary);
  const int64_t rows = all->size() / model.vocabulary;
  const auto values = all->values<float>().subspan(static_cast<size_t>(row) * width, width);
  const bool from_last = last.function && logits.storage->id() == last.storage &&
                         logits.offset == last.offset && logits.storage->version() == last.version;
  if (!from_last) return not_finite(values, nullptr, 0);
  const int64_t each = rows / std::ssize(last.sequences);
  Sequence* const sequence = last.sequences[static_cast<size_t>(row / each)];
  return not_finite(values, sequence, sequence->length - each + row % each);
}

Error Engine::State::not_finite(std::span<const float> logits, Sequence* sequence, int64_t token) {
  const Status wrong = llm::check_logits(logits);
  if (wrong) return internal_error("no token was taken from logits that have one");
  Error error = wrong.error();
  if (!sequence) return error;
  error.where += ", " + std::string(last.function) + " of token " + std::to_string(token);
  const auto origin = trace(*sequence);
  if (!origin) {
    if (origin.error().fault == PlatformFault::kCancelled) return origin.error();
    error.hint = "running the step again failed: " + origin.error().message;
    return error;
  }
  if (!*origin) {
    error.found += "; finite when the step runs again";
    error.hint = "a kernel gives varying results: find it with tapml replay or tapml localize";
    return error;
  }
  const NonFiniteCall& first = (*origin)->first;
  error.message += ": " + first.kernel +
                   (first.origin.layers.empty() ? "" : " (" + layers_summary(first.origin) + ")") +
                   " is the first kernel whose output is not finite";
  error.found += "; " + origin_text(**origin);
  error.hint = hint_for(first);
  return error;
}

Result<std::optional<NonFiniteOrigin>> Engine::State::trace(Sequence& sequence) {
  tracing = true;
  // Only calls of a VM in this process pass a call point, so a remote VM is replaced by one.
  std::unique_ptr<runtime::VirtualMachine> far;
  runtime::LocalVirtualMachine* runs = local_vm;
  Result<std::optional<NonFiniteOrigin>> found = std::nullopt;
  if (!runs) {
    const std::shared_ptr<const Executable> executable(std::shared_ptr<const void>(),
                                                       &vm->executable());
    auto local = runtime::LocalVirtualMachine::create(session, executable);
    if (!local) {
      tracing = false;
      return fail(local.error());
    }
    runs = local->get();
    far = std::exchange(vm, std::move(*local));
  }
  std::vector<GivenTensor> given;
  for (size_t i = 0; i < model.state.size(); ++i) {
    given.push_back({*state.values()[i].tensor(), "state " + model.state[i].name, true});
  }
  for (size_t i = 0; i < arguments.weights().size(); ++i) {
    given.push_back({*arguments.weights()[i].tensor(),
                     i < model.weights.size() ? "weight " + model.weights[i]
                                              : std::string("data prepared from weights")});
  }
  runtime::Observer* const observer = runs->call_point().observer();
  auto observed = [&](auto&& run) {
    NonFiniteTracer tracer(given);
    runs->call_point().set_observer(&tracer);
    auto result = run(tracer);
    runs->call_point().set_observer(observer);
    return result;
  };
  // NaN in pages without tokens would hide where others come from.
  const bool poisoned = state.poisoned();
  state.set_poisoned(false);
  // Recurrent state is no longer what the last call read.
  if (!model.has_state(StateKind::kRecurrent) && !poisoned) {
    found = observed([&](NonFiniteTracer& tracer) { return trace_last_call(tracer); });
  }
  // The cause may be what earlier calls of the sequence left in the state.
  if (found && (!*found || (*found)->first.from_state)) {
    auto whole =
        observed([&](NonFiniteTracer& tracer) { return trace_all_calls(sequence, tracer); });
    if (!whole || *whole) found = std::move(whole);
  }
  state.set_poisoned(poisoned);
  if (far) vm = std::move(far);
  tracing = false;
  return found;
}

Result<std::optional<NonFiniteOrigin>> Engine::State::trace_last_call(
    const NonFiniteTracer& tracer) {
  const int64_t count = std::ssize(last.tokens) / std::ssize(last.sequences);
  for (Sequence* one : last.sequences) one->length -= count;
  const auto logits = step(last.function, last.sequences, last.tokens, false);
  if (!logits) {
    for (Sequence* one : last.sequences) one->length += count;
    return fail(logits.error());
  }
  return tracer.origin_of(*logits);
}

Result<std::optional<NonFiniteOrigin>> Engine::State::trace_all_calls(
    Sequence& sequence, const NonFiniteTracer& tracer) {
  const int64_t length = std::exchange(sequence.length, 0);
  Sequence* const one = &sequence;
  std::span<const int32_t> tokens = sequence.tokens;
  std::optional<NonFiniteOrigin> found;
  Status status = state.clear();
  sequence.is_encoded = false;
  if (window > 0) sequence.pages.clear();  // the released ones are needed again
  for (size_t i = 0; i < sequence.calls.size() && status && !found; ++i) {
    const auto count = static_cast<size_t>(sequence.calls[i].tokens);
    const auto logits = step(sequence.calls[i].function, {&one, 1}, tokens.first(count), false);
    if (!logits) {
      status = fail(logits.error());
    } else {
      found = tracer.origin_of(*logits);
    }
    tokens = tokens.subspan(count);
  }
  sequence.length = length;
  if (window > 0) sequence.start_over(length);  // the pages at the end are gone
  TAPML_TRY(status);
  return found;
}

}  // namespace tapml::llm
