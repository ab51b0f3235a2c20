-- Where the windows are on a picture, as a JSON list of [number, x, y, width, height], topmost first: number 0 is
-- the one in front, n the n-th of its visible windows (`store.frames.visible_windows`). Null where nobody told.
alter table frames add column window_places text;
