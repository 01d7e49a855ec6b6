// Tasks that tell how well a model does: one JSON object a line (docs/cli.md, eval).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llm/tokenizer/tokenizer.h"
#include "topdown/results/evaluation.h"

namespace tapml::topdown {

struct EvalTask {
  std::string id;  // the line's number where the file gives none
  TaskKind kind = TaskKind::kPerplexity;
  std::string prompt;                      // none for perplexity
  std::vector<std::string> continuations;  // the text, the answer, or the choices
  size_t answer = 0;                       // the right one
  int64_t line = 0;
};

// Throws UserError that names `file` and the line for anything malformed, for an id that comes
// twice and for a file without tasks.
std::vector<EvalTask> parse_tasks(std::string_view text, const std::string& file);

// A prompt with a continuation, as tokens.
struct ScoredText {
  std::vector<int32_t> tokens;
  size_t first = 0;  // of the tokens that are scored
};

// One for each continuation. Prompt and continuation are encoded as one text; what is scored begins
// where its tokens part from those of the prompt alone, behind the first token at least. UserError
// with the line for what has nothing to score or does not fit into `context`.
std::vector<ScoredText> encode_task(const EvalTask& task, const Tokenizer& tokenizer,
                                    int64_t context, const std::string& file);

}  // namespace tapml::topdown
