-- What the browser told of the pages on a frame (`store.spool.page_text`), until the frame was read.
create table page_texts (
    frame_id integer primary key references frames (id) on delete cascade,
    content blob not null
);
