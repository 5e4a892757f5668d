// A directory of neighbours (--retro-project-dir), written by `megalith retro build` and read by pretrain-retro:
//   config.json               the settings below
//   chunks.npy                the database (chunk_database.h)
//   neighbors_SPLIT.npy       for the samples of train, valid and test (neighbors.h), if there are any
#pragma once
#include <map>
#include <string>

#include "base/dtype.h"

namespace megalith {

struct RetroProject {
  struct Samples {
    i64 samples = 0;
    std::string digest;  // of neighbors.h
  };
  i64 chunk_length = 64, seq_length = 0;
  i64 kept = 20;  // neighbours per chunk in the files
  i64 point_size = 512;
  std::string database;  // prefix of the database's token files
  i64 chunks = 0;        // of the database
  std::map<std::string, Samples> splits;
};

// Error, with the file's name, if it is missing or has another form.
RetroProject read_project(const std::string& dir);
void write_project(const std::string& dir, const RetroProject& project);
std::string chunks_file(const std::string& dir);
std::string neighbors_file(const std::string& dir, const std::string& split);

}  // namespace megalith
