#!/usr/bin/env bash
# Installs what is missing, builds the example and runs it on several ranks of
# this machine: example/mpi/run.sh [RANKS], by default 4.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

bash third_party/install.sh mpi >&2
bash cmake/build.sh example ruy_like_mpi_block >&2
weights=$(mktemp -u)
trap 'rm -f "$weights"' EXIT
# Settings of Open MPI: root may run it, and more ranks than there are cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
mpirun -n "${1:-4}" build/release/example/mpi/ruy_like_mpi_block "$weights"
