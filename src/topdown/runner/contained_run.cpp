#include "topdown/runner/contained_run.h"

#include "runtime/launch_note.h"

namespace tapml::topdown {

bool is_refusal(const Error& error) {
  return error.kind == ErrorKind::kUser || error.fault == PlatformFault::kLimit;
}

Failure failure_of(const Error& contained) {
  return contained.fault == PlatformFault::kTimeout ? Failure::kTimeout : Failure::kCrash;
}

Status run_contained(Sandbox& sandbox, KernelVerdict& verdict,
                     const std::function<Status(runtime::KernelRunner&)>& run) {
  Status ran = run(sandbox.runner());
  if (!ran && sandbox.lost(ran.error())) {
    // The kernel is not at fault. If the next session is lost, too, it is the platform's error.
    sandbox.restart();
    ran = run(sandbox.runner());
  }
  if (ran || !sandbox.contains(ran.error())) return ran;
  sandbox.restart();
  const Error first = ran.error();
  if (runtime::is_misbehavior(first)) {
    verdict.failed =
        runtime::find_stray(first.message) ? Failure::kOutOfBounds : Failure::kSideEffect;
    verdict.failure = first.message;
    return ran;
  }
  if (first.fault != PlatformFault::kTimeout) {
    // A kernel that ran earlier in the process may be at fault.
    ran = run(sandbox.runner());
    if (ran || !sandbox.contains(ran.error())) {
      verdict.note =
          "crashed once, but not again in a fresh process; an earlier kernel "
          "may write out of bounds: " +
          first.message;
      return ran;
    }
    sandbox.restart();
  }
  verdict.failed = failure_of(ran.error());
  verdict.failure = ran.error().message;
  return ran;
}

}  // namespace tapml::topdown
