#include "ruy_like/quantize/calibration_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/calibration/json.h"
#include "ruy_like/quantize/checks/checks.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;
using qi::ExactSum;
using qi::JsonNumber;
using qi::JsonReader;
using qi::JsonString;
using qi::ObserverState;

constexpr absl::string_view kFormat = "ruy_like-calibration";
constexpr std::int32_t kVersion = 1;
constexpr std::size_t kMaxNcnnNameBytes = 255;
constexpr absl::string_view kNcnnWeights = "_param_";

// ## Checks

absl::Status TensorError(absl::string_view name, absl::string_view message) {
  return Invalid("tensor ", JsonString(name), ": ", message);
}

// Names and parameters, wherever they are from.
absl::Status CheckTensors(const Calibration& calibration) {
  std::set<absl::string_view> names;
  for (const CalibratedTensor& tensor : calibration.tensors) {
    const std::string& name = tensor.name;
    if (name.empty() || name.size() > CalibratedTensor::kMaxNameBytes ||
        !qi::IsUtf8(name)) {
      return Invalid("a tensor's name has ", name.size(),
                     " bytes, must be UTF-8 of 1 to ",
                     CalibratedTensor::kMaxNameBytes);
    }
    if (!names.insert(name).second) {
      return TensorError(name, "is there twice");
    }
    for (const QuantParams& params : tensor.params) {
      const absl::Status status =
          qi::CheckParams("params", Scalar::kI32, params);
      if (!status.ok()) return TensorError(name, status.message());
    }
    for (const MovingAverageObserver& observer : tensor.moving_averages) {
      const absl::Status status =
          MovingAverageObserver::Resume(observer.constant(), observer.batches(),
                                        observer.min(), observer.max())
              .status();
      if (!status.ok()) return TensorError(name, status.message());
    }
  }
  return absl::OkStatus();
}

// ## Writing JSON

// append(item, text) for all items.
template <typename Items, typename Append>
void AppendList(const Items& items, const char* separator, const Append& append,
                std::string* text) {
  const char* comma = "";
  for (const auto& item : items) {
    *text += std::exchange(comma, separator);
    append(item, text);
  }
}

template <typename Numbers>
void AppendArray(const char* name, const Numbers& numbers, std::string* text) {
  absl::StrAppend(text, ", \"", name, "\": [", absl::StrJoin(numbers, ","),
                  "]");
}

void AppendParams(const QuantParams& params, std::string* text) {
  absl::StrAppend(text, "{\"scale\": ", JsonNumber(params.scale),
                  ", \"zero_point\": ", params.zero_point,
                  ", \"qmin\": ", params.qmin, ", \"qmax\": ", params.qmax,
                  "}");
}

void AppendObserver(const Observer& observer, std::string* text) {
  const ObserverState& state = ObserverState::Of(observer);
  absl::StrAppend(text, "{\"range\": ", JsonNumber(state.range));
  if (state.range == 0 && state.has_range) {
    absl::StrAppend(text, ", \"exponent\": ", state.exponent);
  }
  absl::StrAppend(text, ", \"finite\": ", state.finite,
                  ", \"zeros\": ", state.zeros,
                  ", \"nonfinite\": ", state.nonfinite,
                  ",\n   \"min\": ", JsonNumber(state.min),
                  ", \"max\": ", JsonNumber(state.max));
  AppendArray("sum", state.sum.digits(), text);
  AppendArray("sum_of_squares", state.sum_of_squares.digits(), text);
  AppendArray("sum_of_magnitudes", state.sum_of_magnitudes.digits(), text);
  AppendArray("bins", state.bins, text);
  text->push_back('}');
}

void AppendMovingAverage(const MovingAverageObserver& observer,
                         std::string* text) {
  absl::StrAppend(text, "{\"constant\": ", JsonNumber(observer.constant()),
                  ", \"batches\": ", observer.batches(),
                  ", \"min\": ", JsonNumber(observer.min()),
                  ", \"max\": ", JsonNumber(observer.max()), "}");
}

