#include "example/decoder/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "example/decoder/decoder.h"

namespace decoder {
namespace {

using Logits = absl::Span<const float>;

int TokenOf(char c) { return static_cast<unsigned char>(c); }

// The token from which the character at `position` of a window is predicted.
int TokenBefore(absl::string_view window, std::size_t position) {
  return TokenOf(position == 0 ? '\n' : window[position - 1]);
}

// -log2 of the token's softmax.
double Bits(Logits logits, int token) {
  const float highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - highest);
  return (std::log(sum) + highest - logits[token]) / std::log(2.0);
}

char Choose(Logits logits, float temperature, std::mt19937* random) {
  const auto likeliest = std::max_element(logits.begin(), logits.end());
  // Drawn in either case: so the numbers that follow do not depend on it.
  const double drawn = (*random)() / 4294967296.0;
  auto chosen = likeliest;
  if (temperature > 0) {
    std::vector<double> sums;
    double sum = 0;
    for (const float logit : logits) {
      sum += std::exp((double{logit} - *likeliest) / temperature);
      sums.push_back(sum);
    }
    const auto at = std::upper_bound(sums.begin(), sums.end(), drawn * sum);
    if (at != sums.end()) chosen = logits.begin() + (at - sums.begin());
  }
  return static_cast<char>(chosen - logits.begin());
}

// Runs the tokens behind those so far; the last one's logits.
absl::StatusOr<Logits> StepThrough(absl::string_view text, Decoder* decoder) {
  absl::StatusOr<Logits> logits = Logits();
  for (const char c : text) {
    logits = decoder->Step(TokenOf(c));
    if (!logits.ok()) break;
  }
  return logits;
}

}  // namespace

absl::StatusOr<double> BitsPerCharacter(absl::string_view text, int context,
                                        Decoder* decoder) {
  double bits = 0;
  for (std::size_t begin = 0; begin < text.size(); begin += context) {
    const absl::string_view window = text.substr(begin, context);
    decoder->Reset();
    for (std::size_t i = 0; i < window.size(); ++i) {
      const absl::StatusOr<Logits> logits =
          decoder->Step(TokenBefore(window, i));
      if (!logits.ok()) return logits.status();
      const int token = TokenOf(window[i]);
      if (token >= static_cast<int>(logits->size())) {
        return absl::InvalidArgumentError(absl::StrCat(
            "character ", begin + i, " of the text is not in the vocabulary"));
      }
      bits += Bits(*logits, token);
    }
  }
  return text.empty() ? 0 : bits / static_cast<double>(text.size());
}

absl::StatusOr<LogitsTable> ParseLogitsTable(absl::string_view file) {
  LogitsTable table;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(file, '\n')) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const auto bad = [&](absl::string_view what) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " of the table of logits: ", what));
    };
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    int position = 0;
    if (!absl::SimpleAtoi(halves.first, &position) || position < 0) {
      return bad("no position and colon");
    }
    if (!table.empty() && position <= table.back().first) {
      return bad("a position that is not above the one before");
    }
    table.emplace_back(position, std::vector<float>());
    for (const absl::string_view field :
         absl::StrSplit(halves.second, ' ', absl::SkipEmpty())) {
      float logit = 0;
      if (!absl::SimpleAtof(field, &logit)) {
        return bad(absl::StrCat("'", field, "' is not a number"));
      }
      table.back().second.push_back(logit);
    }
  }
  return table;
}

absl::StatusOr<float> LargestDifference(absl::string_view text,
                                        const LogitsTable& table,
                                        Decoder* decoder) {
  decoder->Reset();
  float largest = 0;
  for (const auto& [position, expected] : table) {
    if (static_cast<std::size_t>(position) > text.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the table of logits has position ", position,
                       ", the text ", text.size(), " characters"));
    }
    absl::StatusOr<Logits> logits = Logits();
    while (decoder->position() <= position) {
      logits = decoder->Step(TokenBefore(text, decoder->position()));
      if (!logits.ok()) return logits.status();
    }
    if (logits->size() != expected.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the table has ", expected.size(), " logits for position ", position,
          ", the model ", logits->size()));
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const float difference = std::fabs((*logits)[i] - expected[i]);
      // A NaN is as far away as can be, and stays.
      if (!(difference <= largest)) {
        largest = std::isnan(difference)
                      ? std::numeric_limits<float>::infinity()
                      : difference;
      }
    }
  }
  return largest;
}

absl::StatusOr<std::string> Sample(absl::string_view prompt, int context,
                                   const SampleOptions& options,
                                   Decoder* decoder) {
  const std::size_t half = (context + 1) / 2;
  std::string text = "\n" + std::string(prompt);
  const std::size_t begin = text.size();
  std::mt19937 random(options.seed);
  decoder->Reset();
  absl::StatusOr<Logits> logits =
      StepThrough(absl::string_view(text).substr(
                      text.size() > half ? text.size() - half : 0),
                  decoder);
  for (int i = 0; i < options.characters && logits.ok(); ++i) {
    text += Choose(*logits, options.temperature, &random);
    if (decoder->position() == context) {
      decoder->Reset();
      logits = StepThrough(absl::string_view(text).substr(text.size() - half),
                           decoder);
    } else {
      logits = decoder->Step(TokenOf(text.back()));
    }
  }
  if (!logits.ok()) return logits.status();
  return text.substr(begin);
}

}  // namespace decoder
