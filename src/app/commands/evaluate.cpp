#include "app/commands/evaluate.h"

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "topdown/evaluate/quantization_cost.h"

namespace tapml::app {

namespace {

using topdown::Evaluation;

constexpr int64_t kMostProgramSeconds = 3600;

// Each platform once, in order, including the reference.
std::vector<PlatformChoice> platforms_of(const EvaluateCommand& command) {
  std::vector<PlatformChoice> platforms;
  const auto known = [&](const std::string& target) {
    return std::ranges::any_of(
        platforms, [&](const PlatformChoice& one) { return one.target.text == target; });
  };
  for (const PlatformChoice& one : command.targets) {
    if (one.session || !known(one.target.text)) platforms.push_back(one);
  }
  if (command.reference.empty()) return platforms;
  if (!known(command.reference)) {
    platforms.insert(
        platforms.begin(),
        PlatformChoice::of(command.reference, command.model.libraries, command.model.remote));
  }
  if (platforms.size() == 1) {
    throw_user("the reference is the only platform, and agrees with itself", "--reference",
               "another --target as well", command.reference);
  }
  return platforms;
}

class EvaluationRun {
 public:
  EvaluationRun(const EvaluateCommand& command, const CommandHooks& hooks)
      : command_(command), hooks_(hooks) {}

  topdown::Evaluated run() {
    if (command_.unquantized && command_.model.format.quantization().empty()) {
      throw_user("there is no quantized model to compare", "--unquantized", "--quantize", "none");
    }
    tasks_ = topdown::parse_tasks(
        command_.tasks_text ? *command_.tasks_text : unwrap(read_text_file(command_.tasks)),
        command_.tasks);
    const std::vector<PlatformChoice> platforms = platforms_of(command_);
    multiply_bytes_ = std::ranges::all_of(platforms, [](const PlatformChoice& platform) {
      return target::multiplies_bytes(platform.target.description);
    });
    // Tasks are many prompts, each with images of its own.
    if (command_.model.inputs.images.given()) {
      throw_user("tasks have no images", "--image", "a model's texts without images",
                 command_.model.inputs.images.files.front(), "leave --image out");
    }
    prepare_programs();
    if (hooks_.checked) hooks_.checked();
    result_.tasks = command_.tasks;
    result_.reference = command_.reference;
    result_.evaluations.resize(platforms.size());
    // The reference goes first, because programs are compared with its.
    const std::optional<size_t> reference = reference_of(platforms);
    const size_t first = reference.value_or(0);
    result_.evaluations[first] = evaluate_on(platforms[first], nullptr);
    for (size_t i = 0; i < platforms.size(); ++i) {
      if (i == first) continue;
      result_.evaluations[i] =
          evaluate_on(platforms[i], reference ? &result_.evaluations[first] : nullptr);
    }
    if (reference) {
      for (Evaluation& one : result_.evaluations) {
        one.comparison = topdown::compare_evaluations(one, result_.evaluations[first]);
      }
    }
    if (command_.unquantized && result_.passed()) result_.cost = cost_on(platforms[0]);
    return std::move(result_);
  }

 private:
  std::optional<size_t> reference_of(const std::vector<PlatformChoice>& platforms) const {
    if (command_.reference_index || command_.reference.empty()) return command_.reference_index;
    return std::ranges::find(platforms, command_.reference,
                             [](const auto& one) { return one.target.text; }) -
           platforms.begin();
  }

  void prepare_programs() {
    const bool all = std::ranges::all_of(
        tasks_, [](const auto& task) { return task.kind == topdown::TaskKind::kProgram; });
    if (command_.unquantized && all) {
      throw_user("programs have no scored tokens, which --unquantized compares", "--unquantized",
                 "a file with tasks of another kind too", command_.tasks);
    }
    const bool any = std::ranges::any_of(
        tasks_, [](const auto& task) { return task.kind == topdown::TaskKind::kProgram; });
    const topdown::ProgramOptions& options = command_.programs;
    if (options.chat && !any) {
      throw_user("no task is a program, and only those are answered in a chat", "--chat",
                 "a file with programs", command_.tasks);
    }
    if (!any) return;
    if (options.max_tokens < 1) {
      throw_user("the number of tokens of a program is too small", "--max-tokens", "1 or more",
                 std::to_string(options.max_tokens));
    }
    const auto seconds = options.limits.time.count() / 1000;
    if (seconds < 1 || seconds > kMostProgramSeconds) {
      throw_user("the time of a program is out of range", "--program-seconds",
                 "1 to " + std::to_string(kMostProgramSeconds), std::to_string(seconds));
    }
    if (options.chat) command_.chat.render_options();  // reports an error early
    runner_ = unwrap(topdown::ProgramRunner::create(options, hooks_.cancelled));
  }

  // What the model continues for a program.
  std::vector<int32_t> encode_program(const topdown::EvalTask& task, const Tokenizer& tokenizer,
                                      int64_t context) const {
    std::vector<int32_t> tokens;
    if (command_.programs.chat) {
      Json messages = Json::array();
      if (!command_.chat.system.empty()) {
        messages.push(chat_message("system", command_.chat.system));
      }
      messages.push(chat_message("user", topdown::program_request(task.program)));
      const std::string text = unwrap(template_->render(messages, command_.chat.render_options()));
      tokens = unwrap(tokenizer.encode(text, false));
    } else {
      tokens = unwrap(tokenizer.encode_prompt(task.prompt));
    }
    if (tokens.empty() || std::ssize(tokens) >= context) {
      throw_user("the task leaves no room for a program in the model's context",
                 command_.tasks + ":" + std::to_string(task.line),
                 "1 to " + std::to_string(context - 1) + " tokens",
                 std::to_string(tokens.size()) + " tokens");
    }
    return tokens;
  }

