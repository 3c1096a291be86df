// Every function of ruy_like::quantize that takes a Matrix or an enumerator,
// with each of these drawn wrong in turn: a Status, at once, and all memory as
// it was. quantize_arguments_test.cmake fails where a header has one that is
// not here, by "<header> <function>" or "<header> <field>".
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "ruy_like/base/errors.h"
#include "ruy_like/quantize/quantize.h"
#include "test/support/call_of.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// A change that makes a matrix of a call invalid. It has at least 2 rows and 2
// columns.
struct Change {
  const char* name;
  void (*apply)(Layout* layout);
  bool clears_data = false;
};
constexpr std::ptrdiff_t kMany = std::ptrdiff_t{1}
                                 << (8 * sizeof(std::ptrdiff_t) - 20);
const Change kChanges[] = {
    {"null data", [](Layout*) {}, true},
    {"stride 0", [](Layout* l) { l->set_stride(0); }},
    {"stride 1", [](Layout* l) { l->set_stride(1); }},
    {"stride -1", [](Layout* l) { l->set_stride(-1); }},
    {"a hugely negative stride", [](Layout* l) { l->set_stride(-kMany); }},
    {"a stride whose bytes overflow",
     [](Layout* l) {
       l->set_stride(std::numeric_limits<std::ptrdiff_t>::max());
     }},
    {"negative rows", [](Layout* l) { l->set_rows(-l->rows()); }},
    {"negative columns", [](Layout* l) { l->set_cols(-l->cols()); }},
    {"unknown order", [](Layout* l) { l->set_order(static_cast<Order>(9)); }},
    {"very many rows of nothing",
     [](Layout* l) { MakeSimpleLayout(kMany, 0, Order::kRowMajor, l); }},
    {"very many columns of nothing",
     [](Layout* l) { MakeSimpleLayout(0, kMany, Order::kColMajor, l); }},
};

// Instead of the number of a matrix: each one, and the tensors.
constexpr int kAll = -1;

struct Memory {
  float f[64], f_out[64];
  std::int8_t q[64], q_out[64];
  std::int32_t i[64];
};

// The memory of a call, and which of its arguments is wrong.
struct World {
  World() {
    std::memset(&m, 0, sizeof(m));
    for (int i = 0; i < 64; ++i) {
      m.f[i] = m.f_out[i] = static_cast<float>(i + 1) / 64;
      m.q[i] = static_cast<std::int8_t>(i - 20);
      m.i[i] = 100 * i - 1000;
    }
  }

  // A valid matrix, or the one whose turn it is, changed.
  template <typename T>
  Matrix<T> Draw(T* data, std::ptrdiff_t rows = 3, std::ptrdiff_t cols = 4) {
    Matrix<T> matrix = MakeMatrix(data, rows, cols, Order::kRowMajor);
    if (change != nullptr && (matrices == turn || turn == kAll)) {
      change->apply(matrix.mutable_layout());
      if (change->clears_data) matrix.set_data(static_cast<T*>(nullptr));
    }
    ++matrices;
    return matrix;
  }
  // The enumerator, or where it is its turn one after the last one.
  template <typename Enum>
  Enum Choose(Enum value, Enum last) {
    if (beyond != 0 && enumerators == turn) {
      value = static_cast<Enum>(static_cast<int>(last) + beyond);
    }
    ++enumerators;
    return value;
  }
  ChannelDimension Dimension() {
    return Choose(ChannelDimension::kRow, ChannelDimension::kCol);
  }
  ScaleRounding Rounding() {
    return Choose(ScaleRounding::kExact, ScaleRounding::kPowerOfTwo);
  }
  ruy_like::Rounding Ties() {
    return Choose(ruy_like::Rounding::kHalfAwayFromZero,
                  ruy_like::Rounding::kHalfToEven);
  }
  TensorShape Shape() {
    const TensorOrder order = Choose(TensorOrder::kNhwc, TensorOrder::kNchw);
    if (change != nullptr && turn == kAll) {
      return std::strstr(change->name, "rows") != nullptr
                 ? TensorShape{kMany, 1, 1, 0, order}
                 : TensorShape{0, kMany, 1, 2, order};
    }
    return {1, 4, 4, 2, order};
  }
  CalibrationOptions Calibration() {
    CalibrationOptions options;
    options.method =
        Choose(CalibrationMethod::kMinMax, CalibrationMethod::kEntropyNcnn);
    options.scheme =
        Choose(QuantScheme::kSymmetric, QuantScheme::kAffineUnsigned);
    options.scale_rounding = Rounding();
    return options;
  }

