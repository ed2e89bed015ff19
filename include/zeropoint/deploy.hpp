// SPDX-License-Identifier: BSD-3-Clause
// What a program needs that only loads and runs int8 models: no observers run, nothing is calibrated or converted in it.
#pragma once

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/version.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/qconfig.hpp>
#include <zeropoint/workflow/stages.hpp>
