// Back-end: the integer sums of one group in a tile of group_tile.h.
//
// A Form's Codes (group_tile.h) have
//
//   kParts         parts of a step, of 64 bytes of a panel each
//   kActivationBytes
//   Acc, Start(x), Finish(acc)   sums of products, a lane for each row
//   Weights, LoadWeights(p)      a part's codes of a vector of rows
//   kByTable       codes are looked up: LoadWeights<i>(p, LoadTable(table)), of
//                  the i-th of kSteps steps that 64 bytes have
//   Activations, LoadActivations(p)  a part's activations of a column
//   Step(acc, weights, activations)
//   kSumsWords     steps add to sums of 16 bits, Words, for at most
//                  GroupArgs::word_steps: Multiply(weights, activations) makes
//                  the first ones, SumOf(words) an Acc
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_SUMS_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_SUMS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/groups/group_panels.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

template <class Form, int kCols>
struct CodesFor {
  typedef typename Form::Codes Type;
};
template <class Form>
struct CodesFor<Form, 1> {
  typedef typename Form::OneColumnCodes Type;
};

// Codes of 4 bits, which Dot multiplies as bytes: the low halves of a vector's
// bytes, then the high ones, or what both are multiplied by.
template <class Dot>
struct HalvesOf : Dot {
  struct Weights {
    typename Dot::Weights low, high;
  };
  struct Activations {
    typename Dot::Activations low, high;
  };
  static constexpr int kParts = 1;
  static RUY_LIKE_ALWAYS_INLINE Activations LoadActivations(const char* p) {
    return {Dot::LoadActivations(p), Dot::LoadActivations(p + 4)};
  }
  static RUY_LIKE_ALWAYS_INLINE void Step(typename Dot::Acc& acc,
                                          const Weights& weights,
                                          const Activations& activations) {
    Dot::Step(acc, weights.low, activations.low);
    Dot::Step(acc, weights.high, activations.high);
  }
  // For a Dot with sums of words.
  static RUY_LIKE_ALWAYS_INLINE auto Multiply(const Weights& weights,
                                              const Activations& activations) {
    auto words = Dot::Multiply(weights.low, activations.low);
    Dot::Step(words, weights.high, activations.high);
    return words;
  }
};

// Activations of a panel of columns, as Codes load them.
template <class Form, class Codes>
struct ActivationPanel {
  static constexpr ptrdiff_t kColBytes =
      kGroupStepDepth * Codes::kActivationBytes;
  const char* first;  // of the next step
  ptrdiff_t col_stride, step_stride;

  explicit RUY_LIKE_ALWAYS_INLINE ActivationPanel(const GroupTileArgs& args)
      : first(args.activations),
        col_stride(Form::kInterleavesColumns ? kColBytes
                                             : args.activation_stride),
        step_stride(Form::kInterleavesColumns ? args.activation_stride
                                              : kColBytes) {}
  // The offset of a step's part of column c.
  RUY_LIKE_ALWAYS_INLINE ptrdiff_t At(int c, int part) const {
    return c * (Form::kInterleavesColumns ? kColBytes : col_stride) +
           part * (kColBytes / Codes::kParts);
  }
};

// A tile's integer sums of one group: kVecs vectors, of kRowsOfVec rows each,
// by kColVecs. Specialised for Codes whose accumulators span several columns.
template <class Form, int kCols,
          class Codes = typename CodesFor<Form, kCols>::Type>
struct GroupSums : RowLanes<Form> {
  typedef typename Form::Simd Simd;
  typedef ActivationPanel<Form, Codes> Activations;
  static constexpr int kPanels = Form::Panels(kCols);
  static constexpr int kRowsOfVec = Simd::kLanes;
  static constexpr int kPanelVecs = kGroupPanelRows / kRowsOfVec;
  static constexpr int kVecs = kPanels * kPanelVecs;
  static constexpr int kColVecs = kCols;
  static constexpr int kStepBytes = 64 * Codes::kParts;
  typename Codes::Acc acc[kVecs][kColVecs];

