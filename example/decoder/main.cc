// A small language model from a file, run token by token with its weights in
// each of several formats: how well it predicts a text that it was not trained
// on, how fast, and how much it reads. run.sh builds and runs it.
//
//   ruy_like_decoder --folder=example/decoder
//
// Exit codes: 0 all is well, 1 something failed (with --check: an aim was
// missed), 2 a flag or a file is wrong. --help lists the flags.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "example/command_line.h"
#include "example/decoder/decoder.h"
#include "example/decoder/evaluate.h"
#include "example/decoder/model_file.h"
#include "example/decoder/weight_format.h"
#include "ruy_like/ruy_like.h"

ABSL_FLAG(std::string, folder, "example/decoder",
          "where model.bf16, held_out.txt and logits.txt are");
ABSL_FLAG(std::string, formats, "",
          "those to try, with commas between them; all if empty");
ABSL_FLAG(int, characters, 0, "of the held-out text; 0 for all of it");
ABSL_FLAG(std::string, prompt, "The ", "the beginning of the sample");
ABSL_FLAG(int, sample, 400, "characters to generate");
ABSL_FLAG(float, temperature, 0.7f, "of the sample; 0: the likeliest text");
ABSL_FLAG(uint32_t, seed, 1, "of the sample");
ABSL_FLAG(bool, speed, true,
          "print tokens a second; else the output is always "
          "the same on a machine");
ABSL_FLAG(bool, check, false,
          "fail unless float's logits are within 0.001 of PyTorch's and no "
          "format loses more bits per character than its row allows");

