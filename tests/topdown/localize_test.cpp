// Localization on a small random model: injected faults of several kinds, two at once, none; faults
// that the suite's inputs do not show; the smallest failing input and its reproducer.
#include "topdown/localize/localize.h"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/forwarding_session.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "topdown/altered_kernels.h"
#include "topdown/described_session.h"
#include "topdown/faults/faulty_session.h"
#include "topdown/faults/variants/families.h"
#include "topdown/kernels/custom_kernels.h"
#include "topdown/kernels/kernel_source.h"
#include "topdown/kernels/skeleton.h"
#include "topdown/limiting_session.h"
#include "topdown/refused_kernel.h"
#include "topdown/replay/replay.h"
#include "topdown/report/localize_report.h"
#include "topdown/results/result_json.h"
#include "topdown/small_model.h"
#include "topdown/wrong_decode_kernel.h"

namespace tapml::topdown {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// A cpu session for the kernels under test; the source has its own.
struct Platforms {
  std::unique_ptr<runtime::Session> from = testing::open_session("cpu"),
                                    to = testing::open_session("cpu");
  Platform source{target::parse_target("cpu"), from.get(), {}};
  Platform target{target::parse_target("cpu"), to.get(), {}};
};

Localization localized(LocalizeOptions options) {
  options.cache = &kernel_cache();
  const Platforms platforms;
  return localize(small_model().golden.model.module, small_model().golden.model.weights, kPrompt,
                  platforms.source, platforms.target, options);
}

// The first kernel of the model whose name begins with `begin`.
std::string kernel_named(const std::string& begin) {
  for (const KernelInfo& kernel : small_model().executable->kernels) {
    if (kernel.name.starts_with(begin)) return kernel.name;
  }
  ADD_FAILURE() << "no kernel " << begin;
  return "";
}

// A kernel called at prefill for a layer of the model.
std::string kernel_of(const std::string& layer) {
  for (const CallSiteInfo& site : small_model().executable->call_sites) {
    if (site.function == "prefill" && site.origin.layers == std::set<std::string>{layer}) {
      return small_model().executable->kernels[static_cast<size_t>(site.kernel)].name;
    }
  }
  ADD_FAILURE() << "no kernel of " << layer;
  return "";
}

std::set<std::string> culprits_of(const Localization& localization) {
  std::set<std::string> names;
  for (const Culprit& culprit : localization.culprits) names.insert(culprit.kernel);
  return names;
}

TEST(Localize, ACorrectModelHasNoCulprit) {
  const Localization clean = localized({});
  EXPECT_FALSE(clean.found());
  EXPECT_TRUE(clean.culprits.empty());
  EXPECT_EQ(clean.hybrid_runs, 1);
  EXPECT_TRUE(clean.target_ran);
  EXPECT_TRUE(clean.whole.passed);
  EXPECT_EQ(clean.verdicts.size(), small_model().executable->kernels.size() - 3)
      << "all but those of logits_all and draw alone";
}

TEST(Localize, AWrongDecodeKernelIsNamedAlsoWithoutDecodeSteps) {
  const testing::TempFolder folder;
  const std::string victim = decode_norm();
  LocalizeOptions options;
  options.custom_sources = wrong_decode_norm(folder);
  options.shrink_time = std::chrono::milliseconds(0);
  for (const int64_t steps : {0, 1, 2}) {
    SCOPED_TRACE(steps);
    options.validation_tokens = steps;
    const Localization found = localized(options);
    EXPECT_EQ(culprits_of(found), std::set<std::string>{victim});
    ASSERT_FALSE(found.culprits.empty());
    EXPECT_EQ(found.culprits[0].evidence, Evidence::kReplay);
    EXPECT_TRUE(found.untested.empty()) << untested_text(found.untested);
    EXPECT_EQ(found.verdict(), Verdict::kFail);
  }
}

// Tests of the prompt only, and a run that decodes: suspects without a test do not pass.
TEST(Localize, UntestedKernelsDoNotPass) {
  const testing::TempFolder folder;
  const std::string victim = decode_norm();
  LocalizeOptions options;
  options.suite = carved();
  std::erase_if(options.suite->calls,
                [](const SuiteCall& call) { return call.function == "decode"; });
  options.suite->incomplete = "interrupted";
  const Localization clean = localized(options);
  EXPECT_FALSE(clean.found());
  EXPECT_EQ(clean.verdict(), Verdict::kNotProven);
  EXPECT_NE(localization_text(clean).find("the suite is incomplete: interrupted"),
            std::string::npos);
  options.custom_sources = wrong_decode_norm(folder);
  options.shrink_time = std::chrono::milliseconds(0);
  const Localization found = localized(options);
  EXPECT_EQ(culprits_of(found), std::set<std::string>{victim});
  EXPECT_EQ(culprit_text(found.culprits.at(0), false).find("its tests pass"), std::string::npos);
  EXPECT_FALSE(found.culprits.at(0).verdict.origin.layers.empty()) << "its layers are known";
}

class LocalizeFault : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(LocalizeFault, NamesAllCulpritsAndNothingElse) {
  LocalizeOptions options;
  std::set<std::string> faulty;
  for (const std::string& text : GetParam()) {
    const std::string kernel = kernel_named(text.substr(0, text.find(':')));
    faulty.insert(kernel);
    options.faults.push_back(kernel + text.substr(text.find(':')));
  }
  const Localization found = localized(options);
  EXPECT_TRUE(found.found());
  EXPECT_EQ(culprits_of(found), faulty);
  EXPECT_TRUE(found.rest.passed) << "without them the model is right";
  EXPECT_FALSE(found.target_ran);
  for (const Culprit& culprit : found.culprits) {
    SCOPED_TRACE(culprit.kernel);
    EXPECT_EQ(culprit.evidence, Evidence::kReplay);
    EXPECT_FALSE(culprit.verdict.origin.layers.empty());
    EXPECT_EQ(culprit.runs, 5);
    EXPECT_EQ(culprit.failed_runs, 5);
    EXPECT_NE(culprit.source.loops.find("prim def"), std::string::npos) << culprit.source.loops;
    ASSERT_TRUE(culprit.smallest);
    const SmallestCall& smallest = *culprit.smallest;
    EXPECT_TRUE(same_failure(smallest.verdict, culprit.verdict));
    EXPECT_LE(smallest.bytes_after, smallest.bytes_before);
    EXPECT_LT(smallest.nonzero_after, smallest.nonzero_before);
    EXPECT_EQ(smallest.suite.calls.size(), 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, LocalizeFault,
                         ::testing::Values(std::vector<std::string>{"rms_norm_:wrong-constant"},
                                           std::vector<std::string>{"matmul_:missing-init"},
                                           std::vector<std::string>{"paged_attention:off-by-one"},
                                           std::vector<std::string>{"matmul_add_:dropped-tail",
                                                                    "take_:dropped-tail"}));

// Sessions that count as separate processes, into which runtime faults are injected.
Localization localized_apart(const std::vector<std::string>& faults) {
  Platforms platforms;
  platforms.target.open = [] { return testing::open_session("cpu"); };
  LocalizeOptions options;
  options.faults = faults;
  options.shrink_time = std::chrono::milliseconds(0);
  options.cache = &kernel_cache();
  return localize(small_model().golden.model.module, small_model().golden.model.weights, kPrompt,
                  platforms.source, platforms.target, options);
}

TEST(Localize, AnOutputThatIsReadTooEarlyShowsInItsTest) {
  const std::string victim = kernel_named("rms_norm_");
  const Localization found = localized_apart({victim + ":early-completion"});
  EXPECT_EQ(culprits_of(found), std::set<std::string>{victim});
  for (const Culprit& culprit : found.culprits) EXPECT_EQ(culprit.evidence, Evidence::kReplay);
}

// Its tests pass, since nothing runs before it there; so do hybrids, which fetch every output.
TEST(Localize, AMissingWaitIsFoundOnTheTarget) {
  const std::string victim = kernel_named("matmul_silu_multiply_");
  const Localization found = localized_apart({victim + ":missing-wait"});
  EXPECT_FALSE(found.whole.passed);
  EXPECT_TRUE(culprits_of(found).contains(victim)) << ::testing::PrintToString(culprits_of(found));
  EXPECT_TRUE(found.rest.passed);
  for (const Culprit& culprit : found.culprits) {
    EXPECT_EQ(culprit.evidence, Evidence::kTarget);
    EXPECT_TRUE(culprit.kernel == victim || std::ranges::count(culprit.together_with, victim) == 1)
        << culprit.kernel;
  }
}

// One is named by its tests, the other, which reads the first one's output, in the target's own VM.
TEST(Localize, AMissingWaitIsFoundBesideAKernelThatIsWrong) {
  const std::string waits_not = kernel_of("lm_head");
  const std::string wrong = kernel_of("model.norm");
  const Localization found = localized_apart({wrong + ":off-by-one", waits_not + ":missing-wait"});
  std::map<std::string, Evidence> evidence;
  for (const Culprit& culprit : found.culprits) evidence[culprit.kernel] = culprit.evidence;
  EXPECT_EQ(evidence.at(wrong), Evidence::kReplay);
  ASSERT_TRUE(evidence.contains(waits_not)) << ::testing::PrintToString(culprits_of(found));
  EXPECT_EQ(evidence.at(waits_not), Evidence::kTarget);
  EXPECT_TRUE(found.rest.passed);
}

// Kernels of the target whose weights the same launches pack, one weight per layer: that of lm_head
// is packed once per load, after no other.
std::vector<std::string> with_one_preparation() {
  pipeline::ImplementOptions implement;
  implement.module_per_kernel = true;
  implement.cache = &kernel_cache();
  const auto executable =
      pipeline::implement(pipeline::form_kernels(small_model().golden.model.module),
                          target::parse_target("cpu"), implement);
  std::map<std::string, std::vector<std::string>> kernels;
  for (const KernelInfo& kernel : executable->kernels) {
    const Implementation* own =
        executable->find_implementation(executable->find_kernel(kernel.name));
    if (own && !own->preparation.empty()) kernels[own->preparation].push_back(kernel.name);
  }
  for (auto& [digest, names] : kernels) {
    if (names.size() > 1 && std::ranges::count(names, kernel_of("lm_head")) == 0) return names;
  }
  return {};
}

// Packed weights overwrite those of the previous call: their kernel's own tests, which pack
// separately, pass.
TEST(Localize, WrongPackedWeightsAreReportedForAllKernelsThatUseThem) {
  const std::vector<std::string> sharing = with_one_preparation();
  ASSERT_GT(sharing.size(), 1u);
  Platforms platforms;
  platforms.target.open = [] { return testing::open_session("cpu"); };
  auto faults = std::make_shared<std::vector<SessionFault>>();
  for (const std::string& kernel : sharing) {
    faults->push_back({kernel, FaultKind::kStaleBinding, 1});
  }
  LocalizeOptions options;
  options.shrink_time = std::chrono::milliseconds(0);
  options.cache = &kernel_cache();
  const Localization found =
      localize(small_model().golden.model.module, small_model().golden.model.weights, kPrompt,
               platforms.source, with_session_faults(platforms.target, faults), options);
  EXPECT_TRUE(found.rest.passed);
  EXPECT_EQ(culprits_of(found), std::set<std::string>(sharing.begin(), sharing.end()));
  // A stale binding also shows in tests if the previous launch has other weights.
  const auto in_machine = std::ranges::count(found.culprits, Evidence::kTarget, &Culprit::evidence);
  EXPECT_GT(in_machine, 1);
  for (const Culprit& culprit : found.culprits) {
    EXPECT_TRUE(culprit.together_with.empty());
    EXPECT_EQ(culprit.verdict.passed, culprit.evidence == Evidence::kTarget);
    if (culprit.evidence != Evidence::kTarget) continue;
    EXPECT_EQ(std::ssize(culprit.same_preparation), in_machine - 1);
    EXPECT_NE(culprit_text(culprit, false).find("packed at load"), std::string::npos)
        << culprit_text(culprit, false);
  }
}

TEST(Localize, RuntimeFaultsNeedAProcess) {
  LocalizeOptions options;
  options.faults = {kernel_named("rms_norm_") + ":missing-wait"};
  testing::expect_user_error([&] { localized(options); }, {"--inject-fault", "process of its own"});
}

// Carved with prompts, and one token after each.
Suite suite_of(const std::vector<std::vector<int32_t>>& prompts) {
  auto engine = small_model().engine();
  Carver carver(*small_model().executable);
  engine->local_vm().call_point().set_observer(&carver);
  for (const std::vector<int32_t>& prompt : prompts) {
    unwrap(engine->clear());
    unwrap(runtime::download(unwrap(engine->prefill(prompt))));
    unwrap(runtime::download(unwrap(engine->decode(9))));
  }
  engine->local_vm().call_point().set_observer(nullptr);
  return carver.take();
}
Suite short_suite() { return suite_of({{3, 1}}); }

// A norm kernel that is called with two scalars, sequences and tokens: {1, 2}.
std::string norm_of_prompts(const Suite& suite) {
  for (const SuiteCall& call : suite.calls) {
    const std::string& name = suite.kernels[static_cast<size_t>(call.kernel)].name;
    if (name.starts_with("rms_norm") && call.scalars == std::vector<int64_t>{1, 2}) return name;
  }
  ADD_FAILURE() << "no such kernel";
  return "";
}

TEST(Localize, FaultsThatTheSuiteDoesNotShowAreFoundInTheModel) {
  LocalizeOptions options;
  options.suite = short_suite();
  const std::string victim = norm_of_prompts(*options.suite);
  ASSERT_NE(victim, "");
  options.rewrite = [&](const std::string& name, tir::PrimFuncRef scheduled) {
    return name == victim ? scaled_when_long(*scheduled, 3, 1.5) : scheduled;
  };
  const Localization found = localized(options);
  EXPECT_EQ(culprits_of(found), std::set<std::string>{victim});
  ASSERT_EQ(found.culprits.size(), 1u);
  const Culprit& culprit = found.culprits[0];
  EXPECT_EQ(culprit.evidence, Evidence::kHybrid);
  EXPECT_TRUE(culprit.together_with.empty());
  EXPECT_EQ(culprit.failed_runs, 5);
  EXPECT_GT(found.hybrid_runs, 5);
  // The prompt's own calls show it, and the limit is found.
  EXPECT_FALSE(culprit.verdict.passed);
  ASSERT_TRUE(culprit.smallest);
  ASSERT_EQ(culprit.smallest->dims_after.size(), 2u);
  EXPECT_EQ(culprit.smallest->dims_before[1].second, 5);
  EXPECT_EQ(culprit.smallest->dims_after[1].second, 4);
}

// NaN has no error that could exceed that of a passing call.
TEST(Localize, ACallOfNaNStaysTheWorstOne) {
  LocalizeOptions options;
  options.suite = suite_of({kPrompt, {3, 1}});
  const std::string victim = norm_of_prompts(*options.suite);
  options.repeats = 1;
  options.rewrite = [&](const std::string& name, tir::PrimFuncRef scheduled) {
    return name == victim ? scaled_when_long(*scheduled, 3, kNotANumber) : scheduled;
  };
  const Localization found = localized(options);
  ASSERT_EQ(culprits_of(found), std::set<std::string>{victim});
  const Culprit& culprit = found.culprits[0];
  EXPECT_GT(culprit.verdict.calls, 1);
  EXPECT_GT(culprit.verdict.worst.target.mask_mismatches, 0);
  EXPECT_FALSE(culprit.verdict.worst.target_ok);
  ASSERT_TRUE(culprit.verdict.difference);
  EXPECT_GT(culprit.verdict.difference->outside, 0);
  EXPECT_EQ(culprit.failed_runs, culprit.runs);
  ASSERT_TRUE(culprit.smallest);
  EXPECT_EQ(culprit.smallest->dims_after.back().second, 4) << "the limit";
}

// The first launch of one kernel does nothing.
class OnceLostSession : public runtime::ForwardingSession {
 public:
  explicit OnceLostSession(std::string kernel)
      : ForwardingSession(testing::open_session("cpu")), kernel_(std::move(kernel)) {}

  Status get_kernel(runtime::KernelId id, runtime::ModuleId module, const std::string& entry,
                    runtime::Deadline deadline) noexcept override {
    if (entry.starts_with(kernel_)) entries_.insert(id);
    return ForwardingSession::get_kernel(id, module, entry, deadline);
  }
  Status launch(runtime::StreamId stream, const runtime::LaunchRequest& request) noexcept override {
    if (entries_.contains(request.kernel) && !std::exchange(lost_, true)) return {};
    return ForwardingSession::launch(stream, request);
  }

 private:
  std::string kernel_;
  std::set<runtime::KernelId> entries_;
  bool lost_ = false;
};

TEST(Localize, AKernelThatFailsOnceHasARateAndNoSmallestInput) {
  const std::string victim = kernel_named("rms_norm_");
  for (int64_t repeats : {1, 3}) {
    LocalizeOptions options;
    options.repeats = repeats;
    options.cache = &kernel_cache();
    Platforms platforms;
    OnceLostSession session(victim);
    platforms.target.session = &session;
    const Localization found =
        localize(small_model().golden.model.module, small_model().golden.model.weights, kPrompt,
                 platforms.source, platforms.target, options);
    ASSERT_EQ(culprits_of(found), std::set<std::string>{victim});
    EXPECT_EQ(found.culprits[0].runs, found.culprits[0].verdict.launches.launches);
    EXPECT_EQ(found.culprits[0].failed_runs, 1);
    EXPECT_NE(culprit_text(found.culprits[0], false).find("(mismatch, 1 of "), std::string::npos)
        << culprit_text(found.culprits[0], false);
    EXPECT_FALSE(found.culprits[0].smallest);
  }
}

// A smaller input would not show what is correct.
TEST(Localize, DoesNotReduceInputsIfTheSourceIsWrongToo) {
  const std::string victim = kernel_named("rms_norm_");
  LocalizeOptions options;
  options.suite = carved();
  HostTensor wrong;
  for (SuiteCall& call : options.suite->calls) {
    if (call.kernel != options.suite->find_kernel(victim)) continue;
    for (std::string& hash : call.after) {
      if (hash.empty()) continue;
      const HostTensor& right = options.suite->tensors.at(hash);
      wrong = HostTensor::zeros(right.dtype(), right.shape());
      for (int64_t i = 0; i < wrong.size(); ++i) wrong.set_f64(i, right.at_f64(i) + 1);
      hash = content_hash(wrong);
      options.suite->tensors.insert_or_assign(hash, wrong);
    }
  }
  options.rewrite = [&](const std::string& name, tir::PrimFuncRef scheduled) {
    return name == victim ? variants::wrong_constant(*scheduled).at(0) : scheduled;
  };
  const Localization found = localized(options);
  ASSERT_EQ(culprits_of(found), std::set<std::string>{victim});
  EXPECT_TRUE(found.culprits[0].verdict.source_wrong);
  EXPECT_EQ(found.culprits[0].failed_runs, 5);
  EXPECT_FALSE(found.culprits[0].smallest);
}

class LocalizeReproducer : public ::testing::TestWithParam<int> {};  // seconds to reduce it

TEST_P(LocalizeReproducer, NeedsNoModel) {
  LocalizeOptions options;
  options.shrink_time = std::chrono::seconds(GetParam());
  const std::string kernel = kernel_named("rms_norm_");
  tir::PrimFuncRef implementation;
  options.rewrite = [&](const std::string& name, tir::PrimFuncRef scheduled) {
    if (name != kernel) return scheduled;
    return implementation = variants::wrong_constant(*scheduled).at(0);
  };
  const Localization found = localized(options);
  ASSERT_EQ(found.culprits.size(), 1u);
  EXPECT_EQ(found.culprits[0].smallest.has_value(), GetParam() > 0);
  testing::TempFolder folder;
  unwrap(write_reproducer(found.culprits[0], "cpu", {}, folder / "r"));
  EXPECT_NE(testing::read_bytes(folder / "r/README.md").find("tapml replay 'suite' --target 'cpu'"),
            std::string::npos);
  const Suite suite = unwrap(load_suite(folder / "r/suite"));
  ASSERT_EQ(suite.calls.size(), 1u);
  Platforms platforms;
  Sandbox sandbox(platforms.target);
  for (bool wrong : {true, false}) {
    KernelReference reference(suite);
    pipeline::ImplementOptions implement;
    if (wrong) implement.rewrite = [&](const auto&, const auto&) { return implementation; };
    sandbox.load(pipeline::implement(reference.module(), sandbox.target(), implement));
    KernelVerdict verdict = unwrap(replay_kernel(suite, reference, 0, sandbox));
    EXPECT_EQ(verdict.passed, !wrong);
    EXPECT_FALSE(verdict.source_wrong);
  }
}

INSTANTIATE_TEST_SUITE_P(Seconds, LocalizeReproducer, ::testing::Values(0, 10));

TEST(KernelSource, IsTheTextInThePlatformsLanguage) {
  const Module fixed = pipeline::form_kernels(small_model().golden.model.module);
  const std::string kernel = kernel_named("rms_norm_");
  for (const auto& [platform, language, word] :
       {std::tuple{"opencl", "opencl-c", "kernel void rms_norm_"},
        std::tuple{"vulkan", "glsl", "#version 450"}, std::tuple{"cpu", "", ""}}) {
    const KernelSource source = kernel_source(fixed, kernel, target::parse_target(platform), {});
    EXPECT_EQ(source.language, language);
    EXPECT_NE(source.code.find(word), std::string::npos) << source.code;
    EXPECT_NE(source.loops.find("prim def rms_norm_"), std::string::npos) << source.loops;
  }
}

// One custom kernel is correct, one is not.
TEST(Localize, AWrongCustomKernelIsNamedWithItsSource) {
  const target::Target target = target::parse_target("cpu");
  const Module fixed = pipeline::form_kernels(small_model().golden.model.module);
  const std::string right = kernel_named("matmul_"), wrong = kernel_named("rms_norm_");
  testing::TempFolder folder;
  testing::write_bytes(folder / "right.c", kernel_skeleton(fixed, right, target));
  std::string text = kernel_skeleton(fixed, wrong, target);
  const size_t root = text.find("sqrt");
  ASSERT_NE(root, std::string::npos) << text;
  text.replace(root, 4, "fabs");
  testing::write_bytes(folder / "wrong.c", text);
  LocalizeOptions options;
  options.custom_sources = read_custom_sources(folder / ".", target);
  const Localization found = localized(options);
  EXPECT_EQ(culprits_of(found), std::set<std::string>{wrong});
  ASSERT_EQ(found.culprits.size(), 1u);
  EXPECT_EQ(found.culprits[0].verdict.provider, "user:" + (folder / "./wrong.c"));
  EXPECT_EQ(found.culprits[0].source.code, text);
  EXPECT_EQ(found.culprits[0].source.language, "c");
  // The tested source is kept, whatever happens to the file.
  testing::write_bytes(folder / "wrong.c", "");
  unwrap(write_reproducer(found.culprits[0], "cpu", {}, folder / "r"));
  EXPECT_EQ(testing::read_bytes(folder / "r/kernels/wrong.c"), text);
  EXPECT_EQ(testing::read_bytes(folder / "r/kernel.c"), text);
  EXPECT_NE(testing::read_bytes(folder / "r/README.md").find("--custom-kernels 'kernels'"),
            std::string::npos);
}

TEST(Localize, AKernelBeyondALimitOfTheDeviceIsTheOnlyCulprit) {
  const std::string victim = kernel_named("rms_norm_");
  LocalizeOptions options;
  options.cache = &kernel_cache();
  const testing::TempFolder folder;
  options.custom_sources = too_large_for_devices(small_model().golden.model.module, victim, folder);
  Platforms platforms;
  DescribedSession session;
  session.described.limits.max_workgroup_threads = 65536;
  platforms.target.session = &session;
  const Localization found =
      localize(small_model().golden.model.module, small_model().golden.model.weights, kPrompt,
               platforms.source, platforms.target, options);
  ASSERT_EQ(culprits_of(found), std::set<std::string>{victim});
  EXPECT_EQ(found.culprits[0].verdict.failed, Failure::kRefused);
  EXPECT_EQ(found.culprits[0].failed_runs, 5);
  EXPECT_TRUE(found.rest.passed);
}

TEST(Localize, AKernelThatMeetsALimitOnlyInTheModelIsTheOnlyCulprit) {
  const std::string victim = kernel_named("rms_norm_");
  LocalizeOptions options;
  options.cache = &kernel_cache();
  auto localized = [&](int64_t launches) {
    LimitingSession session(victim, launches);
    Platforms platforms;
    platforms.target.session = &session;
    return localize(small_model().golden.model.module, small_model().golden.model.weights, kPrompt,
                    platforms.source, platforms.target, options);
  };
  const std::vector<KernelVerdict> verdicts = localized(1'000'000).verdicts;
  const auto own = std::ranges::find(verdicts, victim, &KernelVerdict::kernel);
  ASSERT_NE(own, verdicts.end());
  const Localization found = localized(own->launches.launches);
  ASSERT_EQ(culprits_of(found), std::set<std::string>{victim});
  EXPECT_EQ(found.culprits[0].evidence, Evidence::kHybrid);
  EXPECT_TRUE(found.culprits[0].verdict.passed);
  EXPECT_EQ(found.culprits[0].hybrid.failure, "more than this device has");
}

TEST(Localize, ReportsNaNOfTheSourceBeforeTryingKernels) {
  LocalizeOptions options;
  options.cache = &kernel_cache();
  const Platforms platforms;
  const Localization found = localize(small_model().golden.model.module, weights_with_nan(),
                                      kPrompt, platforms.source, platforms.target, options);
  ASSERT_TRUE(found.source_nan);
  EXPECT_EQ(found.source_nan->origin.layers, std::set<std::string>{"model.norm"});
  EXPECT_TRUE(found.found());
  EXPECT_TRUE(found.culprits.empty());
  EXPECT_TRUE(found.verdicts.empty());
  EXPECT_EQ(found.hybrid_runs, 0);
  EXPECT_NE(localization_text(found).find("NaN in the source's own run: rms_norm_"),
            std::string::npos);
}

TEST(Localize, ASuiteOfAnotherModelIsRefused) {
  LocalizeOptions options;
  options.suite = short_suite();
  for (SuiteKernel& kernel : options.suite->kernels) kernel.name += "0";
  testing::expect_user_error([&] { localized(options); },
                             {"suite belongs to another model", "--suite"});
  options.suite = short_suite();
  options.suite->fusion_policy = "another";
  testing::expect_user_error([&] { localized(options); }, {"another fusion policy", "another"});
}

}  // namespace
}  // namespace tapml::topdown
