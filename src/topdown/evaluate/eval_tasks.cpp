#include "topdown/evaluate/eval_tasks.h"

#include <algorithm>
#include <set>

#include "io/json_reader.h"
#include "ir/exceptions.h"

namespace tapml::topdown {

namespace {

// A line of a published file, whose other fields have no effect.
Result<EvalTask> read_published(const JsonObjectReader& reader) {
  EvalTask task;
  task.kind = TaskKind::kProgram;
  const Json* id = reader.find("task_id");
  if (id && id->is_string()) {
    TAPML_ASSIGN(task.id, reader.required_string("task_id"));
  } else if (id) {
    TAPML_ASSIGN(const int64_t number, reader.required_int("task_id"));
    task.id = std::to_string(number);
  }
  TAPML_ASSIGN(task.program, read_program_task(reader));
  task.prompt = task.program.prompt;
  return task;
}

Result<EvalTask> read_task(std::string_view text, const std::string& file) {
  TAPML_ASSIGN(const Json json, parse_json(text, file));
  const JsonObjectReader reader(json, file);
  EvalTask task;
  if (!reader.has("kind") && is_published_program(reader)) return read_published(reader);
  std::vector<std::string_view> names;
  for (TaskKind kind : kTaskKinds) names.emplace_back(task_kind_name(kind));
  TAPML_ASSIGN(const std::string name, reader.required_choice("kind", names));
  task.kind = kTaskKinds[std::ranges::find(names, name) - names.begin()];
  TAPML_ASSIGN(task.id, reader.string_or("id", ""));
  std::vector<std::string_view> known = {"kind", "id", "prompt", "answer"};
  switch (task.kind) {
    case TaskKind::kPerplexity: {
      known = {"kind", "id", "text"};
      TAPML_ASSIGN(std::string only, reader.required_string("text"));
      if (only.empty()) return fail(reader.field_error("text", "is empty", "some text"));
      task.continuations.push_back(std::move(only));
      break;
    }
    case TaskKind::kExactMatch: {
      TAPML_ASSIGN(task.prompt, reader.required_string("prompt"));
      TAPML_ASSIGN(std::string answer, reader.required_string("answer"));
      if (answer.empty()) return fail(reader.field_error("answer", "is empty", "some text"));
      task.continuations.push_back(std::move(answer));
      break;
    }
    case TaskKind::kMultipleChoice: {
      known.emplace_back("choices");
      TAPML_ASSIGN(task.prompt, reader.required_string("prompt"));
      TAPML_ASSIGN(task.continuations, reader.required_string_array("choices"));
      if (task.continuations.size() < 2) {
        return fail(reader.field_error("choices", "are too few", "two texts at least"));
      }
      std::set<std::string> seen;
      for (const std::string& choice : task.continuations) {
        if (!choice.empty() && seen.insert(choice).second) continue;
        return fail(reader.field_error("choices", "contain an empty or a duplicate text",
                                       "texts that differ"));
      }
      TAPML_ASSIGN(const int64_t answer,
                   reader.required_int("answer", 0, std::ssize(task.continuations) - 1));
      task.answer = static_cast<size_t>(answer);
      break;
    }
    case TaskKind::kProgram: {
      known = {"kind", "id", "prompt", "test", "entry_point"};
      TAPML_ASSIGN(task.program, read_program_task(reader));
      task.prompt = task.program.prompt;
      break;
    }
  }
  if (task.kind != TaskKind::kPerplexity && task.prompt.empty()) {
    return fail(reader.field_error("prompt", "is empty", "some text"));
  }
  for (const std::string& key : reader.unknown_keys(known)) {
    return fail(reader.field_error(key, "is unknown", std::string("the fields of ") + name));
  }
  return task;
}

std::string place(const std::string& file, int64_t line) {
  return file + ":" + std::to_string(line);
}

}  // namespace

std::vector<EvalTask> parse_tasks(std::string_view text, const std::string& file) {
  std::vector<EvalTask> tasks;
  std::set<std::string> ids;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto task = read_task(line, file);
    if (!task) {
      // Parse again with the lines before it, so that the error has the position in the file.
      task =
          read_task(std::string(static_cast<size_t>(number - 1), '\n') + std::string(line), file);
    }
    EvalTask read = unwrap(std::move(task));
    read.line = number;
    if (read.id.empty()) read.id = std::to_string(number);
    if (!ids.insert(read.id).second) {
      throw_user("two tasks have the same id", place(file, number), "an id that no other task has",
                 "\"" + read.id + "\"");
    }
    tasks.push_back(std::move(read));
  }
  if (tasks.empty()) throw_user("there are no tasks", file, "one JSON object per line", "none");
  return tasks;
}

std::vector<ScoredText> encode_task(const EvalTask& task, const Tokenizer& tokenizer,
                                    int64_t context, const std::string& file) {
  const std::vector<int32_t> prompt = unwrap(tokenizer.encode_prompt(task.prompt));
  std::vector<ScoredText> texts;
  for (const std::string& continuation : task.continuations) {
    ScoredText text;
    text.tokens = unwrap(tokenizer.encode_prompt(task.prompt + continuation));
    const auto parted = std::ranges::mismatch(text.tokens, prompt).in1;
    // Nothing before the first token could predict it.
    text.first = static_cast<size_t>(std::max<std::ptrdiff_t>(parted - text.tokens.begin(), 1));
    if (text.first >= text.tokens.size()) {
      throw_user("the task has no token to score", place(file, task.line),
                 "a text with tokens after the first one", "\"" + continuation + "\"");
    }
    if (std::ssize(text.tokens) > context) {
      throw_user("the task does not fit into the model's context", place(file, task.line),
                 std::to_string(context) + " tokens at most",
                 std::to_string(text.tokens.size()) + " tokens", "split or shorten it");
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace tapml::topdown