  Memory m;
  Context context;
  QuantParams one[1] = {{0.1f, 0, -127, 127}};
  const Change* change = nullptr;
  int beyond = 0;
  int turn = 0;
  // How many the call has drawn.
  int matrices = 0, enumerators = 0;
};

using Case = NamedCall<World>;
void PrintTo(const Case& call, std::ostream* stream) { *stream << call.name; }

template <typename MakeFn>
void AddMake(const char* name, MakeFn make, Calls<World>* calls) {
  calls->Ok(name, [make](World* w) {
    return make(w->Draw(w->m.f), absl::Span<const float>(), w->one[0],
                w->one[0], &w->context, MakeLayerOptions());
  });
}

void AddWeightCases(Calls<World>* calls) {
  calls->Ok("batch_norm.h FoldBatchNorm", [](World* w) {
    const std::vector<float> ones(3, 1);
    auto weights = w->Draw(w->m.f_out);
    return FoldBatchNorm({ones, ones, ones, ones}, &weights,
                         absl::MakeSpan(w->m.f, 3));
  });
  calls->Ok("bias_correction.h CorrectBias", [](World* w) {
    return CorrectBias(
        w->Draw(w->m.f), w->one, {0.5f, 0.5f, 0.5f, 0.5f},
        absl::MakeSpan(w->m.f_out, 3),
        w->Choose(ChannelColumns::kInnermost, ChannelColumns::kDepthwise));
  });
  calls->Ok("bias_correction.h CorrectMeasuredBias", [](World* w) {
    return CorrectMeasuredBias(w->Draw(w->m.f), w->Draw(w->m.f + 20),
                               w->Dimension(), absl::MakeSpan(w->m.f_out, 3));
  });
  // equalization.h weights, equalization.h input, equalization.h
  // scale_rounding
  calls->Ok("equalization.h EqualizeLayers", [](World* w) {
    auto first = w->Draw(w->m.f, 3, 4);
    auto second = w->Draw(w->m.f_out, 4, 3);
    EqualizedLayer layers[2];
    layers[0].weights = &first;
    layers[1].weights = &second;
    layers[1].input =
        w->Choose(ChannelColumns::kInnermost, ChannelColumns::kDepthwise);
    EqualizeOptions options;
    options.scale_rounding = w->Rounding();
    return EqualizeLayers(layers, options);
  });
  // packed_weights.h order
  calls->Ok("packed_weights.h Pack", [](World* w) {
    PackWeightsOptions options;
    options.order = w->Choose(TensorOrder::kNhwc, TensorOrder::kNchw);
    return PackedWeights::Pack(w->Draw(w->m.q), w->one, &w->context, options);
  });
  calls->Ok("depthwise: packed_weights.h Pack", [](World* w) {
    return DepthwiseWeights::Pack(w->Draw(w->m.q), w->one);
  });
  AddMake("make_layer.h MakeConv2D", &MakeConv2D<std::int8_t, std::int8_t>,
          calls);
  AddMake("make_layer.h MakeFullyConnected",
          &MakeFullyConnected<std::int8_t, std::int8_t>, calls);
  AddMake("make_layer.h MakeDepthwiseConv2D",
          &MakeDepthwiseConv2D<std::int8_t, std::int8_t>, calls);
  calls->Ok("quantize_groups.h QuantizeGroups", [](World* w) {
    return QuantizeGroups(
        w->Draw(w->m.f), 4, 0,
        w->Choose(GroupScaleSearch::kNone, GroupScaleSearch::kMse));
  });
  calls->Ok("quantize_groups.h ImportGptq", [](World* w) {
    const std::vector<Float16> scales(8, static_cast<Float16>(1.0f));
    return ImportGptq(w->m.i, scales.data(), w->m.i,
                      w->Choose(GptqZeroPoints::kV2, GptqZeroPoints::kV1Words),
                      8, 16, 16);
  });
  calls->Ok("quantize_groups.h ImportGgml", [](World* w) {
    static constexpr std::uint8_t kBlocks[272] = {};
    return ImportGgml(w->Choose(GgmlType::kQ4_0, GgmlType::kNVFP4), kBlocks,
                      sizeof(kBlocks), 1, 256);
  });
}

