// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing safetensors files (https://huggingface.co/docs/safetensors).
#pragma once

#include <zeropoint/io/safetensors_reader.hpp>
#include <zeropoint/io/safetensors_writer.hpp>
