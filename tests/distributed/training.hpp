// SPDX-License-Identifier: BSD-3-Clause
// What the tests of zp::ranks train: a small network with learned scales, and its parameters after that.
#pragma once

#include <string>
#include <vector>

#include <zeropoint/distributed/mpi.hpp>

namespace distributed_test {

/// What is trained by one process alone.
std::vector<float> trained_alone();
/// By all ranks of `world`; with a checkpoint after each step where `file` has a name. At step `kill` (counted from 0) rank 1 is killed.
std::vector<float> trained_by(zp::ranks& world, const std::string& file = {}, int kill = -1);
/// Whether what ranks observe of a share of the data each, merged, is what one process observes of all.
bool calibrates_as_one(zp::ranks& world);
/// What zp::train says on this rank where rank 1 was given another seed.
std::string said_of_another_seed(zp::ranks& world);
/// And another learning rate.
std::string said_of_another_rate(zp::ranks& world);

}  // namespace distributed_test