void AddQuantizeCases(Calls<World>* calls) {
  calls->Ok("quant_params.h ChooseSymmetric",
            [](World* w) { return ChooseSymmetric(1, 8, w->Rounding()); });
  calls->Ok("quant_params.h ChooseAffine",
            [](World* w) { return ChooseAffine(-1, 1, 0, 255, w->Ties()); });
  calls->Ok("quantize_dequantize.h QuantizeChannels", [](World* w) {
    auto q = w->Draw(w->m.q_out);
    return QuantizeChannels(w->Draw(w->m.f), w->one, w->Dimension(), &q,
                            &w->context, w->Ties());
  });
  calls->Ok("quantize_dequantize.h DequantizeChannels", [](World* w) {
    auto x = w->Draw(w->m.f_out);
    return DequantizeChannels(w->Draw(w->m.q), w->one, w->Dimension(), &x,
                              &w->context);
  });
  calls->Ok("quantize_dequantize.h QuantizeRows", [](World* w) {
    auto q = w->Draw(w->m.q_out);
    return QuantizeRows(w->Draw(w->m.f), w->one, &q, nullptr, w->Ties());
  });
  calls->Ok("quantize_dequantize.h QuantizeColumns", [](World* w) {
    auto q = w->Draw(w->m.q_out);
    return QuantizeColumns(w->Draw(w->m.f), w->one, &q, nullptr, w->Ties());
  });
  calls->Ok("quantize_dequantize.h Quantize", [](World* w) {
    auto q = w->Draw(w->m.q_out);
    return Quantize(w->Draw(w->m.f), w->one[0], &q, nullptr, w->Ties());
  });
  calls->Ok("quantize_dequantize.h Dequantize", [](World* w) {
    auto x = w->Draw(w->m.f_out);
    return Dequantize(w->Draw(w->m.q), w->one[0], &x);
  });
  calls->Ok("quantize_dequantize.h ChooseSymmetricChannels", [](World* w) {
    return ChooseSymmetricChannels(w->Draw(w->m.f), w->Dimension(), 8,
                                   w->Rounding());
  });
  calls->Ok("quantize_dequantize.h DequantizeAcc", [](World* w) {
    auto x = w->Draw(w->m.f_out);
    return DequantizeAcc(w->Draw(w->m.i), {1.0f}, {}, w->Dimension(), &x);
  });
}

void AddCalibrationCases(Calls<World>* calls) {
  calls->Ok("observer.h Observe", [](World* w) {
    return Observer().Observe(w->Draw(w->m.f), &w->context);
  });
  calls->Ok("channel_observer.h Observe", [](World* w) {
    return ChannelObserver().Observe(w->Draw(w->m.f), w->Dimension());
  });
  calls->Ok("moving_average_observer.h Observe", [](World* w) {
    return MovingAverageObserver().Observe(w->Draw(w->m.f));
  });
  // observer.h method, observer.h scheme, observer.h scale_rounding
  calls->Ok("ChooseParams", [](World* w) -> absl::Status {
    Observer observer;
    EXPECT_OK(observer.Observe(w->m.f));
    return observer.ChooseParams(w->Calibration()).status();
  });
  calls->Ok("observer.h CalibrationMethodName", [](World* w) {
    const std::string name = CalibrationMethodName(
        w->Choose(CalibrationMethod::kMinMax, CalibrationMethod::kEntropyNcnn));
    return name != "unknown" ? absl::OkStatus()
                             : absl::InvalidArgumentError(name);
  });
  // eq_search.h start
  calls->Ok("eq_search.h EqSearch", [](World* w) {
    EqOptions options;
    options.start =
        w->Choose(CalibrationMethod::kMinMax, CalibrationMethod::kEntropyNcnn);
    return EqSearch(w->Draw(w->m.f), {w->Draw(w->m.f_out, 4, 5)}, options,
                    &w->context);
  });
  // eq_search.h weights
  calls->Ok("eq_search.h EqSearchNetwork", [](World* w) {
    const EqLayer layer = {"layer", w->Draw(w->m.f, 3, 4)};
    const EqTensor input = {{5, 1, 1, 4}, std::vector<float>(20, 1.0f)};
    return EqSearchNetwork({layer}, {input}, EqOptions(), &w->context);
  });
  calls->Ok("eq_search.h EqSearchConv2D", [](World* w) {
    const TensorView<const float> image = {w->m.f_out, w->Shape(), {}};
    return EqSearchConv2D(w->Draw(w->m.f, 3, 2), {image}, Window(), EqOptions(),
                          &w->context);
  });
}

using Image = TensorView<std::int8_t>;

// A layer whose output has the input's shape.
void AddLayer(const char* name,
              absl::Status (*run)(World* w, const Image& input, Image* output),
              Calls<World>* calls) {
  calls->Ok(name, [run](World* w) {
    const TensorShape shape = w->Shape();
    Image output = {w->m.q_out, shape, w->one[0]};
    return run(w, {w->m.q, shape, w->one[0]}, &output);
  });
}

