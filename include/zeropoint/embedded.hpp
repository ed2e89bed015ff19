// SPDX-License-Identifier: BSD-3-Clause
// What a program needs that runs int8 networks from packed images: no files, no heap, no exceptions. See docs/embedded.md.
#pragma once

#include <zeropoint/io/packed_image.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/version.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/qconfig.hpp>
#include <zeropoint/workflow/stages.hpp>