// ## Reading JSON

void ReadParams(JsonReader* json, QuantParams* params) {
  json->ReadObject({json->To("scale", &params->scale),
                    json->To("zero_point", &params->zero_point),
                    json->To("qmin", &params->qmin),
                    json->To("qmax", &params->qmax)});
}

// A member that is an exact sum, by its digits.
JsonReader::Member Sum(absl::string_view name, JsonReader* json,
                       ExactSum* sum) {
  return {name, [json, sum] {
            ExactSum::Digits digits;
            json->ReadNumbers(&digits);
            if (!json->ok()) return;
            if (!ExactSum::AreDigits(digits)) {
              return json->Fail("these are no digits of a sum");
            }
            *sum = ExactSum(digits);
          }};
}

void ReadObserver(JsonReader* json, std::vector<Observer>* observers) {
  ObserverState state;
  state.bins.resize(Observer::kBins);
  bool has_exponent = false;
  const auto read_exponent = [&] {
    has_exponent = true;
    json->Read(&state.exponent);
  };
  json->ReadObject(
      {json->To("range", &state.range),
       JsonReader::Member("exponent", read_exponent, /*optional=*/true),
       json->To("finite", &state.finite), json->To("zeros", &state.zeros),
       json->To("nonfinite", &state.nonfinite), json->To("min", &state.min),
       json->To("max", &state.max), Sum("sum", json, &state.sum),
       Sum("sum_of_squares", json, &state.sum_of_squares),
       Sum("sum_of_magnitudes", json, &state.sum_of_magnitudes),
       JsonReader::Member("bins", [&] { json->ReadNumbers(&state.bins); })});
  if (!json->ok()) return;
  // Only an observer that streams has an exponent.
  state.has_range = has_exponent == (state.range == 0);
  absl::StatusOr<Observer> observer =
      ObserverState::ToObserver(std::move(state));
  if (!observer.ok()) return json->Fail(observer.status().message());
  observers->push_back(*std::move(observer));
}

void ReadMovingAverage(JsonReader* json,
                       std::vector<MovingAverageObserver>* observers) {
  float constant = 0, min = 0, max = 0;
  std::uint64_t batches = 0;
  json->ReadObject({json->To("constant", &constant),
                    json->To("batches", &batches), json->To("min", &min),
                    json->To("max", &max)});
  if (!json->ok()) return;
  const auto observer =
      MovingAverageObserver::Resume(constant, batches, min, max);
  if (!observer.ok()) return json->Fail(observer.status().message());
  observers->push_back(*observer);
}

void ReadTensor(JsonReader* json, CalibratedTensor* tensor) {
  const auto read_params = [&] {
    tensor->params.emplace_back();
    ReadParams(json, &tensor->params.back());
  };
  const auto read_observer = [&] { ReadObserver(json, &tensor->observers); };
  const auto read_average = [&] {
    ReadMovingAverage(json, &tensor->moving_averages);
  };
  json->ReadObject(
      {json->To("name", &tensor->name),
       JsonReader::Member("params", [&] { json->ReadArray(read_params); }),
       JsonReader::Member("observers", [&] { json->ReadArray(read_observer); }),
       JsonReader::Member(
           "moving_averages", [&] { json->ReadArray(read_average); },
           /*optional=*/true)});
}

void ReadCalibration(JsonReader* json, Calibration* calibration) {
  const auto read_format = [&] {
    std::string format;
    json->Read(&format);
    if (format != kFormat) json->Fail(absl::StrCat("format is no ", kFormat));
  };
  const auto read_version = [&] {
    std::int32_t version = 0;
    json->Read(&version);
    if (version == kVersion) return;
    json->Fail(absl::StrCat("version ", version, ", known is ", kVersion));
  };
  const auto read_tensor = [&] {
    calibration->tensors.emplace_back();
    ReadTensor(json, &calibration->tensors.back());
  };
  json->ReadObject(
      {JsonReader::Member("format", read_format),
       JsonReader::Member("version", read_version),
       JsonReader::Member("tensors", [&] { json->ReadArray(read_tensor); })});
  json->End();
}

