# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Sourced, in place of tap.sh, by the tests that run one program as ranks under
# rcxrun: source ranks.sh "RCXRUN PROGRAM [...]" "$@". Their first two arguments
# are rcxrun and main from then on.

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "$@"
# shellcheck disable=SC2034 # for the test
rcxrun=$(realpath "$2") main=$(realpath "$3")
within 60