namespace decoder {
namespace {

constexpr float kMostLogitError = 1e-3f;

struct Result {
  const WeightFormat* format;
  double bits, tokens_per_second;
  std::size_t bytes;
};

absl::StatusOr<Result> Measure(const WeightFormat& format,
                               absl::string_view text, const Model& model,
                               ruy_like::Context* context) {
  const auto decoder = Decoder::Create(model, format, context);
  if (!decoder.ok()) return decoder.status();
  const auto begin = std::chrono::steady_clock::now();
  const absl::StatusOr<double> bits =
      BitsPerCharacter(text, model.shape.context, decoder->get());
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  if (!bits.ok()) return bits.status();
  return Result{&format, *bits,
                static_cast<double>(text.size()) / seconds.count(),
                (*decoder)->weight_bytes_per_token()};
}

void PrintModel(const ModelShape& shape, std::size_t characters) {
  const std::int64_t dim = shape.dim;
  const std::int64_t weights =
      2 * dim * shape.vocabulary +
      shape.layers * (4 * dim * dim + 3 * dim * shape.hidden);
  std::cout << absl::StrFormat(
      "%d weights: %d layers of %d elements, %d heads, %d hidden elements\n"
      "%d characters of held-out text\n",
      weights, shape.layers, shape.dim, shape.heads, shape.hidden, characters);
}

void Print(const std::vector<Result>& results, bool speed) {
  std::cout << "\nweights  bits per character  "
            << (speed ? "tokens a second  " : "") << "bytes a token\n";
  for (const Result& result : results) {
    std::cout << absl::StrFormat("%-7s  %18.4f  ", result.format->name,
                                 result.bits);
    if (speed) {
      std::cout << absl::StrFormat("%15.0f  ", result.tokens_per_second);
    }
    std::cout << absl::StrFormat("%13d  %s\n", result.bytes,
                                 result.format->description);
  }
}

absl::Status Check(const std::vector<Result>& results, float logit_error) {
  if (!(logit_error <= kMostLogitError)) {
    return absl::InternalError(
        absl::StrCat("float's logits are ", logit_error, " from PyTorch's"));
  }
  if (results.front().format != &AllFormats()[0]) {
    return absl::InvalidArgumentError(
        "--check compares with float, which must be the first of --formats");
  }
  const double float_bits = results.front().bits;
  for (const Result& result : results) {
    const double lost = result.bits - float_bits;
    if (!(lost <= result.format->most_bits_lost)) {
      return absl::InternalError(absl::StrCat(result.format->name, " loses ",
                                              lost, " bits per character"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<const WeightFormat*>> ChosenFormats() {
  std::vector<const WeightFormat*> formats;
  const std::string names = absl::GetFlag(FLAGS_formats);
  if (names.empty()) {
    for (const WeightFormat& format : AllFormats()) formats.push_back(&format);
    return formats;
  }
  for (const absl::string_view name : absl::StrSplit(names, ',')) {
    formats.push_back(FindFormat(name));
    if (formats.back() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("--formats: '", name, "' is none"));
    }
  }
  return formats;
}

// Prints the difference from PyTorch's logits, and returns it.
absl::StatusOr<float> CompareLogits(const std::string& folder,
                                    absl::string_view text, const Model& model,
                                    ruy_like::Context* context) {
  const absl::StatusOr<std::string> file = ReadFile(folder + "/logits.txt");
  if (!file.ok()) return file.status();
  const absl::StatusOr<LogitsTable> table = ParseLogitsTable(*file);
  if (!table.ok()) return table.status();
  const auto decoder = Decoder::Create(model, AllFormats()[0], context);
  if (!decoder.ok()) return decoder.status();
  const absl::StatusOr<float> error =
      LargestDifference(text, *table, decoder->get());
  if (!error.ok()) return error.status();
  std::cout << absl::StrFormat("float's logits: %s 1e-4 of PyTorch's\n",
                               *error <= 1e-4f ? "within" : "not within");
  return *error;
}

absl::Status Run() {
  const std::string folder = absl::GetFlag(FLAGS_folder);
  const absl::StatusOr<Model> model = ReadModel(folder + "/model.bf16");
  if (!model.ok()) return model.status();
  const absl::StatusOr<std::string> file = ReadFile(folder + "/held_out.txt");
  if (!file.ok()) return file.status();
  const auto formats = ChosenFormats();
  if (!formats.ok()) return formats.status();
  absl::string_view text = *file;
  const int characters = absl::GetFlag(FLAGS_characters);
  if (characters > 0) text = text.substr(0, characters);

  // Products as short as these take one thread each.
  ruy_like::Context context;
  PrintModel(model->shape, text.size());
  const absl::StatusOr<float> error =
      CompareLogits(folder, *file, *model, &context);
  if (!error.ok()) return error.status();
  std::vector<Result> results;
  for (const WeightFormat* const format : *formats) {
    const auto result = Measure(*format, text, *model, &context);
    if (!result.ok()) return result.status();
    results.push_back(*result);
  }
  Print(results, absl::GetFlag(FLAGS_speed));

  const auto decoder = Decoder::Create(*model, *formats->front(), &context);
  if (!decoder.ok()) return decoder.status();
  const std::string prompt = absl::GetFlag(FLAGS_prompt);
  const auto sample =
      Sample(prompt, model->shape.context,
             {absl::GetFlag(FLAGS_sample), absl::GetFlag(FLAGS_temperature),
              absl::GetFlag(FLAGS_seed)},
             decoder->get());
  if (!sample.ok()) return sample.status();
  std::cout << "\nA sample (" << formats->front()->name << "):\n"
            << prompt << *sample << "\n";
  return absl::GetFlag(FLAGS_check) ? Check(results, *error) : absl::OkStatus();
}

}  // namespace
}  // namespace decoder

int main(int argc, char** argv) {
  if (command_line::WantsHelp(argc, argv)) {
    command_line::PrintFlags("example/decoder/main.cc");
    return 0;
  }
  absl::Status status = command_line::ParseFlags(
      argc, argv, "example/decoder/main.cc", /*rest=*/nullptr);
  if (status.ok()) status = decoder::Run();
  if (status.ok()) return 0;
  std::cerr << "ruy_like_decoder: " << status.message() << "\n";
  return absl::IsInternal(status) ? 1 : 2;
}
