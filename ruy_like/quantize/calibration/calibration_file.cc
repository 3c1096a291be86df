#include "ruy_like/quantize/calibration_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/calibration/json.h"
#include "ruy_like/quantize/calibration/observer_state.h"

namespace ruy_like {
namespace {

using quantize_internal::JsonNumber;
using quantize_internal::JsonReader;
using quantize_internal::JsonString;
using quantize_internal::ObserverState;

constexpr absl::string_view kFormat = "ruy_like-calibration";
constexpr std::int32_t kVersion = 1;
constexpr std::size_t kMaxNcnnNameBytes = 255;
constexpr absl::string_view kNcnnWeights = "_param_";

// ## Checks

absl::Status TensorError(absl::string_view name, absl::string_view message) {
  return absl::InvalidArgumentError(
      absl::StrCat("tensor ", JsonString(name), ": ", message));
}

// Names and parameters, wherever they are from.
absl::Status CheckTensors(const Calibration& calibration) {
  std::set<absl::string_view> names;
  for (const CalibratedTensor& tensor : calibration.tensors) {
    const std::string& name = tensor.name;
    if (name.empty() || name.size() > CalibratedTensor::kMaxNameBytes ||
        !quantize_internal::IsUtf8(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a tensor's name has ", name.size(), " bytes, must be UTF-8 of 1 to ",
          CalibratedTensor::kMaxNameBytes));
    }
    if (!names.insert(name).second) {
      return TensorError(name, "is there twice");
    }
    for (const QuantParams& params : tensor.params) {
      const absl::Status status = ValidateQuantParams(
          params, std::numeric_limits<std::int32_t>::min(),
          std::numeric_limits<std::int32_t>::max(), "params");
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

template <typename Numbers>
void AppendArray(const char* name, const Numbers& numbers, std::string* text) {
  absl::StrAppend(text, ", \"", name, "\": [");
  const char* comma = "";
  for (const auto number : numbers) {
    absl::StrAppend(text, comma, number);
    comma = ",";
  }
  text->push_back(']');
}

void AppendParams(const QuantParams& params, std::string* text) {
  absl::StrAppend(text, "{\"scale\": ", JsonNumber(params.scale),
                  ", \"zero_point\": ", params.zero_point,
                  ", \"qmin\": ", params.qmin, ", \"qmax\": ", params.qmax,
                  "}");
}

void AppendObserver(const Observer& observer, std::string* text) {
  const ObserverState state = ObserverState::Of(observer);
  absl::StrAppend(text, "{\"range\": ", JsonNumber(state.range));
  if (state.has_exponent) {
    absl::StrAppend(text, ", \"exponent\": ", state.exponent);
  }
  absl::StrAppend(text, ", \"finite\": ", state.finite,
                  ", \"zeros\": ", state.zeros,
                  ", \"nonfinite\": ", state.nonfinite,
                  ",\n   \"min\": ", JsonNumber(state.min),
                  ", \"max\": ", JsonNumber(state.max));
  AppendArray("sum", state.sum, text);
  AppendArray("sum_of_squares", state.sum_of_squares, text);
  AppendArray("sum_of_magnitudes", state.sum_of_magnitudes, text);
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
//
// Each member is read by a function that is found by its name; `seen` has a bit
// for each that was.

class MemberSet final {
 public:
  explicit MemberSet(JsonReader* json) : json_(json) {}
  // Whether `name` is this member, which must not have been there before.
  bool Is(absl::string_view name, absl::string_view member) {
    if (name != member) return false;
    if (!seen_.insert(member).second) {
      json_->Fail(absl::StrCat(member, " is there twice"));
    }
    return true;
  }
  bool Has(absl::string_view member) const { return seen_.count(member) != 0; }
  void Require(std::initializer_list<absl::string_view> members) {
    for (const absl::string_view member : members) {
      if (!Has(member)) json_->Fail(absl::StrCat(member, " is missing"));
    }
  }

 private:
  JsonReader* const json_;
  std::set<absl::string_view> seen_;
};

void FailUnknown(absl::string_view name, JsonReader* json) {
  json->Fail(absl::StrCat("unknown member ", JsonString(name)));
}

// Exactly so many numbers.
template <typename T>
void ReadNumbers(std::size_t count, T* numbers, JsonReader* json) {
  std::size_t i = 0;
  json->BeginArray();
  while (json->NextElement()) {
    if (i == count) return json->Fail("the array has too many elements");
    json->Read(&numbers[i++]);
  }
  if (i < count) json->Fail("the array has too few elements");
}

void ReadParams(JsonReader* json, QuantParams* params) {
  std::string name;
  MemberSet members(json);
  json->BeginObject();
  while (json->NextMember(&name)) {
    if (members.Is(name, "scale")) {
      json->Read(&params->scale);
    } else if (members.Is(name, "zero_point")) {
      json->Read(&params->zero_point);
    } else if (members.Is(name, "qmin")) {
      json->Read(&params->qmin);
    } else if (members.Is(name, "qmax")) {
      json->Read(&params->qmax);
    } else {
      FailUnknown(name, json);
    }
  }
  members.Require({"scale", "zero_point", "qmin", "qmax"});
}

// Whether it was one of an observer's numbers.
bool ReadObserverNumber(absl::string_view name, MemberSet* members,
                        JsonReader* json, ObserverState* state) {
  if (members->Is(name, "range")) {
    json->Read(&state->range);
  } else if (members->Is(name, "exponent")) {
    json->Read(&state->exponent);
  } else if (members->Is(name, "finite")) {
    json->Read(&state->finite);
  } else if (members->Is(name, "zeros")) {
    json->Read(&state->zeros);
  } else if (members->Is(name, "nonfinite")) {
    json->Read(&state->nonfinite);
  } else if (members->Is(name, "min")) {
    json->Read(&state->min);
  } else if (members->Is(name, "max")) {
    json->Read(&state->max);
  } else {
    return false;
  }
  return true;
}

void ReadObserver(JsonReader* json, std::vector<Observer>* observers) {
  ObserverState state;
  std::string name;
  MemberSet members(json);
  json->BeginObject();
  while (json->NextMember(&name)) {
    if (ReadObserverNumber(name, &members, json, &state)) continue;
    if (members.Is(name, "sum")) {
      ReadNumbers(state.sum.size(), state.sum.data(), json);
    } else if (members.Is(name, "sum_of_squares")) {
      ReadNumbers(state.sum_of_squares.size(), state.sum_of_squares.data(),
                  json);
    } else if (members.Is(name, "sum_of_magnitudes")) {
      ReadNumbers(state.sum_of_magnitudes.size(),
                  state.sum_of_magnitudes.data(), json);
    } else if (members.Is(name, "bins")) {
      state.bins.resize(Observer::kBins);
      ReadNumbers(state.bins.size(), state.bins.data(), json);
    } else {
      FailUnknown(name, json);
    }
  }
  members.Require({"range", "finite", "zeros", "nonfinite", "min", "max", "sum",
                   "sum_of_squares", "sum_of_magnitudes", "bins"});
  if (!json->ok()) return;
  state.has_exponent = members.Has("exponent");
  absl::StatusOr<Observer> observer = ObserverState::ToObserver(state);
  if (!observer.ok()) return json->Fail(observer.status().message());
  observers->push_back(*std::move(observer));
}

void ReadMovingAverage(JsonReader* json,
                       std::vector<MovingAverageObserver>* observers) {
  float constant = 0, min = 0, max = 0;
  std::uint64_t batches = 0;
  std::string name;
  MemberSet members(json);
  json->BeginObject();
  while (json->NextMember(&name)) {
    if (members.Is(name, "constant")) {
      json->Read(&constant);
    } else if (members.Is(name, "batches")) {
      json->Read(&batches);
    } else if (members.Is(name, "min")) {
      json->Read(&min);
    } else if (members.Is(name, "max")) {
      json->Read(&max);
    } else {
      FailUnknown(name, json);
    }
  }
  members.Require({"constant", "batches", "min", "max"});
  if (!json->ok()) return;
  const auto observer =
      MovingAverageObserver::Resume(constant, batches, min, max);
  if (!observer.ok()) return json->Fail(observer.status().message());
  observers->push_back(*observer);
}

void ReadTensor(JsonReader* json, CalibratedTensor* tensor) {
  std::string name;
  MemberSet members(json);
  json->BeginObject();
  while (json->NextMember(&name)) {
    if (members.Is(name, "name")) {
      json->Read(&tensor->name);
    } else if (members.Is(name, "params")) {
      json->BeginArray();
      while (json->NextElement()) {
        tensor->params.emplace_back();
        ReadParams(json, &tensor->params.back());
      }
    } else if (members.Is(name, "observers")) {
      json->BeginArray();
      while (json->NextElement()) ReadObserver(json, &tensor->observers);
    } else if (members.Is(name, "moving_averages")) {
      json->BeginArray();
      while (json->NextElement()) {
        ReadMovingAverage(json, &tensor->moving_averages);
      }
    } else {
      FailUnknown(name, json);
    }
  }
  members.Require({"name", "params", "observers"});
}

void ReadCalibration(JsonReader* json, Calibration* calibration) {
  std::string name, format;
  std::int32_t version = 0;
  MemberSet members(json);
  json->BeginObject();
  while (json->NextMember(&name)) {
    if (members.Is(name, "format")) {
      json->Read(&format);
      if (format != kFormat) json->Fail(absl::StrCat("format is no ", kFormat));
    } else if (members.Is(name, "version")) {
      json->Read(&version);
      if (version != kVersion) {
        json->Fail(absl::StrCat("version ", version, ", known is ", kVersion));
      }
    } else if (members.Is(name, "tensors")) {
      json->BeginArray();
      while (json->NextElement()) {
        calibration->tensors.emplace_back();
        ReadTensor(json, &calibration->tensors.back());
      }
    } else {
      FailUnknown(name, json);
    }
  }
  members.Require({"format", "version", "tensors"});
  json->End();
}

absl::Status CheckSize(std::size_t bytes) {
  if (bytes <= kMaxCalibrationBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a calibration of more than ", kMaxCalibrationBytes, " bytes"));
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

bool IsNcnnWeights(const CalibratedTensor& tensor) {
  return absl::string_view(tensor.name).find(kNcnnWeights) !=
         absl::string_view::npos;
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
    const absl::Status status = CheckSize(text.size());
    if (!status.ok()) return status;
  }
  if (std::ferror(file.get()) != 0) return FileError(path, errno);
  return text;
}

// parse(text of the file), with the path in its errors.
template <typename Parse>
absl::StatusOr<Calibration> Load(const std::string& path, const Parse& parse) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<Calibration> calibration = parse(*text);
  if (calibration.ok()) return calibration;
  return absl::Status(calibration.status().code(),
                      absl::StrCat(path, ": ", calibration.status().message()));
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
    absl::Status status = CheckTensors(calibration);
    if (!status.ok()) return status;
    std::string text =
        absl::StrCat("{\"format\": \"", kFormat, "\", \"version\": ", kVersion,
                     ", \"tensors\": [");
    const char* tensor_comma = "\n";
    for (const CalibratedTensor& tensor : calibration.tensors) {
      absl::StrAppend(&text, tensor_comma,
                      " {\"name\": ", JsonString(tensor.name),
                      ",\n  \"params\": [");
      tensor_comma = ",\n";
      const char* comma = "";
      for (const QuantParams& params : tensor.params) {
        text += std::exchange(comma, ",\n   ");
        AppendParams(params, &text);
      }
      text += "],\n  \"observers\": [";
      comma = "";
      for (const Observer& observer : tensor.observers) {
        text += std::exchange(comma, ",\n  ");
        AppendObserver(observer, &text);
      }
      if (!tensor.moving_averages.empty()) {
        text += "],\n  \"moving_averages\": [";
        comma = "";
        for (const MovingAverageObserver& observer : tensor.moving_averages) {
          text += std::exchange(comma, ",\n   ");
          AppendMovingAverage(observer, &text);
        }
      }
      text += "]}";
    }
    text += "]}\n";
    status = CheckSize(text.size());
    if (!status.ok()) return status;
    return text;
  });
}

absl::StatusOr<Calibration> CalibrationFromJson(absl::string_view json) {
  return CatchNoMemory([&]() -> absl::StatusOr<Calibration> {
    absl::Status status = CheckSize(json.size());
    if (!status.ok()) return status;
    Calibration calibration;
    JsonReader reader(json);
    ReadCalibration(&reader, &calibration);
    if (!reader.ok()) return reader.status();
    status = CheckTensors(calibration);
    if (!status.ok()) return status;
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
    absl::Status status = CheckTensors(calibration);
    if (!status.ok()) return status;
    std::string text;
    for (const bool weights : {true, false}) {
      for (const CalibratedTensor& tensor : calibration.tensors) {
        if (tensor.params.empty() || IsNcnnWeights(tensor) != weights) continue;
        status = CheckNcnnTensor(tensor);
        if (!status.ok()) return status;
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
    absl::Status status = CheckSize(table.size());
    if (!status.ok()) return status;
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
          return absl::InvalidArgumentError(
              absl::StrCat("line ", number, ": no factor of a scale"));
        }
      }
      if (tensor.name.empty()) continue;
      if (tensor.params.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("line ", number, ": a name without factors"));
      }
      calibration.tensors.push_back(std::move(tensor));
    }
    status = CheckTensors(calibration);
    if (!status.ok()) return status;
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
