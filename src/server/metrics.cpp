#include "server/metrics.h"

#include <algorithm>
#include <sstream>

namespace tapml::server {

void DurationHistogram::add(double seconds) {
  const auto bound = std::ranges::lower_bound(kBounds, seconds) - kBounds.begin();
  const std::lock_guard lock(mutex_);
  ++counts_[static_cast<size_t>(bound)];
  sum_ += seconds;
}

std::string DurationHistogram::text(const std::string& name, const std::string& help) const {
  const std::lock_guard lock(mutex_);
  std::ostringstream text;
  text << "# HELP " << name << " " << help << "\n# TYPE " << name << " histogram\n";
  int64_t count = 0;
  for (size_t i = 0; i < kBounds.size(); ++i) {
    count += counts_[i];
    text << name << "_bucket{le=\"" << kBounds[i] << "\"} " << count << "\n";
  }
  count += counts_.back();
  text << name << "_bucket{le=\"+Inf\"} " << count << "\n";
  text << name << "_sum " << sum_ << "\n" << name << "_count " << count << "\n";
  return text.str();
}

namespace {

// Appends values to the text of an answer.
auto appends_to(std::string& text) {
  return [&text](const std::string& own, const std::string& type, const std::string& help,
                 int64_t value) {
    const std::string name = "tapml_" + own;
    text += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n" + name + " " +
            std::to_string(value) + "\n";
  };
}

}  // namespace

std::string embedding_metrics_text(const EmbeddingCounts& counts, int64_t connections) {
  std::string text;
  const auto add = appends_to(text);
  add("connections", "gauge", "Open connections", connections);
  add("requests_waiting", "gauge", "Requests that wait", counts.waiting);
  add("requests_ended_total", "counter", "Requests that ended", counts.ended);
  add("requests_failed_total", "counter", "Requests that ended with an error", counts.failed);
  add("prompt_tokens_total", "counter", "Tokens of texts", counts.tokens);
  return text;
}

std::string metrics_text(const Metrics& metrics, const llm::ContinuousBatch::Counts& counts,
                         int64_t connections) {
  std::string text;
  const auto add = appends_to(text);
  add("connections", "gauge", "Open connections", connections);
  add("texts_running", "gauge", "Texts that are generated", counts.running);
  add("texts_waiting", "gauge", "Texts that wait for a place", counts.waiting);
  add("cache_pages", "gauge", "Pages that the key-value cache may have", counts.pages);
  add("cache_pages_used", "gauge", "Pages that texts use", counts.used_pages);
  add("cache_pages_kept", "gauge", "Pages that are kept for texts to come", counts.cached_pages);
  add("prompt_tokens_total", "counter", "Tokens of prompts", counts.prompt_tokens);
  add("prompt_tokens_shared_total", "counter", "Tokens of prompts that the cache had",
      counts.shared_tokens);
  add("generated_tokens_total", "counter", "Generated tokens", counts.generated_tokens);
  add("texts_ended_total", "counter", "Texts that ended", counts.ended);
  add("texts_failed_total", "counter", "Texts that ended with an error", counts.failed);
  add("preemptions_total", "counter", "Texts that gave back their pages", counts.preemptions);
  add("steps_total", "counter", "Steps of the engine", counts.steps);
  add("proposed_tokens_total", "counter", "Tokens that were proposed and checked",
      counts.proposed_tokens);
  add("accepted_tokens_total", "counter", "Of these, the ones that texts took",
      counts.accepted_tokens);
  add("verify_steps_total", "counter", "Steps that checked proposed tokens", counts.verify_steps);
  add("speculation_stops_total", "counter", "How often speculation measured slower",
      counts.speculation_stops);
  add("draft_cache_pages", "gauge", "Pages that the draft model's cache may have",
      counts.draft_pages);
  add("draft_cache_pages_used", "gauge", "Pages of the draft model that texts use",
      counts.used_draft_pages);
  text +=
      metrics.first_token.text("tapml_first_token_seconds", "From a request to its first token");
  text += metrics.between_tokens.text("tapml_token_seconds", "Between two tokens of a text");
  text += metrics.steps.text("tapml_step_seconds", "A step of the engine");
  return text;
}

}  // namespace tapml::server