absl::Status CheckSize(std::size_t bytes) {
  if (bytes <= kMaxCalibrationBytes) return absl::OkStatus();
  return Invalid("a calibration of more than ", kMaxCalibrationBytes, " bytes");
}

// ## ncnn's table

absl::Status CheckNcnnTensor(const CalibratedTensor& tensor) {
  if (tensor.name.size() > kMaxNcnnNameBytes ||
      std::any_of(tensor.name.begin(), tensor.name.end(), [](char c) {
        return absl::ascii_isspace(static_cast<unsigned char>(c)) ||
               absl::ascii_iscntrl(static_cast<unsigned char>(c));
      })) {
    return TensorError(tensor.name, "ncnn's table has no room for that name");
  }
  for (const QuantParams& params : tensor.params) {
    if (params.zero_point != 0) {
      return TensorError(tensor.name,
                         absl::StrCat("zero point ", params.zero_point,
                                      ", in ncnn's table it is 0"));
    }
    if (!std::isfinite(1 / params.scale)) {
      return TensorError(tensor.name, "no float holds the scale's inverse");
    }
  }
  return absl::OkStatus();
}

// A float's scale, from its inverse in the table.
bool ReadNcnnFactor(absl::string_view text, QuantParams* params) {
  float factor;
  if (!absl::SimpleAtof(text, &factor) || !(factor > 0)) return false;
  *params = {std::isinf(factor) ? 1.0f : 1 / factor, 0, -127, 127};
  return std::isfinite(params->scale) && params->scale > 0;
}

// ## Files

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

absl::Status FileError(const std::string& path, int error) {
  return absl::ErrnoToStatus(error == 0 ? EIO : error, path);
}

absl::Status WriteFile(const absl::StatusOr<std::string>& text,
                       const std::string& path) {
  if (!text.ok()) return text.status();
  errno = 0;
  File file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr ||
      std::fwrite(text->data(), 1, text->size(), file.get()) != text->size() ||
      std::fclose(file.release()) != 0) {
    return FileError(path, errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  errno = 0;
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return FileError(path, errno);
  std::string text;
  char piece[1 << 14];
  while (const std::size_t bytes =
             std::fread(piece, 1, sizeof(piece), file.get())) {
    text.append(piece, bytes);
    RUY_LIKE_RETURN_IF_ERROR(CheckSize(text.size()));
  }
  if (std::ferror(file.get()) != 0) return FileError(path, errno);
  return text;
}

// parse(text of the file), with the path in its errors.
template <typename Parse>
absl::StatusOr<Calibration> Load(const std::string& path, const Parse& parse) {
  RUY_LIKE_ASSIGN_OR_RETURN(const auto text, ReadFile(path));
  absl::StatusOr<Calibration> calibration = parse(text);
  if (calibration.ok()) return calibration;
  return WithPrefix(calibration.status(), path, ": ");
}

}  // namespace

