// Suites of groups: creating, writing, reading, merging and pruning.
#include "topdown/suite/trusted_suite.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "topdown/softmax_then_matmul.h"
#include "topdown/suite/merge_suites.h"
#include "topdown/suite/select_calls.h"
#include "topdown/suite/verify_suite.h"

namespace tapml::topdown {
namespace {

TEST(TrustedSuite, OneCallIsAnOrdinaryTest) {
  const HostTensor x = filled({3, 8}, -0.9), y = filled({3, 8}, 0);
  TrustedCalls test;
  test.calls = {0};
  test.inputs = {{{0, 0}, x, "in"}};
  test.outputs = {{{0, 1}, y, "out"}};
  const TrustedSuite made = trusted_suite(carved_softmax_then_matmul(),
                                          {test, test, both_calls(x, trusted(x))}, "pytorch");
  EXPECT_EQ(made.suite.source, "pytorch");
  ASSERT_EQ(made.suite.calls.size(), 1u) << "equal ones are one";
  ASSERT_EQ(made.suite.groups.size(), 1u);
  ASSERT_EQ(made.tests.size(), 3u);
  EXPECT_FALSE(made.tests[1].group);
  EXPECT_EQ(made.tests[1].index, 0u);
  EXPECT_TRUE(made.tests[2].group);
  EXPECT_EQ(made.suite.calls[0].before[0], content_hash(x));
  EXPECT_EQ(made.suite.calls[0].after[1], content_hash(y));
  const SuiteGroup& group = made.suite.groups[0];
  EXPECT_EQ(group.source, "pytorch");
  EXPECT_EQ(group.carved_on, "cpu");
  EXPECT_EQ(group.inputs[0].hash, content_hash(x));
  EXPECT_EQ(group.calls[0].before[0], "") << "it is the border's";
  EXPECT_EQ(group.calls[1].before[0], "") << "it is linked";
  EXPECT_EQ(group.calls[1].before[1], content_hash(second_operand()));
  EXPECT_EQ(named_tensors(group).size(), 3u) << "nothing between the kernels is kept";
}

TEST(TrustedSuite, RefusesInconsistentCalls) {
  const Suite carved = carved_softmax_then_matmul();
  const HostTensor x = filled({3, 8}, -0.9);
  auto refused = [&](const TrustedCalls& wrong, const std::string& text) {
    auto made = guard([&] { return trusted_suite(carved, {wrong}, "pytorch"); });
    ASSERT_FALSE(made) << text;
    EXPECT_EQ(made.error().kind, ErrorKind::kUser);
    testing::expect_parts(made.error(), {text});
  };
  refused(both_calls(filled({3, 7}, 1), trusted(x)), "does not fit the call");
  refused(both_calls(x, x), "does not fit the call");
  TrustedCalls wrong = both_calls(x, trusted(x));
  wrong.links[0] = {{1, 2}, {0, 0}};
  wrong.inputs.clear();
  refused(wrong, "does not start at an output of an earlier call");
  wrong = both_calls(x, trusted(x));
  wrong.links.push_back({{0, 1}, {1, 1}});
  refused(wrong, "the tensors of a link do not fit");
  wrong = both_calls(x, trusted(x));
  wrong.links.push_back(wrong.links[0]);
  refused(wrong, "given twice");
  wrong = both_calls(x, trusted(x));
  wrong.outputs[0].place = {1, 0};
  refused(wrong, "not written");
  wrong = both_calls(x, trusted(x));
  wrong.outputs.clear();
  refused(wrong, "needs calls and outputs");
  wrong = both_calls(x, trusted(x));
  wrong.calls.push_back(7);
  refused(wrong, "no such call");
  wrong = both_calls(x, trusted(x));
  wrong.inputs[0].place = {0, 5};
  refused(wrong, "no such parameter");
  wrong = both_calls(x, trusted(x));
  wrong.calls = {1};
  refused(wrong, "belongs to no call of the group");
}

TEST(SuiteGroups, RoundTrip) {
  testing::TempFolder folder;
  Suite suite = suite_of_a_group();
  suite.groups[0].times = 3;
  unwrap(save_suite(suite, folder / "s"));
  EXPECT_EQ(testing::names_under(folder / "s/tensors").size(), 3u);
  const Suite again = unwrap(load_suite(folder / "s"));
  EXPECT_EQ(suite_text(again), suite_text(suite));
  ASSERT_EQ(again.groups.size(), 1u);
  EXPECT_EQ(again.groups[0].times, 3);
  EXPECT_EQ(test_key(again.groups[0]), test_key(suite.groups[0]));
  const SuiteCheck check = unwrap(verify_suite(folder / "s"));
  EXPECT_TRUE(check.faults.empty());
  EXPECT_EQ(check.tensors, 3);
}

TEST(SuiteGroups, EqualGroupsAreMerged) {
  const Suite one = suite_of_a_group(), other = suite_of_a_group(1.5);
  const Suite same = merge({one, one}, {"a", "b"});
  ASSERT_EQ(same.groups.size(), 1u);
  EXPECT_EQ(same.groups[0].times, 2);
  const Suite both = merge({one, other}, {"a", "b"});
  ASSERT_EQ(both.groups.size(), 2u);
  EXPECT_EQ(both.kernels.size(), 2u);
  EXPECT_GT(both.groups[1].calls[0].sequence, both.groups[0].calls[1].sequence);
  testing::TempFolder folder;
  unwrap(save_suite(both, folder / "s"));
  EXPECT_EQ(suite_text(unwrap(load_suite(folder / "s"))), suite_text(both));
}

TEST(SuiteGroups, ArePrunedLikeCalls) {
  const Suite both = merge({suite_of_a_group(), suite_of_a_group(1.5)}, {"a", "b"});
  Suite some = both;
  prune(some, 1, 0);
  ASSERT_EQ(some.groups.size(), 1u);
  EXPECT_EQ(some.kernels[0].dropped, 1);
  EXPECT_EQ(some.kernels[1].dropped, 1);
  EXPECT_EQ(some.tensors.size(), 3u);
  some = both;
  prune(some, 0, 1);
  EXPECT_EQ(some.groups.size(), 1u) << "one of every kind stays";
  some = both;
  keep_kernels(some, {1});
  EXPECT_EQ(some.groups.size(), 2u) << "a group tests each of its kernels";
  EXPECT_EQ(some.kernels.size(), 2u);
  Suite more = both;
  const Suite carved = carved_softmax_then_matmul();
  more.calls = {carved.calls[0]};
  more.tensors.insert(carved.tensors.begin(), carved.tensors.end());
  more.groups.resize(1);
  for (SuiteCall& call : more.groups[0].calls) call.kernel = 1;
  keep_kernels(more, {1});
  EXPECT_TRUE(more.calls.empty());
  EXPECT_EQ(more.kernels.size(), 1u);
  EXPECT_EQ(more.groups[0].calls[0].kernel, 0);
}

// The text of a suite of one group, and the error when a part of it is replaced.
class AlteredGroup : public ::testing::Test {
 protected:
  void refused(const std::string& from, const std::string& to,
               const std::vector<std::string>& parts) {
    SCOPED_TRACE(from + " -> " + to);
    std::string text = text_;
    const size_t at = text.find(from, text.find("\"groups\""));
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, from.size(), to);
    const auto read = parse_suite(text, "suite.json", {[&](const std::string& hash) {
                                    return Result<HostTensor>(suite_.tensors.at(hash));
                                  }});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind, ErrorKind::kUser);
    testing::expect_parts(read.error(), parts);
    testing::expect_parts(read.error(), {"suite.json"});
  }
  static std::string quoted(const std::string& text) { return "\"" + text + "\""; }
  // A call's parameter as written in the text.
  static std::string place(int call, int param) {
    return "[" + std::to_string(call) + ", " + std::to_string(param) + "]";
  }

