#include "llm/embedder.h"

#include <algorithm>
#include <numeric>

#include "llm/model_weights.h"

namespace tapml::llm {

namespace {

constexpr const char* kEmbed = "embed";
constexpr size_t kSlack = 16;  // tokens by which the texts of a call may differ at any length

Status check_executable(const Executable& executable) {
  const ModelInterface& model = executable.model;
  TAPML_TRY(check_embeds(model, executable.target));
  if (executable.find_function(kEmbed) && model.vocabulary > 0 && model.context > 0) return {};
  return fail(user_error("the executable is not an encoder", executable.target,
                         "the function embed, a vocabulary and a context",
                         "none, or an incomplete one"));
}

}  // namespace

bool is_encoder(const ModelInterface& model) {
  return model.find_function(kEmbed) && !model.find_function("prefill");
}

Status check_embeds(const ModelInterface& model, const std::string& where) {
  const ModelFunction* function = model.find_function(kEmbed);
  if (function && function->inputs == std::vector{Role::kTokens, Role::kFeatureLengths} &&
      function->outputs == std::vector{Role::kEmbeddings} && function->state.empty()) {
    return {};
  }
  return fail(user_error("the model is not an encoder: it makes no vectors of texts", where,
                         "a model with embed(tokens, feature_lengths, weights) -> (embeddings)",
                         function ? model_function_text(*function) : model.architecture,
                         "\"tapml models\" lists the encoders; \"tapml run\" continues a text"));
}

Status check_continues(const ModelInterface& model, const std::string& where) {
  if (!is_encoder(model)) return {};
  return fail(user_error("the model is an encoder: it makes vectors of texts and continues none",
                         where, "a decoder", model.architecture,
                         "\"tapml embed\" makes vectors of texts; carve, migrate and localize "
                         "take them by --text"));
}

Status check_texts(const ModelInterface& model, std::span<const std::vector<int32_t>> texts,
                   std::span<const std::string> names) {
  if (texts.empty()) return fail(user_error("there is no text", "texts", "at least one", "none"));
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string where = i < names.size() ? names[i] : "text " + std::to_string(i);
    const std::vector<int32_t>& tokens = texts[i];
    const auto count = std::ssize(tokens);
    if (count == 0 || count > model.context) {
      return fail(user_error(
          count == 0 ? "the text has no tokens" : "the text is longer than the model's context",
          where, "from 1 to " + std::to_string(model.context) + " tokens",
          std::to_string(count) + " tokens", count == 0 ? "" : "cut it into several texts"));
    }
    const auto is_outside = [&](int32_t id) { return id < 0 || id >= model.vocabulary; };
    const auto outside = std::ranges::find_if(tokens, is_outside);
    if (outside == tokens.end()) continue;
    return fail(user_error("a token is outside the vocabulary", where,
                           "from 0 to " + std::to_string(model.vocabulary - 1),
                           std::to_string(*outside)));
  }
  return {};
}

Embedder::Embedder(std::unique_ptr<runtime::VirtualMachine> vm, const EmbedderOptions& options)
    : vm_(std::move(vm)), options_(options), arguments_(vm_->session()) {}

Result<std::unique_ptr<Embedder>> Embedder::create(std::unique_ptr<runtime::VirtualMachine> vm,
                                                   const std::map<std::string, HostTensor>& weights,
                                                   const EmbedderOptions& options) {
  TAPML_TRY(check_executable(vm->executable()));
  TAPML_ASSIGN(auto loaded, load_weights(*vm, weights, options.weights_in_place));
  std::unique_ptr<Embedder> embedder(new Embedder(std::move(vm), options));
  embedder->arguments_.set_weights(std::move(loaded));
  TAPML_TRY(embedder->vm_->session().synchronize(runtime::kDefaultStream));
  return embedder;
}

// Any token of the vocabulary.
int32_t Embedder::padding(size_t text, size_t position) const {
  if (!options_.random_padding) return 0;
  const uint64_t any = (text + 1) * 7919 + position * 104729;
  return static_cast<int32_t>(any % static_cast<uint64_t>(model().vocabulary));
}

