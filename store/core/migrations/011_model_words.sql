-- Words that a model put in the place of the rules' are taken back: it says its own beside them from now on.
insert into memory_hours (hour) select distinct hour from observations where source = 'model'
on conflict (hour) do update set changes = changes + 1;
update observations set fingerprint = '~' where source = 'model';
