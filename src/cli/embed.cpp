// tapml embed: makes vectors of texts with an encoder.
#include <CLI/CLI.hpp>
#include <cmath>

#include "app/encoder_texts.h"
#include "app/model.h"
#include "base/clock.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/strings.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "io/host/files.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "llm/embedder.h"

namespace tapml::cli {

namespace {

constexpr size_t kShownNumbers = 4;  // of a vector, in the output for people
constexpr size_t kShownTexts = 12;   // in the table of similarities

struct EmbedOptions {
  ModelOptions model;
  app::EncoderTexts texts;
  std::string output;
};

struct Texts : app::NamedTexts {
  std::vector<std::vector<int32_t>> tokens;
};

// Between each two vectors; 0 for a vector without a direction.
std::vector<std::vector<double>> cosines(std::span<const float> vectors, size_t count) {
  const size_t width = vectors.size() / count;
  const auto product = [&](size_t a, size_t b) {
    double sum = 0;
    for (size_t i = 0; i < width; ++i) {
      sum += static_cast<double>(vectors[a * width + i]) * vectors[b * width + i];
    }
    return sum;
  };
  std::vector<std::vector<double>> all(count, std::vector<double>(count));
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = 0; b < count; ++b) {
      const double lengths = std::sqrt(product(a, a) * product(b, b));
      all[a][b] = lengths > 0 ? product(a, b) / lengths : 0;
    }
  }
  return all;
}

std::string number_text(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

void print(const Texts& all, std::span<const float> vectors,
           const std::vector<std::vector<double>>& similar, const Output& output) {
  const size_t count = all.texts.size(), width = vectors.size() / count;
  for (size_t i = 0; i < count; ++i) {
    const auto vector = vectors.subspan(i * width, width);
    std::string line = std::to_string(i) + "  [";
    for (size_t j = 0; j < std::min(width, kShownNumbers); ++j) {
      line += number_text(j == 0 ? "%.6f" : ", %.6f", vector[j]);
    }
    line += width > kShownNumbers ? ", ...]  " : "]  ";
    output.line(line + in_quotes(all.texts[i]));
  }
  if (count > 1 && count <= kShownTexts) {
    output.line("cosine similarities:");
    for (size_t a = 0; a < count; ++a) {
      std::string line = std::to_string(a);
      for (const double cosine : similar[a]) line += number_text(" %8.4f", cosine);
      output.line(line);
    }
  }
  output.line(counted(static_cast<int64_t>(count), "vector") + " of " + std::to_string(width) +
              " numbers; --json prints all of them");
}

Json json_of(const Texts& all, std::span<const float> vectors,
             const std::vector<std::vector<double>>& similar) {
  const size_t count = all.texts.size(), width = vectors.size() / count;
  std::vector<Json> texts, rows;
  for (size_t i = 0; i < count; ++i) {
    std::vector<Json> tokens, vector, row;
    for (const int32_t id : all.tokens[i]) tokens.push_back(Json::integer(id));
    for (const float value : vectors.subspan(i * width, width)) {
      vector.push_back(Json::number(value));
    }
    for (const double cosine : similar[i]) row.push_back(Json::number(cosine));
    texts.push_back(Json::object({{"text", Json::string(all.texts[i])},
                                  {"tokens", Json::array(std::move(tokens))},
                                  {"embedding", Json::array(std::move(vector))}}));
    rows.push_back(Json::array(std::move(row)));
  }
  return Json::object({{"dimensions", Json::integer(static_cast<int64_t>(width))},
                       {"texts", Json::array(std::move(texts))},
                       {"cosines", Json::array(std::move(rows))}});
}

void check_finite(const Texts& all, std::span<const float> vectors) {
  const size_t width = vectors.size() / all.texts.size();
  for (size_t i = 0; i < vectors.size(); ++i) {
    if (std::isfinite(vectors[i])) continue;
    throw_user("the vector of a text has a number that is not finite", all.names[i / width],
               "finite numbers", number_text("%f", vectors[i]),
               "if --activations or --quantize computes in f16, try f32");
  }
}

int run(EmbedOptions options, const Output& output) {
  Texts all{app::read_texts(options.texts), {}};
  // Checked before minutes of compiling.
  if (!options.output.empty()) unwrap(check_writable(options.output));
  Progress progress = Progress::to_stderr(output.json, Progress::kPatience);
  progress.begin("load");
  options.model.watcher = progress.watcher();
  const ReadyModel model = make_ready(
      options.model,
      [&](const Tokenizer& tokenizer, const ModelInterface& interface, const llm::TextInputs&) {
        all.tokens = app::encode_texts(tokenizer, interface, all);
      });
  const auto embedder = make_embedder(model);
  embedder->vm().set_interrupt(&interrupt_flag());
  embedder->vm().set_call_limit(options.model.step_limit);
  embedder->set_watcher(progress.watcher());
  progress.begin("embed");
  const double start = seconds_now();
  const HostTensor vectors = unwrap(embedder->embed(all.tokens));
  const double seconds = seconds_now() - start;
  progress.end();
  const std::span<const float> values = vectors.values<float>();
  check_finite(all, values);
  if (!options.output.empty()) {
    unwrap(write_file_atomic(options.output, write_safetensors({{"embeddings", vectors}})));
  }
  const auto similar = cosines(values, all.texts.size());
  print(all, values, similar, output);
  Json document = json_of(all, values, similar);
  document.set("target", Json::string(model.target.text));
  document.set("timings", Json::object({{"load", Json::number(model.load_seconds)},
                                        {"compile", Json::number(model.compile_seconds)},
                                        {"embed", Json::number(seconds)}}));
  output.document(document);
  return kDone;
}

}  // namespace

void add_embed(Registration registration) {
  auto* command = registration.app.add_subcommand("embed", "Make vectors of texts with an encoder");
  command->footer("Example: tapml embed DIR --text \"A cat sleeps.\" --text \"A dog runs.\"");
  auto options = std::make_shared<EmbedOptions>();
  add_encoder_options(*command, options->model);
  add_options(*command, options->texts);
  command->add_option("-o,--output", options->output,
                      "File for the vectors, a tensor \"embeddings\" (safetensors)");
  set_runner(*command, registration,
             [options, registration] { return run(*options, registration.output); });
}

}  // namespace tapml::cli
