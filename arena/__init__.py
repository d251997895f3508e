"""What a person runs: matches, their record, the live view and the command line."""
