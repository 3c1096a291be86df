// A call like one before does what it would do by itself, whatever is
// different. (validate_test.cc sees to it that calls are kept.)
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "ruy_like/packed_matrix.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr std::ptrdiff_t kSize = 8;

// A product, and arrays of one value for each row or column.
template <typename Base>
struct Call : Base {
  Call() : Base(kSize, kSize, kSize) {}
  absl::Status Run(Context* context) { return Base::Run(context, options); }
  // The status, and dst as it is then.
  std::pair<absl::Status, std::vector<char>> Outcome(Context* context) {
    std::vector<char> bytes(this->dst_values.size() *
                            sizeof(this->dst_values[0]));
    std::memset(this->dst_values.data(), 99, bytes.size());
    const absl::Status status = Run(context);
    std::memcpy(bytes.data(), this->dst_values.data(), bytes.size());
    return {status, bytes};
  }

  MulOptions options;
  std::vector<std::int32_t> bias = std::vector<std::int32_t>(kSize, 1000);
  std::vector<std::int32_t> fixedpoint =
      std::vector<std::int32_t>(kSize, 1 << 30);
  std::vector<std::int32_t> exponent = std::vector<std::int32_t>(kSize, -8);
  std::vector<float> floats = std::vector<float>(kSize, 1.5f);
};

struct Int8Call : Call<Int8Product> {
  Int8Call() {
    lhs.set_zero_point(3);
    rhs.set_zero_point(-5);
    params.set_bias(bias.data());
    params.set_multiplier_fixedpoint_perchannel(fixedpoint.data());
    params.set_multiplier_exponent_perchannel(exponent.data());
  }
};

template <typename Of>
struct Change {
  const char* name;
  std::function<void(Of*)> make;
};

