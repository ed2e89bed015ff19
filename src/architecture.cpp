// SPDX-License-Identifier: BSD-3-Clause
// The name by which programs find out whether this library has their architecture.
#include <zeropoint/compiled/instance.hpp>

template <class Arch> const char* const zp::detail::compiled_library_for<Arch>::architecture = zp::name_of<Arch>();
template struct zp::detail::compiled_library_for<zp::default_architecture>;
