// A model in a web page: from the files of a package to answers.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "browser/weight_stream.h"
#include "exec/executable_file.h"
#include "io/file_source.h"
#include "llm/chat_session.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::browser {

// The steps of loading come in this order: add_file() for all files but the weights, open(),
// begin_weights(), add_weights() until the end, finish(). Each step before its turn is an
// InternalError. After a failure the model is of no use.
class PageModel {
 public:
  // UserError if the contents do not have this checksum (base/checksum.h).
  Status add_file(const std::string& name, std::span<const std::byte> contents, uint64_t checksum);
  // Reads the executable and what the tokenizer needs, opens the device that it was made for and
  // loads its kernels. Returns what the page may want to know: platform, device, limits,
  // vocabulary, context, whether the model has a chat template, its kernels. UserError for files of
  // another form and executables for other platforms; errors of the device.
  Result<Json> open(std::vector<int32_t> end_tokens);
  // Bytes of the header of the weights' file, which begins with `first`, at least 8 bytes.
  Result<int64_t> header_bytes(std::span<const std::byte> first, int64_t file_bytes) const;
  Status begin_weights(std::span<const std::byte> header, int64_t file_bytes);
  Status add_weights(std::span<const std::byte> bytes);
  Status finish(uint64_t checksum);

  // Answers a request: an object with "prompt" (a text) or "messages", and, all optional,
  // max_tokens, temperature, top_p, top_k, seed, stop (a list of texts), and as in OpenAI's
  // interface response_format, tools, tool_choice, parallel_tool_calls. `on_text` as in
  // AnswerOptions, with the number of tokens so far. page.h's tapml_page_stopped() ends it between
  // two kernels.
  //
  // With "parts": true, the answer is split into thoughts, content and calls (llm/tools), and
  // `on_text` gets the first two; else all is content.
  //
  // Returns an object with text (the content), thoughts, calls (a list of objects with name and
  // arguments, a text), tokens, end (answer_end_name()), prompt_tokens, kept_tokens,
  // prefill_seconds and decode_seconds. UserError for another request.
  using OnText = std::function<bool(std::string_view text, bool is_thought, int64_t tokens)>;
  Result<Json> answer(const Json& request, const OnText& on_text);
  Result<std::vector<int32_t>> tokenize(std::string_view text) const;
  // Runs the functions and kernels of the model's executable; null before open().
  runtime::LocalVirtualMachine* machine() const { return machine_; }

 private:
  // What a request asks for.
  struct Asked {
    std::vector<int32_t> prompt;
    bool begins_in_thought = false;
  };
  Result<Asked> prompt_of(const JsonObjectReader& request, llm::AnswerOptions& options) const;

  MemoryFiles files_{"package"};
  std::vector<std::byte> code_;  // of the executable
  std::vector<int32_t> end_tokens_;
  std::atomic<bool> stopped_ = false;  // the running answer
  // In an order in which each may use those before it until its end.
  std::unique_ptr<runtime::LocalSession> session_;
  std::unique_ptr<runtime::VirtualMachine> vm_;  // until the engine has it
  runtime::LocalVirtualMachine* machine_ = nullptr;
  std::optional<WeightStream> weights_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<llm::ChatTemplate> chat_template_;
  std::unique_ptr<llm::Engine> engine_;
  std::optional<llm::ChatSession> chat_;
};

}  // namespace tapml::browser
