// SPDX-License-Identifier: BSD-3-Clause
// Everything: from a trained float model to a static int8 one. A program that only runs int8 models includes
// <zeropoint/deploy.hpp>; whoever wants one kernel, one observer or one scheme includes just that header.
#pragma once

#include <zeropoint/analysis/model_graph.hpp>
#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/io/load_options.hpp>
#include <zeropoint/io/model_file.hpp>
#include <zeropoint/layer/static_layers.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/entropy_observer.hpp>
#include <zeropoint/observe/exact_histogram_observer.hpp>
#include <zeropoint/observe/fixed_qparams_observer.hpp>
#include <zeropoint/observe/histogram_observer.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/observe/moving_average_min_max_observer.hpp>
#include <zeropoint/observe/mse_observer.hpp>
#include <zeropoint/observe/percentile_observer.hpp>
#include <zeropoint/observe/placeholder_observer.hpp>
#include <zeropoint/observe/recording_observer.hpp>
#include <zeropoint/version.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/calibration_report.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/dynamic_presets.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/prepare.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/qconfig.hpp>
#include <zeropoint/workflow/quantize_dynamic.hpp>
#include <zeropoint/workflow/with.hpp>
