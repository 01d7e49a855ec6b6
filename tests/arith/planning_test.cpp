// Queries that memory planning and run-time checks send to the prover: padded products, their max
// and min.
#include <gtest/gtest.h>

#include "arith/analyzer.h"
#include "random_expr.h"

namespace tapml::arith {
namespace {

PrimExpr padded(const PrimExpr& bytes) { return floordiv(bytes + 15, 16) * 16; }

class Planning : public testing::Test {
 protected:
  Planning() {
    for (const Var& var : {n_, m_, b_}) analyzer_.bind(var, 0, std::nullopt);
  }
  bool at_most(const PrimExpr& a, const PrimExpr& b) { return analyzer_.prove_less_equal(a, b); }

  Var n_ = make_var("n"), m_ = make_var("m"), b_ = make_var("b");
  Analyzer analyzer_;
};

TEST_F(Planning, LargerTensorsOfOneDimension) {
  EXPECT_TRUE(at_most(padded(n_ * 8), padded(n_ * 8 + 8)));
  EXPECT_FALSE(at_most(padded(n_ * 8 + 8), padded(n_ * 8)));
  EXPECT_TRUE(at_most(n_ * 16, n_ * 64));
  EXPECT_TRUE(at_most(b_ * n_ * 256, b_ * n_ * 688));
  EXPECT_TRUE(at_most(padded(n_ * 4), padded(n_ * 8)));
}

TEST_F(Planning, Products) {
  EXPECT_TRUE(at_most(n_ * m_ * 16, n_ * (m_ + 1) * 16));
  EXPECT_FALSE(at_most(n_ * 16, n_ * m_ * 16)) << "m may be 0";
  analyzer_.bind(m_, 1, std::nullopt);
  EXPECT_TRUE(at_most(n_ * 16, n_ * m_ * 16));
  EXPECT_TRUE(at_most(n_ * b_ * 16, n_ * m_ * b_ * 16));
}

TEST_F(Planning, GreaterOfTwo) {
  PrimExpr either = max(n_ * 16, m_ * 16);
  EXPECT_TRUE(at_most(n_ * 16, either));
  EXPECT_TRUE(at_most(m_ * 16, either));
  EXPECT_TRUE(at_most(either, n_ * 16 + m_ * 16));
  EXPECT_FALSE(at_most(either, n_ * 16));
  EXPECT_TRUE(at_most(min(n_, m_) * 16, either));
  EXPECT_TRUE(analyzer_.prove_divisible(either, 16));
  EXPECT_TRUE(analyzer_.prove_equal(max(n_, m_) + min(n_, m_) - max(n_, m_), min(n_, m_)));
}

TEST_F(Planning, Bounds) {
  analyzer_.bind(n_, 0, 4);
  EXPECT_EQ(analyzer_.upper_bound(padded(n_ * 8)), 32);
  EXPECT_EQ(analyzer_.upper_bound(padded(n_ * 8 + 8)), 48);
  analyzer_.bind(m_, 0, 10);
  EXPECT_EQ(analyzer_.upper_bound(max(n_ * 16, m_ * 8)), 80);
  EXPECT_EQ(analyzer_.upper_bound(n_ * m_ * 4), 160);
}

TEST_F(Planning, DivisibilityOfProducts) {
  EXPECT_TRUE(analyzer_.prove_divisible(n_ * (n_ + 1), 2));
  EXPECT_TRUE(analyzer_.prove_divisible(n_ * n_ * n_ - n_, 6));
  EXPECT_FALSE(analyzer_.prove_divisible(n_ * (n_ + 1), 4));
  EXPECT_TRUE(analyzer_.prove_divisible(n_ * 4 * (m_ * 4), 16));
  analyzer_.assume(eq(floormod(n_, 4), 0));
  EXPECT_TRUE(analyzer_.prove_divisible(n_ * m_, 4));
  EXPECT_TRUE(analyzer_.prove_divisible(n_ * (m_ * 4 + 8), 16));
  EXPECT_TRUE(analyzer_.prove_divisible(n_ * 3 + m_ * 4, 4));
  EXPECT_FALSE(analyzer_.prove_divisible(n_ * 3 + m_ * 2, 4));
}

TEST_F(Planning, PartsOfAStorage) {
  auto aligned = [](const PrimExpr& bytes) { return floordiv(bytes + 255, 256) * 256; };
  EXPECT_TRUE(at_most(n_ * 16384 + n_ * 16384, n_ * 44032));
  EXPECT_FALSE(at_most(n_ * 16384 + n_ * 44032, n_ * 44032));
  EXPECT_TRUE(at_most(padded(n_ * 4), aligned(padded(n_ * 4))));
  EXPECT_TRUE(at_most(aligned(n_ * 40) + n_ * 40, n_ * 80 + 255));
  EXPECT_FALSE(at_most(aligned(n_ * 40) + n_ * 40, n_ * 80));
  EXPECT_TRUE(at_most(aligned(n_ * 4) + aligned(n_ * 4), aligned(n_ * 8) + 256));
  EXPECT_TRUE(at_most(max(n_ * 16, m_ * 16) + n_ * 16, n_ * 32 + m_ * 16));
  EXPECT_TRUE(at_most(max(padded(n_ * 4), padded(m_ * 4)), padded(max(n_, m_) * 4)));
  EXPECT_TRUE(at_most(n_ * m_ * 16, max(n_, m_) * max(n_, m_) * 16));
  EXPECT_TRUE(at_most(n_ * floordiv(m_, 2) * 2, n_ * m_));
  EXPECT_TRUE(analyzer_.prove_divisible(aligned(n_ * 4) + n_ * 256, 256));
  EXPECT_TRUE(analyzer_.prove_divisible(max(n_ * 256, aligned(m_)), 256));
  EXPECT_FALSE(analyzer_.prove_divisible(aligned(n_ * 4) + n_ * 16, 256));
}

// Storage layouts: parts after an aligned offset, compared with whole storages, for all small
// values.
TEST_F(Planning, RandomPartsOfStoragesHold) {
  int proved = 0, valid = 0;
  for (int round = 0; round < 400; ++round) {
    RandomExpr random(test_seed() * 16777619 + static_cast<uint64_t>(round));
    auto part = [&]() -> PrimExpr {
      PrimExpr dim = random.pick(0, 2) == 0 ? m_ : random.pick(0, 2) == 0 ? max(n_, m_) : n_;
      return padded(dim * (random.pick(1, 40) * 4));
    };
    auto layout = [&] {
      PrimExpr end = part();
      for (int64_t i = random.pick(0, 2); i > 0; --i) {
        end = floordiv(end + 255, 256) * 256 + part();
      }
      return end;
    };
    PrimExpr a = layout(), b = random.pick(0, 1) ? max(layout(), layout()) : layout();
    if (random.pick(0, 1)) b = floordiv(b + 255, 256) * 256 + a;
    bool holds = at_most(a, b), always = true;
    for (int64_t n = 0; n < 300 && always; n = n * 2 + 1) {
      for (int64_t m = 0; m < 300; m = m * 2 + 1) {
        Values values{{n_.get(), n}, {m_.get(), m}};
        always &= evaluate(a, values).value() <= evaluate(b, values).value();
      }
    }
    ASSERT_TRUE(always || !holds) << to_string(a) << " <= " << to_string(b);
    proved += holds;
    valid += always;
  }
  std::printf("proved %d of %d layouts that hold on the grid\n", proved, valid);
  EXPECT_GT(proved, valid * 3 / 4);
}

// Sizes as memory planning forms them, compared with all small values.
TEST_F(Planning, ComparisonsOfRandomSizesHold) {
  int proved = 0, valid = 0;
  for (int round = 0; round < 1500; ++round) {
    RandomExpr random(test_seed() * 13000027 + static_cast<uint64_t>(round));
    auto factor = [&]() -> PrimExpr {
      switch (random.pick(0, 4)) {
        case 0:
          return random.pick(1, 12);
        case 1:
          return n_;
        case 2:
          return m_;
        case 3:
          return n_ + random.pick(1, 3);
        default:
          return floordiv(m_ + 1, 2);
      }
    };
    auto size = [&] {
      PrimExpr bytes = factor() * factor() * random.pick(1, 3);
      return random.pick(0, 1) ? padded(bytes) : bytes;
    };
    PrimExpr a = size(), b = size();
    if (random.pick(0, 3) == 0) b = max(b, size());
    if (random.pick(0, 3) == 0) a = min(a, size());
    int64_t divisor = random.pick(2, 16);
    bool holds = analyzer_.prove_less_equal(a, b);
    bool divisible = analyzer_.prove_divisible(a, divisor);
    bool always = true, divides = true;
    for (int64_t n = 0; n < 13; ++n) {
      for (int64_t m = 0; m < 13; ++m) {
        Values values{{n_.get(), n}, {m_.get(), m}};
        int64_t x = evaluate(a, values).value(), y = evaluate(b, values).value();
        always &= x <= y;
        divides &= x % divisor == 0;
      }
    }
    ASSERT_TRUE(always || !holds) << to_string(a) << " <= " << to_string(b);
    ASSERT_TRUE(divides || !divisible) << to_string(a) << " by " << divisor;
    proved += holds;
    valid += always;
  }
  std::printf("proved %d of %d comparisons that hold on the grid\n", proved, valid);
  EXPECT_GT(proved, valid / 3);
}

}  // namespace
}  // namespace tapml::arith