Result<HostTensor> Embedder::run(std::span<const std::vector<int32_t>> texts,
                                 std::span<const size_t> numbers) {
  const auto batch = std::ssize(numbers);
  size_t longest = 0;
  for (const size_t number : numbers) longest = std::max(longest, texts[number].size());
  std::vector<int32_t> tokens, counts;
  for (const size_t number : numbers) {
    tokens.insert(tokens.end(), texts[number].begin(), texts[number].end());
    for (size_t i = texts[number].size(); i < longest; ++i) {
      tokens.push_back(padding(counts.size(), i));
    }
    counts.push_back(static_cast<int32_t>(texts[number].size()));
  }
  TAPML_TRY(arguments_.set(Role::kTokens, {batch, static_cast<int64_t>(longest)}, tokens));
  TAPML_TRY(arguments_.set(Role::kFeatureLengths, {batch}, counts));
  auto both =
      vm_->call_and_read(kEmbed, arguments_.of(*model().find_function(kEmbed), model(), {}), 0);
  arguments_.release();
  if (!both) return fail(std::move(both).error());
  const Shape& shape = both->bytes.shape();
  if (both->bytes.dtype() != DType::kF32 || shape.size() != 2 || shape[0] != batch) {
    return fail(internal_error(
        "the function's result does not match the model's interface: " + shape_to_string(shape),
        kEmbed));
  }
  return std::move(both->bytes);
}

Result<HostTensor> Embedder::embed(std::span<const std::vector<int32_t>> texts) {
  TAPML_TRY(check_texts(model(), texts));
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t number) { return texts[number].size(); });
  // The last text of a call is its longest; padding the others costs at most about as much again.
  const auto joins = [&](size_t first, size_t next) {
    const size_t longest = texts[order[next]].size(), least = texts[order[first]].size();
    return longest <= 2 * least + kSlack &&
           static_cast<int64_t>((next + 1 - first) * longest) <= options_.batch_tokens;
  };
  HostTensor all;
  for (size_t first = 0; first < order.size();) {
    size_t end = first + 1;
    while (end < order.size() && joins(first, end)) ++end;
    const auto numbers = std::span(order).subspan(first, end - first);
    tell(watcher_, {"embed", static_cast<int64_t>(first), std::ssize(order), "texts"});
    TAPML_ASSIGN(const HostTensor vectors, run(texts, numbers));
    const auto width = static_cast<size_t>(vectors.shape()[1]);
    if (first == 0) {
      all = HostTensor::zeros(DType::kF32, {std::ssize(texts), static_cast<int64_t>(width)});
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      std::ranges::copy(vectors.values<float>().subspan(i * width, width),
                        all.mutable_values<float>().subspan(numbers[i] * width, width).begin());
    }
    first = end;
  }
  tell(watcher_, {"embed", std::ssize(order), std::ssize(order), "texts"});
  return all;
}

Status Embedder::run_mixed_batch(std::span<const std::vector<int32_t>> texts) {
  TAPML_TRY(check_texts(model(), texts));
  std::vector<int32_t> known;
  for (const auto& text : texts) known.insert(known.end(), text.begin(), text.end());
  const int64_t longest = std::min(model().context, kMixedTokens);
  const std::vector<size_t> numbers = {0, 1, 2};
  std::vector<std::vector<int32_t>> mixed;
  for (const int64_t length : {(longest + 2) / 3, longest, int64_t{1}}) {
    std::vector<int32_t>& text = mixed.emplace_back();
    for (int64_t i = 0; i < length; ++i) {
      text.push_back(known[(mixed.size() + static_cast<size_t>(i)) % known.size()]);
    }
  }
  TAPML_ASSIGN([[maybe_unused]] const HostTensor vectors, run(mixed, numbers));
  return {};
}

}  // namespace tapml::llm
