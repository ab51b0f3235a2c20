-- A search is kept as a bookmark of its address, not here.
delete from preferences where key = 'saved_searches';
