-- Where most of an index was deleted, words that were marked as deleted stayed in it, though the receipt said
-- that all is gone. The newest receipt says so now, and the worker merges the index again
-- (`store.frames.text_index`).
update deletions
set receipt = json_set(
    receipt, '$.verified', json('false'), '$.left', json_array(
        'No search finds the words any more. The worker erases them from the index, which takes a while.'
    )
)
where id = (
    select max(id) from deletions where receipt ->> '$.verified' = 1 and receipt ->> '$.counts.index_rows' > 1
);
