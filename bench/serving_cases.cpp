// A model that serves many: against the same engine with one text.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <numeric>

#include "app/model.h"
#include "cases.h"
#include "compiled_model.h"
#include "ir/exceptions.h"
#include "llm/batching/continuous_batch.h"
#include "models/quantization.h"
#include "server/openai/api.h"

namespace tapml::bench {

namespace {

constexpr int64_t kServedTokens = 16;  // tokens of each text
constexpr int64_t kTexts = 16;

std::shared_ptr<CompiledModel> model_171m(const std::string& quantization) {
  static std::map<std::string, std::weak_ptr<CompiledModel>> kept;
  if (auto model = kept[quantization].lock()) return model;
  RandomWeights weights;
  // As the program quantizes on cpu.
  weights.quantized_inputs = !quantization.empty();
  if (!quantization.empty()) weights.quantization = models::Quantization::parse(quantization);
  auto model = std::make_shared<CompiledModel>(random_model(kLlama171m, weights));
  kept[quantization] = model;
  return model;
}

llm::TextRequest text_request(int32_t first, int64_t prompt, int64_t tokens) {
  llm::TextRequest request;
  request.prompt.resize(static_cast<size_t>(prompt));
  std::iota(request.prompt.begin(), request.prompt.end(), first);
  request.max_tokens = tokens;
  return request;
}

// Tokens per second of `texts` texts at once, after their prompts are read.
double batch_rate(llm::Engine& engine, int64_t texts) {
  auto batch = unwrap(llm::ContinuousBatch::create(engine, {.share_prefixes = false}));
  double start = 0;
  int64_t begun = 0, counted = 0;
  for (int64_t i = 0; i < texts; ++i) {
    // Long enough that all texts are together for kServedTokens.
    llm::TextRequest request =
        text_request(static_cast<int32_t>(1 + i), 8, kServedTokens + 1 + (texts - 1 - i));
    request.on_token = [&, is_first = true](const llm::ChosenToken&) mutable {
      if (std::exchange(is_first, false)) {
        if (++begun == texts) start = seconds_now();
      } else if (begun == texts) {
        ++counted;
      }
      return true;
    };
    unwrap(batch->submit(std::move(request)));
  }
  while (unwrap(batch->step())) {
  }
  return static_cast<double>(counted) / (seconds_now() - start);
}

Pair many_texts(const std::string& quantization) {
  auto model = model_171m(quantization);
  batch_rate(*model->engine, kTexts);
  return {[=] { return batch_rate(*model->engine, kTexts); },
          [=] { return batch_rate(*model->engine, 1); }};
}

// Seconds until the first token after a prompt whose first 1,000 tokens another text had.
Pair shared_prefix(std::string&) {
  auto model = model_171m("q4f32");
  const auto measure = [=](bool shares) {
    auto batch = unwrap(llm::ContinuousBatch::create(*model->engine, {.share_prefixes = shares}));
    const auto run = [&](int32_t last) {
      llm::TextRequest request = text_request(1, 1008, 1);
      request.prompt.back() = last;
      const double start = seconds_now();
      unwrap(batch->submit(std::move(request)));
      while (unwrap(batch->step())) {
      }
      return seconds_now() - start;
    };
    if (shares) run(1);
    return run(2);
  };
  measure(true);
  return {[=] { return measure(true); }, [=] { return measure(false); }};
}

// Takes an answer without a connection.
class Sink final : public server::Exchange {
 public:
  void respond(int status, std::string, std::string body, server::HttpHeaders) override {
    if (status != 200) problem_ = body;
    finish();
  }
  void respond_from(int, std::string, server::BodySource, server::HttpHeaders) override {
    finish();
  }
  void begin(int, std::string, server::HttpHeaders) override {}
  void write(std::string) override {
    const std::lock_guard lock(mutex_);
    if (pieces_++ == 0) first_ = seconds_now();
    last_ = seconds_now();
  }
  void end() override { finish(); }
  void on_gone(std::function<void()>) override {}

  // Seconds from the first to the last piece.
  double wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_done_; });
    if (!problem_.empty()) throw_user("the request failed", "serve", "an answer", problem_);
    return last_ - first_;
  }

 private:
  void finish() {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    changed_.notify_one();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  int64_t pieces_ = 0;
  double first_ = 0, last_ = 0;
  std::string problem_;
};

// Seconds per token of a streamed completion through the service and the interface, without
// sockets, against the engine's own.
Pair served_text(std::string&) {
  struct Served {
    std::shared_ptr<CompiledModel> model = model_171m("q4f32");
    Tokenizer tokenizer = app::load_tokenizer(kDemo);
    std::unique_ptr<server::TextService> service =
        unwrap(server::TextService::start(*model->engine, tokenizer, {}));
    server::Api api{{.texts = service.get()},
                    {.name = "bench",
                     .tokenizer = &tokenizer,
                     .chat_template = nullptr,
                     .end_tokens = {},
                     .context = model->engine->capacity()},
                    {}};
  };
  auto served = std::make_shared<Served>();
  const auto through_api = [=] {
    auto sink = std::make_shared<Sink>();
    // Each token is reported, so that each has a piece, whatever its text is.
    server::HttpRequest request;
    request.method = "POST";
    request.path = "/v1/completions";
    request.body = R"({"prompt": [1, 2, 3, 4], "max_tokens": )" +
                   std::to_string(2 * kServedTokens + 1) +
                   R"(, "temperature": 0, "stream": true, "logprobs": 0})";
    served->api.handle(request, sink);
    return sink->wait() / static_cast<double>(2 * kServedTokens + 1);
  };
  through_api();
  return {through_api, [=] { return served->model->decode(2 * kServedTokens); }};
}

}  // namespace

std::vector<Case> serving_cases() {
  std::vector<Case> cases;
  for (const std::string& quantization : {std::string("q4f32"), std::string()}) {
    cases.push_back(
        {.name = "serve/16_texts_llama_171m" + (quantization.empty() ? "" : "_" + quantization),
         .unit = "tokens/s",
         .peer = "one text",
         .bound = Bound::kAtLeast,
         .bar = 4,
         .prepare = [=](std::string&) { return many_texts(quantization); },
         .pairs = 7});
  }
  cases.push_back({.name = "serve/shared_prefix_1000_llama_171m_q4f32",
                   .unit = "s",
                   .peer = "the same text, nothing shared",
                   .bound = Bound::kAtMost,
                   .bar = 0.05,
                   .prepare = shared_prefix,
                   .pairs = 7});
  cases.push_back({.name = "serve/overhead_llama_171m_q4f32",
                   .unit = "s/token",
                   .peer = "the engine alone",
                   .bound = Bound::kAtMost,
                   .bar = 1.03,
                   .prepare = served_text,
                   .pairs = 9});
  return cases;
}

}  // namespace tapml::bench
