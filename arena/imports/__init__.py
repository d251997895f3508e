"""Games from elsewhere: files of other programs become runs of the record."""
