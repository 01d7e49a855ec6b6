// The texts of one request, from the service to the client.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/http/exchange.h"
#include "server/openai/reply.h"
#include "server/openai/request.h"
#include "server/text_service.h"

namespace tapml::server {

// A prompt, in tokens, and how its answer begins.
struct PromptTokens {
  std::vector<int32_t> tokens;
  bool begins_in_thought = false;
};

class Generation : public std::enable_shared_from_this<Generation> {
 public:
  Generation(TextService& service, std::shared_ptr<Exchange> exchange, HttpHeaders headers,
             ReplyHead head, const GenerationRequest& request, bool with_tools);

  // Submits `request.choices` texts for each prompt; 429 or 503 if the service takes no more.
  ApiResult<void> start(const std::vector<PromptTokens>& prompts,
                        const std::vector<int32_t>& end_tokens, int64_t context);

 private:
  struct Text {
    llm::AnswerParts parts;
    ReplyChoice whole;  // of an answer that is not streamed
    bool has_begun = false;
  };
  void on_piece(size_t index, TextPiece piece);
  void on_end(size_t index, const Result<ServedEnd>& end);
  void give(Text& text, llm::AnswerDelta delta, std::vector<TokenReport> tokens,
            const char* finish);
  void write(const Json& json);
  void complete();
  void fail_with(const Error& error);
  void cancel();

  TextService& service_;
  const std::shared_ptr<Exchange> exchange_;
  const HttpHeaders headers_;
  const ReplyHead head_;
  const GenerationRequest request_;
  const bool with_tools_;
  // Of the service's thread, once the texts are submitted:
  std::vector<Text> texts_;
  size_t ended_ = 0;
  Usage usage_;
  bool has_begun_ = false, has_failed_ = false;
  std::mutex mutex_;
  std::vector<TextService::TextId> ids_;
};

}  // namespace tapml::server
