// Example: one file that holds many packed matrices, to be mapped by many
// processes.
//
// A PackedMatrix image refers to its bytes in place, so a rank that maps the
// file reads the pages of its own shards alone, and ranks on one machine share
// them. Knows nothing of MPI.
#ifndef EXAMPLE_MPI_SHARD_FILE_H_
#define EXAMPLE_MPI_SHARD_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ruy_like/ruy_like.h"

namespace mpi_example {

// Bytes of the file, integers in the machine's byte order, which the images are
// of anyway:
//
//   0   "RUYSHARD"
//   8   uint64: how many images
//   16  for each image two uint64: its offset, a multiple of 4096, and its size
//   ... the images, PackedMatrix::Serialize() each
absl::Status WriteShards(
    const std::vector<ruy_like::PackedMatrix<std::int8_t>>& shards,
    const std::string& file_name);

class ShardFile {
 public:
  // Maps the file. NotFound if it cannot be opened, DataLoss for one that is
  // truncated or damaged.
  static absl::StatusOr<ShardFile> Map(const std::string& file_name);

  int count() const { return count_; }
  // Image `index`. It must not outlive the file's last copy. Errors are those
  // of PackedMatrix::FromBytes: FailedPrecondition, for one, if it is for a
  // path that this machine does not have. Without the checksum only the image's
  // header is read.
  absl::StatusOr<ruy_like::PackedMatrix<std::int8_t>> Load(
      int index, ruy_like::VerifyChecksum verify) const;

 private:
  std::shared_ptr<const unsigned char> bytes_;  // unmaps
  std::size_t size_ = 0;
  int count_ = 0;
};

}  // namespace mpi_example

#endif  // EXAMPLE_MPI_SHARD_FILE_H_
