"""What a person brings along, read from the files other programs export: bytes in, records out.

Readers of formats that are alike share a module; none of them knows SQL, and each yields its records one
at a time, so that a file of any size takes the same memory. What is wrong with one record is told and
the record left out (`Skipped`); what is wrong with a file refuses the file (`CannotImport`) before
anything is stored.

`source_import` says which formats there are and takes a file in; `source_file` opens it, packed or not.
"""