  Evaluation evaluate_on(const PlatformChoice& platform, const Evaluation* reference) {
    const std::string& target = platform.target.text;
    begin("compile for " + target, 0);
    ModelOptions options = options_for(platform);
    if (command_.programs.chat && !template_) {
      options.with_folder = [&](const std::string& folder) {
        template_ = command_.chat.load(folder, command_.model.model);
      };
    }
    const ReadyModel model =
        make_ready(options, [&](const Tokenizer& tokenizer, const ModelInterface& interface,
                                const llm::TextInputs& inputs) {
          if (!scored_.empty()) return;
          for (const topdown::EvalTask& task : tasks_) {
            if (task.kind == topdown::TaskKind::kProgram) {
              scored_.push_back({task, {}, encode_program(task, tokenizer, interface.context)});
              continue;
            }
            scored_.push_back(
                {task, encode_task(task, tokenizer, interface.context, command_.tasks), {}});
            check_task(scored_.back(), inputs.embeddings);
          }
        });
    auto engine = make_engine(model);
    engine->vm().set_interrupt(hooks_.interrupt);
    engine->vm().set_call_limit(command_.model.step_limit);
    engine->set_watcher(hooks_.watcher);
    begin("evaluate on " + target, std::ssize(scored_));
    const topdown::ProgramWriting programs = {.runner = runner_ ? &*runner_ : nullptr,
                                              .tokenizer = model.tokenizer.get(),
                                              .end_tokens = model.eos,
                                              .max_tokens = command_.programs.max_tokens,
                                              .chat = command_.programs.chat};
    Evaluation evaluation =
        topdown::evaluate(*engine, scored_, [&](size_t task) { step(task); }, programs, reference);
    evaluation.target = target;
    end(std::to_string(scored_.size()) + " tasks");
    return evaluation;
  }

  // A token under an embedding has no effect, so it cannot be scored.
  void check_task(const topdown::ScoredTask& task, const llm::PlacedEmbeddings& embeddings) const {
    for (const topdown::ScoredText& text : task.texts) {
      const Status placed =
          guard([&] { check_positions(embeddings, static_cast<int64_t>(text.first)); });
      if (placed) continue;
      Error error = placed.error();
      error.message = "the task has an embedding that is not before its scored tokens";
      error.where = command_.tasks + ":" + std::to_string(task.task.line);
      throw_error(std::move(error));
    }
  }

  // Compares the quantized model with the original one.
  topdown::QuantizationCost cost_on(const PlatformChoice& platform) {
    const std::string& target = platform.target.text;
    begin("compile for " + target + ", with and without --quantize", 0);
    ModelOptions options = options_for(platform);
    const ReadyModel quantized = make_ready(options, {});
    options.format.quantize.clear();
    options.format.quantize_map.clear();
    options.format.quantize_activations.clear();
    const ReadyModel plain = make_ready(options, {});
    if (std::ranges::any_of(plain.weights, [](const auto& weight) {
          return weight.first.ends_with(models::packed_name(""));
        })) {
      throw_user("the weights in the file are quantized: there are no others to compare with",
                 "--unquantized", "a model with weights in f32, f16 or bf16", options.model);
    }
    const auto engine = make_engine(plain), other = make_engine(quantized);
    engine->set_watcher(hooks_.watcher);
    other->set_watcher(hooks_.watcher);
    begin("compare on " + target, std::ssize(scored_));
    topdown::QuantizationCost cost =
        topdown::quantization_cost(*engine, *other, scored_, [&](size_t task) { step(task); });
    cost.weight_error = topdown::weight_error(plain.weights, quantized.weights);
    end(counted(cost.positions, "token"));
    return cost;
  }

  ModelOptions options_for(const PlatformChoice& platform) const {
    ModelOptions options = command_.model;
    options.for_any_platform = !multiply_bytes_;  // one specification for all
    options.target = platform.target.text;
    options.opened = platform.target;
    options.session = platform.session;
    options.libraries = platform.libraries;
    options.remote = platform.remote;
    options.watcher = hooks_.watcher;
    return options;
  }
  void begin(const std::string& phase, int64_t total) const {
    if (hooks_.phase) hooks_.phase(phase, total);
  }
  void end(const std::string& summary) const {
    if (hooks_.phase_end) hooks_.phase_end(summary);
  }
  void step(size_t task) const {
    if (hooks_.poll) hooks_.poll();
    if (!hooks_.progress) return;
    hooks_.progress(scored_[task].task.id, static_cast<int64_t>(task), std::ssize(scored_));
  }

  const EvaluateCommand& command_;
  const CommandHooks& hooks_;
  std::vector<topdown::EvalTask> tasks_;
  bool multiply_bytes_ = false;              // all platforms
  std::vector<topdown::ScoredTask> scored_;  // the tasks as tokens
  std::optional<topdown::ProgramRunner> runner_;
  std::optional<llm::ChatTemplate> template_;
  topdown::Evaluated result_;
};

}  // namespace

topdown::Evaluated evaluate(const EvaluateCommand& command, const CommandHooks& hooks) {
  return EvaluationRun(command, hooks).run();
}

}  // namespace tapml::app