  const Suite suite_ = suite_of_a_group();
  const std::string text_ = suite_text(suite_);
};

TEST_F(AlteredGroup, IsRefusedWithFileAndPosition) {
  const std::string x = suite_.groups[0].inputs[0].hash, w = suite_.groups[0].calls[1].before[1];
  refused("\"groups\": [", "\"groups\": [7, ", {"a field \"source\""});
  refused("\"times\": 1", "\"times\": 0", {"times", "1 or more"});
  refused("\"kernel\": 0", "\"kernel\": 2", {"kernel", "of the suite"});
  refused(quoted(x), quoted(w), {"does not fit parameter", "f32[3, 8]", "f32[8, 4]"});
  refused(quoted(w), quoted(x), {"does not fit parameter", "f32[8, 4]", "f32[3, 8]"});
  refused(quoted(x), quoted("../x"), {"content hash", "../x"});
  refused(quoted(w), quoted(""), {"a parameter of a group's call has no value", "b of matmul_"});
  refused("\"scalars\": [", "\"scalars\": [1, ", {"does not fit its kernel", "scalars"});
  refused(place(0, 1), place(2, 1), {"a call that it does not have", "0 to 1", "found: 2"});
  refused(place(0, 1), place(-1, 1), {"a call that it does not have", "-1"});
  refused(place(0, 1), place(0, 3), {"a parameter that its kernel does not have", "0 to 1", "3"});
  refused(place(0, 1), place(0, 0), {"wrong place", "writes", "in"});
  refused(place(0, 1), place(1, 2), {"runs backwards", "earlier call than 1", "from call 1"});
  refused(place(1, 0), place(1, 2), {"wrong place", "reads", "out"});
  refused(place(1, 0), place(1, 1), {"a parameter of a group's call has no value", "a of matmul_"});
  refused("\"outputs\": [", "\"outputs\": [], \"other\": [",
          {"outputs of a group", "one at least"});
  refused("\"calls\": [", "\"calls\": [], \"other\": [", {"a call that it does not have"});
}

TEST_F(AlteredGroup, TensorsOfALinkHaveAsManyElements) {
  Suite suite = suite_;
  suite.groups[0].calls[0].scalars = {4};
  const std::string hash = content_hash(filled({4, 8}, 1));
  suite.groups[0].inputs[0].hash = hash;
  suite.tensors.emplace(hash, filled({4, 8}, 1));
  const auto read = parse_suite(suite_text(suite), "suite.json", {[&](const std::string& one) {
                                  return Result<HostTensor>(suite.tensors.at(one));
                                }});
  ASSERT_FALSE(read);
  testing::expect_parts(read.error(), {"a link of a group does not fit parameter", "f32[3, 8]",
                                       "f32[4, 8]", "suite.json, kernel "});
}

}  // namespace
}  // namespace tapml::topdown