class KeptCallsTest : public PathTest {
 protected:
  // Makes each change to a call that has been kept, and undoes it.
  template <typename Of>
  void Try(const std::vector<Change<Of>>& changes) {
    for (const Change<Of>& change : changes) {
      SCOPED_TRACE(change.name);
      Of plain, changed;
      change.make(&changed);
      Context fresh, other;
      for (Context* context : {&fresh, &other}) Restrict(context);
      const auto plain_outcome = plain.Outcome(&fresh);
      const auto changed_outcome = changed.Outcome(&other);
      EXPECT_OK(plain_outcome.first);
      for (int repeat = 0; repeat < 3; ++repeat) {
        EXPECT_EQ(plain.Outcome(&context_), plain_outcome);
        EXPECT_EQ(changed.Outcome(&context_), changed_outcome);
        EXPECT_EQ(changed.Outcome(&context_), changed_outcome);
      }
    }
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(KeptCallsTest);

TEST_P(KeptCallsTest, Int8) {
  using P = Int8Call;
  Try<P>({
      {"nothing", [](P*) {}},
      {"values", [](P* p) { p->lhs_values[5] ^= 1; }},
      {"null lhs", [](P* p) { p->lhs.set_data(nullptr); }},
      {"null rhs", [](P* p) { p->rhs.set_data(nullptr); }},
      {"null dst", [](P* p) { p->dst.set_data(nullptr); }},
      {"dst is lhs", [](P* p) { p->dst.set_data(p->lhs.data()); }},
      {"dst ends in rhs",
       [](P* p) { p->dst.set_data(p->rhs.data() - kSize * kSize + 1); }},
      {"dst in bias",
       [](P* p) {
         p->dst.set_data(reinterpret_cast<std::int8_t*>(p->bias.data()));
       }},
      {"const dst",
       [](P* p) {
         p->dst.set_data(static_cast<const std::int8_t*>(p->dst.data()));
       }},
      {"zero point of lhs", [](P* p) { p->lhs.set_zero_point(4); }},
      {"zero point of rhs", [](P* p) { p->rhs.set_zero_point(0); }},
      {"zero point of dst", [](P* p) { p->dst.set_zero_point(1); }},
      {"order of lhs",
       [](P* p) { p->lhs.mutable_layout()->set_order(Order::kColMajor); }},
      {"no order",
       [](P* p) { p->rhs.mutable_layout()->set_order(static_cast<Order>(9)); }},
      {"short stride", [](P* p) { p->lhs.mutable_layout()->set_stride(7); }},
      {"fewer rows",
       [](P* p) {
         p->lhs.mutable_layout()->set_rows(5);
         p->dst.mutable_layout()->set_rows(5);
       }},
      {"other rows", [](P* p) { p->dst.mutable_layout()->set_rows(5); }},
      {"int7", [](P* p) { p->lhs.set_value_range(ValueRange::kInt7); }},
      {"no range",
       [](P* p) { p->lhs.set_value_range(static_cast<ValueRange>(9)); }},
      {"no policy",
       [](P* p) { p->rhs.set_cache_policy(static_cast<CachePolicy>(9)); }},
      {"along columns",
       [](P* p) { p->params.set_channel_dimension(ChannelDimension::kCol); }},
      {"no dimension",
       [](P* p) {
         p->params.set_channel_dimension(static_cast<ChannelDimension>(9));
       }},
      {"no bias", [](P* p) { p->params.set_bias(nullptr); }},
      {"other bias", [](P* p) { p->bias[3] = -9000; }},
      {"another multiplier", [](P* p) { p->fixedpoint[3] = 1 << 29; }},
      {"negative multiplier", [](P* p) { p->fixedpoint[3] = -1; }},
      {"large exponent", [](P* p) { p->exponent[3] = 5; }},
      {"too large an exponent", [](P* p) { p->exponent[3] = 31; }},
      {"half of the multipliers",
       [](P* p) { p->params.set_multiplier_exponent_perchannel(nullptr); }},
      {"one multiplier",
       [](P* p) {
         p->params.set_multiplier_fixedpoint_perchannel(nullptr);
         p->params.set_multiplier_exponent_perchannel(nullptr);
         p->params.set_multiplier_fixedpoint(1 << 30);
         p->params.set_multiplier_exponent(-9);
       }},
      {"few values",
       [](P* p) {
         p->params.set_bias(
             absl::Span<const std::int32_t>(p->bias.data(), kSize - 1));
       }},
      {"clamp", [](P* p) { p->params.set_clamp_min(0); }},
      {"no clamp",
       [](P* p) {
         p->params.set_clamp_min(5);
         p->params.set_clamp_max(4);
       }},
      {"rounding twice",
       [](P* p) {
         p->params.set_multiplier_rounding(MultiplierRounding::kTwice);
       }},
      {"three threads", [](P* p) { p->options.max_num_threads = 3; }},
      {"no threads", [](P* p) { p->options.max_num_threads = -1; }},
  });
}

TEST_P(KeptCallsTest, Floats) {
  using P = Call<FloatProduct>;
  static const PostOps kGelu = [] {
    PostOps ops;
    ops.activation = Activation::kGelu;
    return ops;
  }();
  Try<P>({
      {"zero point", [](P* p) { p->lhs.set_zero_point(1); }},
      {"bias", [](P* p) { p->params.set_bias(p->floats.data()); }},
      {"NaN as a bound", [](P* p) { p->params.set_clamp_max(kNan); }},
      {"any order",
       [](P* p) { p->params.set_float_sums(FloatSums::kAnyOrder); }},
      {"no order",
       [](P* p) { p->params.set_float_sums(static_cast<FloatSums>(9)); }},
      {"activation", [](P* p) { p->params.set_post_ops(&kGelu); }},
      {"beta", [](P* p) { p->params.set_beta(1); }},
      {"row-major dst",
       [](P* p) { p->dst.mutable_layout()->set_order(Order::kRowMajor); }},
  });
}

TEST_P(KeptCallsTest, ScaledFloats) {
  using P = Call<ScaledProduct>;
  Try<P>({
      {"scale", [](P* p) { p->params.set_lhs_scale(0.3f); }},
      {"scales of rows",
       [](P* p) { p->params.set_lhs_scale_perrow(p->floats.data()); }},
      {"scales of columns, row-major",
       [](P* p) {
         p->params.set_rhs_scale_percol(p->floats.data());
         p->dst.mutable_layout()->set_order(Order::kRowMajor);
       }},
  });
}

// Post-ops may be others at the place of earlier ones.
TEST_P(KeptCallsTest, PostOpsInPlace) {
  PostOps ops;
  Call<FloatProduct> call;
  call.params.set_post_ops(&ops);
  for (int repeat = 0; repeat < 4; ++repeat) {
    ops.activation = repeat % 2 == 0 ? Activation::kNone : Activation::kSigmoid;
    Context fresh;
    Restrict(&fresh);
    const auto expected = call.Outcome(&fresh);
    EXPECT_OK(expected.first);
    EXPECT_EQ(call.Outcome(&context_), expected);
  }
}

// A packed operand at the place of an earlier one is another one.
TEST_P(KeptCallsTest, PackedOperands) {
  for (int repeat = 0; repeat < 4; ++repeat) {
    Int8Product product(kSize, kSize, kSize);
    product.lhs_values[repeat] ^= 64;
    ASSERT_VALUE(const auto packed,
                 Pack(product.lhs, Side::kLhs, PackOptions(), &context_));
    for (int again = 0; again < 3; ++again) {
      ASSERT_OK(
          Mul(packed, product.rhs, product.params, &context_, &product.dst));
      product.ExpectIs(product.Expected());
    }
  }
}

// Cached operands of calls that are alike, by turns and after others.
TEST_P(KeptCallsTest, CachedOperands) {
  Int8Call a, b;
  b.lhs_values[7] ^= 64;
  FloatProduct other(kSize, kSize, kSize);
  for (Matrix<std::int8_t>* lhs : {&a.lhs, &b.lhs}) {
    lhs->set_cache_policy(CachePolicy::kAlwaysCache);
  }
  other.rhs.set_cache_policy(CachePolicy::kAlwaysCache);
  const auto run = [&](Int8Call* call) {
    ASSERT_OK(call->Run(&context_));
    call->ExpectIs(call->Expected());
  };
  for (Int8Call* call : {&a, &a, &b, &a, &b, &b, &a}) run(call);
  ASSERT_OK(other.Run(&context_));
  run(&a);
  a.rhs.set_cache_policy(CachePolicy::kAlwaysCache);
  for (int repeat = 0; repeat < 3; ++repeat) run(&a);
  context_.ClearPrepackedCache();
  a.rhs_values[3] ^= 32;
  a.lhs_values[3] ^= 32;
  for (Int8Call* call : {&a, &a, &b}) run(call);
}

// What the Context is told afterwards counts, and so does other use of its
// memory.
TEST_P(KeptCallsTest, TheContextChanges) {
  FloatProduct product(kSize, kSize, kSize);
  product.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  std::vector<float> expected = product.Expected();
  const auto run = [&] {
    ASSERT_OK(product.Run(&context_));
    product.ExpectIs(expected);
  };
  run();
  run();
  FloatProduct large(300, 300, 300);
  ASSERT_OK(large.Run(&context_));
  run();
  // The cache does not look at elements.
  for (float& value : product.lhs_values) value = -value;
  run();
  context_.ClearPrepackedCache();
  expected = product.Expected();
  run();
  run();
  UseThreads(2, &context_);
  run();
  EXPECT_LE(context_.last_used_num_threads(), 2);
  context_.set_num_threads_strategy(NumThreadsStrategy::kDefault);
  run();
  EXPECT_EQ(context_.last_used_num_threads(), 1);
  context_.set_runtime_enabled_paths(Path::kPortable);
  run();
  EXPECT_EQ(context_.last_used_path(), Path::kPortable);
}

}  // namespace
}  // namespace ruy_like