// tensor.h order
void AddTensorCases(Calls<World>* calls) {
  AddLayer(
      "concat.h Concat",
      [](World* w, const Image& input, Image* output) {
        return Concat<std::int8_t>(
            {input}, w->Choose(TensorAxis::kBatch, TensorAxis::kChannels),
            nullptr, output);
      },
      calls);
  AddLayer(
      "pooling.h AveragePool2D",
      [](World* w, const Image& input, Image* output) {
        return AveragePool2D(
            input, Window(), nullptr, nullptr, output,
            w->Choose(AveragePadding::kExclude, AveragePadding::kInclude));
      },
      calls);
  AddLayer(
      "MaxPool2D",
      [](World*, const Image& input, Image* output) {
        return MaxPool2D(input, Window(), nullptr, nullptr, output);
      },
      calls);
  AddLayer(
      "Conv2D",
      [](World* w, const Image& input, Image* output) -> absl::Status {
        if (input.shape.channels > 0) output->shape.channels = 3;
        const auto weights =
            MakeMatrix(w->m.q, 3, input.shape.channels, Order::kRowMajor);
        RUY_LIKE_ASSIGN_OR_RETURN(
            const auto packed,
            PackedWeights::Pack(weights, w->one, &w->context));
        return Conv2D(input, packed, {}, Window(), nullptr, &w->context,
                      output);
      },
      calls);
  AddLayer(
      "QuantizedMul",
      [](World*, const Image& input, Image* output) {
        return QuantizedMul(input, input, nullptr, output);
      },
      calls);
  AddLayer(
      "QuantizedAdd",
      [](World*, const Image& input, Image* output) {
        return QuantizedAdd(input, input, nullptr, output);
      },
      calls);
  AddLayer(
      "Requantize",
      [](World*, const Image& input, Image* output) {
        return Requantize(input, nullptr, output);
      },
      calls);
  // quantized_add.h range
  calls->Ok("QuantizedAdd8p8To8", [](World* w) {
    const auto* const codes = reinterpret_cast<const std::uint8_t*>(w->m.q);
    Add8p8To8Options options;
    options.range = w->Choose(AddRange::kExact, AddRange::kTight);
    return QuantizedAdd8p8To8(
        {absl::MakeConstSpan(codes, 64), {0, 1}},
        {absl::MakeConstSpan(codes, 64), {0, 1}}, options,
        absl::MakeSpan(reinterpret_cast<std::uint8_t*>(w->m.q_out), 64));
  });
}

class MatrixArgumentsTest : public testing::TestWithParam<Case> {};

// Runs the call in such a world. Where it fails, memory must be as before.
absl::Status RunIn(const Case& test_case, World* world) {
  const Memory before = world->m;
  const absl::Status status = test_case.call(world);
  if (!status.ok()) {
    EXPECT_EQ(std::memcmp(&before, &world->m, sizeof(Memory)), 0) << status;
  }
  return status;
}

TEST_P(MatrixArgumentsTest, EachOfThemWrong) {
  World good;
  ASSERT_OK(RunIn(GetParam(), &good));
  for (int turn = kAll; turn < good.matrices; ++turn) {
    for (const Change& change : kChanges) {
      SCOPED_TRACE(testing::Message() << change.name << ", matrix " << turn);
      const bool is_empty = std::strstr(change.name, "nothing") != nullptr;
      if (turn == kAll && !is_empty) continue;
      // AddressSanitizer ends the program where new throws std::bad_alloc; the
      // other builds test these.
      if (is_empty && kAddressSanitizer) continue;
      World world;
      world.turn = turn;
      world.change = &change;
      const absl::StatusCode code = RunIn(GetParam(), &world).code();
      // An empty matrix may be valid, or its channels take too much memory.
      EXPECT_TRUE(code == kInvalid || code == kOutOfRange ||
                  (is_empty && (code == kOk || code == kExhausted)))
          << code;
    }
  }
  for (int turn = 0; turn < good.enumerators; ++turn) {
    for (const int beyond : {1, 9, 100}) {
      SCOPED_TRACE(testing::Message() << "enumerator " << turn);
      World world;
      world.turn = turn;
      world.beyond = beyond;
      EXPECT_CODE(kInvalid, RunIn(GetParam(), &world));
    }
  }
}

std::vector<Case> AllCases() {
  Calls<World> calls;
  for (const auto add : {AddWeightCases, AddQuantizeCases, AddCalibrationCases,
                         AddTensorCases}) {
    add(&calls);
  }
  return {calls.begin(), calls.end()};
}

INSTANTIATE_TEST_SUITE_P(All, MatrixArgumentsTest,
                         testing::ValuesIn(AllCases()));

}  // namespace
}  // namespace ruy_like