  // Adds a group up, from each column's start on. Moves the pointers on.
  // `prefetch`: how far ahead.
  RUY_LIKE_ALWAYS_INLINE void SumGroup(const GroupTileArgs& args,
                                       const int32_t* starts, ptrdiff_t steps,
                                       const uint8_t** codes,
                                       ptrdiff_t prefetch, Activations* from) {
    if constexpr (Codes::kSumsWords) {
      // Registers hold the sums of words; those of long groups' earlier words
      // are in memory.
      typename Codes::Words words[kVecs][kColVecs];
      typename Codes::Acc earlier[kVecs][kColVecs];
      // Whole bytes of codes.
      const ptrdiff_t most = args.word_steps / Codes::kSteps * Codes::kSteps;
      const bool is_long = steps > most;
      if (is_long) {
        ForEach(earlier, [](auto& sum, int, int) { sum = Simd::Zero(); });
        if constexpr (!Form::FloatsInRegisters(kCols)) HoldInMemory(earlier);
      }
      while (true) {
        const ptrdiff_t count = steps < most ? steps : most;
        AddSteps(words, args, count, codes, prefetch, from);
        steps -= count;
        if (steps == 0) break;
        ForEach(earlier, [&words](auto& sum, int v, int c) {
          sum = Simd::Add(sum, Codes::SumOf(words[v][c]));
        });
        if constexpr (!Form::FloatsInRegisters(kCols)) HoldInMemory(earlier);
      }
      ForEach(acc, [&](auto& sum, int v, int c) {
        sum = Simd::Add(Codes::Start(starts[c]), Codes::SumOf(words[v][c]));
      });
      if (is_long) {
        ForEach(acc, [&earlier](auto& sum, int v, int c) {
          sum = Simd::Add(sum, earlier[v][c]);
        });
      }
    } else {
      ForEach(acc, [starts](auto& sum, int, int c) {
        sum = Codes::Start(starts[c]);
      });
      AddSteps(acc, args, steps, codes, prefetch, from);
    }
  }

  RUY_LIKE_ALWAYS_INLINE typename Simd::Int Get(int v, int c) const {
    return Codes::Finish(acc[v][c]);
  }

  // Reorders a tile's vectors to columns, which they are here.
  static RUY_LIKE_ALWAYS_INLINE void MakeColumns(float* /*out*/) {}

 private:
  template <class Sum, class Do>
  static RUY_LIKE_ALWAYS_INLINE void ForEach(Sum (&sums)[kVecs][kColVecs],
                                             Do&& act) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kColVecs; ++c) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVecs; ++v) act(sums[v][c], v, c);
    }
  }

  // To `sums` or, of words, from 0 on.
  template <class Sum>
  static RUY_LIKE_ALWAYS_INLINE void AddSteps(
      Sum (&sums)[kVecs][kColVecs], const GroupTileArgs& args, ptrdiff_t steps,
      const uint8_t** codes, ptrdiff_t prefetch, Activations* from) {
    const auto table = Codes::LoadTable(args.table);
    ptrdiff_t step = 0;
    if constexpr (Codes::kSumsWords) {
      AddStep<0, true>(sums, table, codes, prefetch, from);
      if constexpr (Codes::kSteps == 2) AddStep<1>(sums, table, codes, 0, from);
      MoveOn(codes);
      step = Codes::kSteps;
    }
    for (; step < steps; step += Codes::kSteps) {
      AddStep<0>(sums, table, codes, prefetch, from);
      if constexpr (Codes::kSteps == 2) AddStep<1>(sums, table, codes, 0, from);
      MoveOn(codes);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void MoveOn(const uint8_t** codes) {
    RUY_LIKE_UNROLL
    for (int p = 0; p < kPanels; ++p) codes[p] += kStepBytes;
  }

  // kIsFirst: of sums of words.
  template <int kStep, bool kIsFirst = false, class Sum, class Table>
  static RUY_LIKE_ALWAYS_INLINE void AddStep(Sum (&sums)[kVecs][kColVecs],
                                             const Table& table,
                                             const uint8_t* const* codes,
                                             ptrdiff_t prefetch,
                                             Activations* from) {
    RUY_LIKE_UNROLL
    for (int part = 0; part < Codes::kParts; ++part) {
      typename Codes::Weights weights[kVecs];
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        const uint8_t* p = codes[v / kPanelVecs] + part * 64;
        if (Form::Prefetches(kCols) && kStep == 0 && v % kPanelVecs == 0) {
          __builtin_prefetch(p + prefetch);
        }
        p += v % kPanelVecs * 4 * Simd::kLanes;
        if constexpr (Codes::kByTable) {
          weights[v] = Codes::template LoadWeights<kStep>(p, table);
        } else {
          weights[v] = Codes::LoadWeights(p);
        }
      }
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        const typename Codes::Activations activations =
            Codes::LoadActivations(from->first + from->At(c, part));
        RUY_LIKE_UNROLL
        for (int v = 0; v < kVecs; ++v) {
          if constexpr (kIsFirst) {
            if (part == 0) {
              sums[v][c] = Codes::Multiply(weights[v], activations);
              continue;
            }
          }
          Codes::Step(sums[v][c], weights[v], activations);
        }
      }
    }
    from->first += from->step_stride;
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_SUMS_H_
