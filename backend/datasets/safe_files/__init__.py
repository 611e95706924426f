"""Files and addresses, opened within limits and never outside of what was named.

regular_files  opens only regular files, never a pipe, a device or what a link leads to outside
text_files     lines of a text: encoding detection, and bounded line length
images         opening pictures safely, thumbnails
containers     pictures inside tars, zip archives, tables; written_pictures: as text within a cell
parquet_groups, arrow_cells   rows and cells of Arrow, with their size before they are read
foreign_names  names of files as other systems write them
locations, fetching   addresses, and downloads that stay within public networks
hub_client, hub_files  the Hugging Face hub through the same guard
uploads        what a browser sends
daemon_pool    threads that do not block exit
"""
