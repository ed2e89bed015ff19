// Everything: from a trained float model to a static int8 one. A program that only runs int8 models includes
// <zeropoint/deploy.hpp>; whoever wants one kernel, one observer or one scheme includes just that header.
#pragma once

#include <zeropoint/io/model_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/version.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/calibration_report.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/prepare.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/qconfig.hpp>
