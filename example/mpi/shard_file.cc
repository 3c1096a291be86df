#include "example/mpi/shard_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mpi_example {
namespace {

using ruy_like::PackedMatrix;

constexpr absl::string_view kMagic = "RUYSHARD";
constexpr std::size_t kCountAt = 8, kEntriesAt = 16, kEntryBytes = 16;
// A page: what a rank does not use it does not read, and FromBytes wants 64.
constexpr std::size_t kAlignment = 4096;

std::size_t RoundUp(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void Append(std::uint64_t value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::uint64_t ReadInteger(const unsigned char* bytes) {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

}  // namespace

absl::Status WriteShards(const std::vector<PackedMatrix<std::int8_t>>& shards,
                         const std::string& file_name) {
  std::string header(kMagic);
  Append(shards.size(), &header);
  std::size_t offset = RoundUp(kEntriesAt + shards.size() * kEntryBytes);
  const std::size_t first = offset;
  for (const auto& shard : shards) {
    Append(offset, &header);
    Append(shard.Serialize().size(), &header);
    offset = RoundUp(offset + shard.Serialize().size());
  }
  header.resize(first);
  std::ofstream file(file_name, std::ios::binary);
  file << header;
  for (const auto& shard : shards) {
    const absl::string_view image = shard.Serialize();
    file << image << std::string(RoundUp(image.size()) - image.size(), '\0');
  }
  file.close();
  if (!file) return absl::DataLossError("cannot write " + file_name);
  return absl::OkStatus();
}

absl::StatusOr<ShardFile> ShardFile::Map(const std::string& file_name) {
  const int descriptor = open(file_name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return absl::NotFoundError("cannot open " + file_name);
  struct stat info;
  void* mapped = MAP_FAILED;
  if (fstat(descriptor, &info) == 0 && info.st_size > 0) {
    mapped = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ,
                  MAP_SHARED, descriptor, 0);
  }
  close(descriptor);
  if (mapped == MAP_FAILED) {
    return absl::DataLossError("cannot map " + file_name);
  }
  ShardFile file;
  file.size_ = static_cast<std::size_t>(info.st_size);
  file.bytes_ = std::shared_ptr<const unsigned char>(
      static_cast<const unsigned char*>(mapped),
      [mapped, size = file.size_](const unsigned char*) {
        munmap(mapped, size);
      });
  const unsigned char* const bytes = file.bytes_.get();
  const bool is_ours =
      file.size_ >= kEntriesAt &&
      std::memcmp(bytes, kMagic.data(), kMagic.size()) == 0 &&
      ReadInteger(bytes + kCountAt) <= INT_MAX &&
      ReadInteger(bytes + kCountAt) <= (file.size_ - kEntriesAt) / kEntryBytes;
  if (!is_ours) {
    return absl::DataLossError(file_name + " is no file of shards");
  }
  file.count_ = static_cast<int>(ReadInteger(bytes + kCountAt));
  return file;
}

absl::StatusOr<PackedMatrix<std::int8_t>> ShardFile::Load(
    int index, ruy_like::VerifyChecksum verify) const {
  if (index < 0 || index >= count_) {
    return absl::InvalidArgumentError(
        absl::StrCat("no shard ", index, " among ", count_));
  }
  const unsigned char* const entry =
      bytes_.get() + kEntriesAt + static_cast<std::size_t>(index) * kEntryBytes;
  const std::uint64_t offset = ReadInteger(entry);
  const std::uint64_t size = ReadInteger(entry + sizeof(offset));
  if (offset > size_ || size > size_ - offset || offset % kAlignment != 0) {
    return absl::DataLossError(
        absl::StrCat("shard ", index, ": ", size, " bytes at ", offset,
                     " are not in the file, which has ", size_));
  }
  return PackedMatrix<std::int8_t>::FromBytes(bytes_.get() + offset, size,
                                              verify);
}

}  // namespace mpi_example
