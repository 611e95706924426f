"""Reading and writing datasets in common formats: what the rest of the program has of files.

safe_files    opens what lies in a folder, an archive or at an address, within limits, and nothing
              outside: regular files, pictures, tables by groups of rows, downloads, uploads
reading       pairs from whatever people bring; what cannot be read is reported by file and row
writing       exports, atomic: formats, cards, sizes and digests

Both rooms stand on `safe_files`, and writing on reading: what goes out comes back. Beside them lies
what all three and packages of others name:

cells         cell values as text and as JSON that every database can store
columns       which column contains what
splits        names of splits
caption_writers  who wrote a caption
read_options  what a person may state about an import; addresses; endings of files
export_row    a row of an export, and the folder that it is written to
export_formats, table_readers   the formats that can be written, and readers of other packages
"""
