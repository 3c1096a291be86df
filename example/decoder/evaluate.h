// Example: what a decoder is asked here: how well it predicts a text, whether
// its logits are those of a table, and for a text of its own.
//
// A text's character is a token. Each window of as many characters as the
// model's context begins anew, and its first character is predicted from a
// newline.
#ifndef EXAMPLE_DECODER_EVALUATE_H_
#define EXAMPLE_DECODER_EVALUATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "example/decoder/decoder.h"

namespace decoder {

// The mean of -log2 of the probabilities that the decoder gives to the text's
// characters; 0 for an empty text.
absl::StatusOr<double> BitsPerCharacter(absl::string_view text, int context,
                                        Decoder* decoder);

// Positions of a text's first window, and the logits for the character at each.
using LogitsTable = std::vector<std::pair<int, std::vector<float>>>;

// A line for each position, in ascending order: it, a colon, the logits with
// blanks between them. Empty lines and those that begin with # are comments.
// InvalidArgument names the line.
absl::StatusOr<LogitsTable> ParseLogitsTable(absl::string_view file);

// The largest difference between the decoder's logits for the text and the
// table's. InvalidArgument for a table that goes beyond the text or has another
// number of logits.
absl::StatusOr<float> LargestDifference(absl::string_view text,
                                        const LogitsTable& table,
                                        Decoder* decoder);

struct SampleOptions {
  int characters = 0;
  // 0: always the likeliest character.
  float temperature = 0;
  std::uint32_t seed = 1;
};

// Continues the prompt, and returns what was added. Where the context is full,
// goes on from the second half of what it holds.
absl::StatusOr<std::string> Sample(absl::string_view prompt, int context,
                                   const SampleOptions& options,
                                   Decoder* decoder);

}  // namespace decoder

#endif  // EXAMPLE_DECODER_EVALUATE_H_