const CalibratedTensor* Calibration::Find(absl::string_view name) const {
  for (const CalibratedTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

absl::StatusOr<std::string> CalibrationToJson(const Calibration& calibration) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::string> {
    RUY_LIKE_RETURN_IF_ERROR(CheckTensors(calibration));
    std::string text =
        absl::StrCat("{\"format\": \"", kFormat, "\", \"version\": ", kVersion,
                     ", \"tensors\": [");
    const char* tensor_comma = "\n";
    for (const CalibratedTensor& tensor : calibration.tensors) {
      absl::StrAppend(&text, tensor_comma,
                      " {\"name\": ", JsonString(tensor.name),
                      ",\n  \"params\": [");
      tensor_comma = ",\n";
      AppendList(tensor.params, ",\n   ", AppendParams, &text);
      text += "],\n  \"observers\": [";
      AppendList(tensor.observers, ",\n  ", AppendObserver, &text);
      if (!tensor.moving_averages.empty()) {
        text += "],\n  \"moving_averages\": [";
        AppendList(tensor.moving_averages, ",\n   ", AppendMovingAverage,
                   &text);
      }
      text += "]}";
    }
    text += "]}\n";
    RUY_LIKE_RETURN_IF_ERROR(CheckSize(text.size()));
    return text;
  });
}

absl::StatusOr<Calibration> CalibrationFromJson(absl::string_view json) {
  return CatchNoMemory([&]() -> absl::StatusOr<Calibration> {
    RUY_LIKE_RETURN_IF_ERROR(CheckSize(json.size()));
    Calibration calibration;
    JsonReader reader(json);
    ReadCalibration(&reader, &calibration);
    RUY_LIKE_RETURN_IF_ERROR(reader.status());
    RUY_LIKE_RETURN_IF_ERROR(CheckTensors(calibration));
    return calibration;
  });
}

absl::Status SaveCalibration(const Calibration& calibration,
                             const std::string& path) {
  return CatchNoMemory(
      [&] { return WriteFile(CalibrationToJson(calibration), path); });
}

absl::StatusOr<Calibration> LoadCalibration(const std::string& path) {
  return CatchNoMemory([&] { return Load(path, CalibrationFromJson); });
}

absl::StatusOr<std::string> CalibrationToNcnnTable(
    const Calibration& calibration) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::string> {
    RUY_LIKE_RETURN_IF_ERROR(CheckTensors(calibration));
    std::string text;
    for (const bool weights : {true, false}) {
      for (const CalibratedTensor& tensor : calibration.tensors) {
        if (tensor.params.empty() ||
            absl::StrContains(tensor.name, kNcnnWeights) != weights)
          continue;
        RUY_LIKE_RETURN_IF_ERROR(CheckNcnnTensor(tensor));
        text += tensor.name;
        for (const QuantParams& params : tensor.params) {
          absl::StrAppend(&text, " ", JsonNumber(1 / params.scale));
        }
        text += '\n';
      }
    }
    return text;
  });
}

absl::StatusOr<Calibration> CalibrationFromNcnnTable(absl::string_view table) {
  return CatchNoMemory([&]() -> absl::StatusOr<Calibration> {
    RUY_LIKE_RETURN_IF_ERROR(CheckSize(table.size()));
    Calibration calibration;
    std::size_t number = 0;
    for (const absl::string_view line : absl::StrSplit(table, '\n')) {
      ++number;
      CalibratedTensor tensor;
      for (const absl::string_view word :
           absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty())) {
        if (tensor.name.empty()) {
          tensor.name = std::string(word);
          continue;
        }
        tensor.params.emplace_back();
        if (!ReadNcnnFactor(word, &tensor.params.back())) {
          return Invalid("line ", number, ": no factor of a scale");
        }
      }
      if (tensor.name.empty()) continue;
      if (tensor.params.empty()) {
        return Invalid("line ", number, ": a name without factors");
      }
      calibration.tensors.push_back(std::move(tensor));
    }
    RUY_LIKE_RETURN_IF_ERROR(CheckTensors(calibration));
    return calibration;
  });
}

absl::Status SaveNcnnTable(const Calibration& calibration,
                           const std::string& path) {
  return CatchNoMemory(
      [&] { return WriteFile(CalibrationToNcnnTable(calibration), path); });
}

absl::StatusOr<Calibration> LoadNcnnTable(const std::string& path) {
  return CatchNoMemory([&] { return Load(path, CalibrationFromNcnnTable); });
}

}  // namespace ruy_like
