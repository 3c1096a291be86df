// Base: a 64-bit checksum for packed weights in files.
//
// Used for images (packed/image_header.h). Against accidents, not against
// forgers. Ours because the libraries that we depend on have none for the
// public to call, and because it must keep up with memory: four independent
// lanes of one multiplication per eight bytes do some 20 GB/s, where a
// table-driven CRC does 1 to 3.
#ifndef RUY_LIKE_BASE_CHECKSUM_H_
#define RUY_LIKE_BASE_CHECKSUM_H_

#include <cstddef>
#include <cstdint>

namespace ruy_like {

// Depends on the bytes, their number and the seed, and is the same on machines
// of either byte order. Any change within one aligned word of eight bytes is
// noticed for certain, any other with a chance of 1 - 2^-64 or so. Reads only
// what it is given; no alignment needed.
std::uint64_t Checksum64(const void* data, std::size_t bytes,
                         std::uint64_t seed);

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_CHECKSUM_H_
