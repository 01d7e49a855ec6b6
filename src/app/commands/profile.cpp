#include "app/commands/profile.h"

#include "ir/exceptions.h"
#include "llm/engine.h"

namespace tapml::app {

topdown::Profiled profile(const ProfileCommand& command, const CommandHooks& hooks,
                          const std::function<void(const topdown::TraceTrack& calls)>& worked) {
  if (command.max_tokens < 0) {
    throw_user("the number of tokens is negative", "--max-tokens", "0 or more",
               std::to_string(command.max_tokens));
  }
  if (hooks.checked) hooks.checked();
  const auto begin = [&](const std::string& step) {
    if (hooks.poll) hooks.poll();
    if (hooks.phase) hooks.phase(step, 0);
  };
  begin(is_compiled(command.model.model) ? "load" : "compile");
  ModelOptions options = command.model;
  options.watcher = hooks.watcher;
  std::vector<int32_t> prompt;
  const ReadyModel model = make_ready(
      options,
      [&](const Tokenizer& tokenizer, const ModelInterface& interface, llm::TextInputs& inputs) {
        prompt = encode_prompt(tokenizer, interface, command.prompt, inputs);
      });
  auto engine = unwrap(
      llm::Engine::create(unwrap(runtime::open_instrumented(*model.session, model.executable)),
                          model.weights, {.weights_in_place = true, .sample_in_model = true}));
  model.attach(*engine);
  engine->set_watcher(hooks.watcher);
  llm::GenerateOptions generate;
  generate.max_tokens = command.max_tokens;
  generate.on_token = [&](int32_t) { return !hooks.cancelled || !hooks.cancelled(); };
  engine->vm().set_interrupt(hooks.interrupt);
  engine->vm().set_call_limit(command.model.step_limit);
  // Platforms may finish compiling a kernel at its first launch.
  begin("warm up");
  unwrap(engine->generate(prompt, generate));
  begin("profile");
  topdown::Profiler profiler(*model.executable);
  unwrap(engine->vm().set_timing(&profiler));
  if (hooks.opened) hooks.opened(*model.session, model.target.text);
  unwrap(engine->generate(prompt, generate));
  unwrap(engine->vm().set_timing(nullptr));
  if (hooks.poll) hooks.poll();
  if (worked) worked(profiler.calls());
  begin("ceilings");
  return {model.target.text, profiler.kernels(), profiler.seconds(),
          topdown::measure_ceilings(*model.session, model.target)};
}

}  // namespace tapml::app
