// Tasks for evaluating a model: one JSON object per line (docs/cli.md, eval).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llm/tokenizer/tokenizer.h"
#include "topdown/evaluate/program_task.h"
#include "topdown/results/evaluation.h"

namespace tapml::topdown {

struct EvalTask {
  std::string id;  // the line's number if the file has none
  TaskKind kind = TaskKind::kPerplexity;
  std::string prompt;                      // empty for perplexity
  std::vector<std::string> continuations;  // the text, the answer, or the choices
  size_t answer = 0;                       // index of the right one
  ProgramTask program;                     // then `prompt` is its, and there are no continuations
  int64_t line = 0;
};

// Throws UserError that names `file` and the line for malformed tasks, for a duplicate id and for a
// file without tasks.
std::vector<EvalTask> parse_tasks(std::string_view text, const std::string& file);

// A prompt with a continuation, as tokens.
struct ScoredText {
  std::vector<int32_t> tokens;
  size_t first = 0;  // the first scored token
};

// One for each continuation. Encodes prompt and continuation as one text; scores its tokens from
// the first one that is not in the prompt's own encoding, but never the first token of the text.
// UserError with the line if there is nothing to score, or if it does not fit into `context`.
std::vector<ScoredText> encode_task(const EvalTask& task, const Tokenizer& tokenizer,
                                    int64_t context, const std::string& file);

}  // namespace tapml::topdown
